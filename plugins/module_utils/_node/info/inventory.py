# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Describe plugins, releases, networks, attachments and network namespaces of a node as data."""

from __future__ import annotations

import contextlib
import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.durable import is_executable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import BUILTIN_PREFIX, Executor, UnsafePlugin
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.info import public_config
from ansible_collections.cni.node.plugins.module_utils._node.info.plugin_answers import PluginAnswers
from ansible_collections.cni.node.plugins.module_utils._node.plugins import store as plugin_store
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import (
    Description,
    find_flaws,
    read_description,
)
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue, nested_plugins
from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import compare
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING, NEVER
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView

# Seconds: no plugin is run.
_NO_TIME = 0.0
# The network with which containerd and CRI-O set up the loopback interface; it is in their programs, and in no file.
_LOOPBACK_OF_RUNTIMES = "cni-loopback"


def list_plugins(
    plugin_dirs: t.Sequence[str], timeout: float, answers: PluginAnswers, *, allow_world_writable: bool = False
) -> list[JsonObject]:
    """Describe every executable in the plugin directories, with the versions that it supports.

    Args:
        answers: Those of plugins that are not run again.
    """
    # An executor prefers earlier directories, so each directory gets its own.
    executors = {directory: _query_only(directory, timeout, allow_world_writable) for directory in plugin_dirs}
    found = [(directory, name) for directory in plugin_dirs for name in _executables(directory)]
    described = workers.collect(
        lambda place: _plugin(place[0], executors[place[0]], answers, place[1]), found, default_workers()
    )
    answers.save()
    types: set[str] = set()
    for facts in described:
        facts["shadowed"] = facts["type"] in types
        types.add(facts["type"])
    return described


def _query_only(directory: str, timeout: float, allow_world_writable: bool) -> Executor:
    """Return an executor of the executables in one directory."""
    return make_executor([directory], timeout, allow_world_writable=allow_world_writable, builtin=NEVER)


def list_releases(cache_dir: str) -> list[JsonObject]:
    """Describe the releases of plugins that this collection has installed, and those kept for a rollback."""
    return [
        {
            "bin_dir": bin_dir,
            "set": name,
            "version": release.label,
            "digest": release.id,
            "current": release is plugin_set.current,
            "plugins": sorted(release.files),
            "flaws": find_flaws(release.label, release.files) if name == plugin_store.REFERENCE else [],
            "missing": _missing_files(bin_dir, release.files) if release is plugin_set.current else [],
        }
        for bin_dir, manifest in plugin_store.load_all(cache_dir).items()
        for name, plugin_set in manifest.sets.items()
        for release in reversed(plugin_set.releases)
    ]


def list_networks(path: str, plugin_dirs: t.Sequence[str], builtin: str = MISSING) -> list[JsonObject]:
    """Describe every network configuration file of a directory, in the order of their paths.

    Args:
        builtin: When built-in plugins are used.
    """
    executor = make_executor(plugin_dirs, _NO_TIME, builtin=builtin)
    directory = conf_dir.load(path)
    described = [_network(network, executor, shadowed=False) for network in directory.networks.values()]
    described += [_network(network, executor, shadowed=True) for network in directory.shadowed]
    described += [_network(network, executor, shadowed=False) for network in directory.refused.values()]
    for facts in described:
        refused, error = directory.broken.get(facts["path"]), directory.misnamed.get(facts["path"])
        facts["refused"] = refused.as_dict() if refused else None
        facts["error"] = error.as_dict() if error else None
    unread = {**directory.broken, **conf_dir.find_misnamed(path)}
    described += [_broken(file, error) for file, error in unread.items() if file not in directory.refused]
    return sorted(described, key=lambda facts: t.cast(str, facts["path"]))


def list_attachments(cache_dir: str, conf_path: str, lease_dir: str, *, drift: bool = False) -> list[JsonObject]:
    """Describe every record, including those of other runtimes and those that cannot be read.

    Args:
        lease_dir: Default of ``dataDir`` of host-local.
        drift: Compare each attachment with the kernel.
    """
    directory = conf_dir.load(conf_path)
    recorded, broken = RecordStore.of_records(cache_dir).read_all()
    records = [record.with_netns_of_result() for record in recorded]
    pending, broken_intents = RecordStore.of_intents(cache_dir).read_all()
    interrupted = {intent.attachment.key: intent for intent in pending}
    described = [_attachment(record, directory, interrupted.pop(record.attachment.key, None)) for record in records]
    described += [_attachment(intent, directory, intent) for intent in interrupted.values()]
    if drift:
        _add_drift(described, records, RecordStore.of_records(cache_dir), lease_dir)
    return [*described, *(_broken(file, error) for file, error in {**broken, **broken_intents}.items())]


def list_namespaces(paths: NodePaths) -> list[JsonObject]:
    """Describe the node's named network namespaces."""
    directory = NetnsDirectory(paths)
    return [{"name": name, "path": directory.path_of(name)} for name in directory.names()]


def _plugin(directory: str, executor: Executor, answers: PluginAnswers, name: str) -> JsonObject:
    path = os.path.join(directory, name)
    facts: JsonObject = {"type": name, "path": path, "versions": [], "release": "", "flaws": [], "error": None}
    try:
        executor.require(name)
        description = answers.ask(path, functools.partial(_ask, path, executor, name))
    except CniError as exc:
        facts["error"] = exc.as_dict()
    else:
        facts["versions"], facts["release"] = list(description.versions), description.release
        facts["flaws"] = find_flaws(facts["release"], [name])
    return facts


def _ask(path: str, executor: Executor, name: str) -> Description:
    # This takes one process instead of two. Other plugins may do anything if they are run without a command.
    description = read_description(path) if catalogue.find_plugin_type(name).is_reference else Description()
    return description._replace(versions=description.versions or PluginVersions(executor).get_supported(name))


def _executables(directory: str) -> list[str]:
    names: list[str] = []
    with io_errors("list", directory), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = sorted(os.listdir(directory))
    paths = {name: os.path.join(directory, name) for name in names if name[0] != "."}
    return [name for name, path in paths.items() if is_executable(path)]


def _missing_files(directory: str, names: t.Iterable[str]) -> list[str]:
    return sorted(name for name in names if not os.path.exists(os.path.join(directory, name)))


def _network(network: NetworkConfiguration, executor: Executor, *, shadowed: bool) -> JsonObject:
    builtin, missing = _find_plugins(network, executor)
    return {
        "name": network.name,
        "path": network.source,
        "versions": list(network.versions),
        "plugins": [plugin.type for plugin in network.plugins],
        "missing_plugins": missing,
        "builtin_plugins": builtin,
        "shadowed": shadowed,
        "disable_check": network.disable_check,
        "disable_gc": network.disable_gc,
        "config": public_config.describe(network),
        "error": None,
    }


def _find_plugins(network: NetworkConfiguration, executor: Executor) -> tuple[list[str], list[str]]:
    """Return the plugins of a network that are built in, and those that the node does not have."""
    builtin, missing = [], []
    for name in sorted({plugin.type for plugin in nested_plugins.executables(network)}):
        try:
            location = executor.require(name)
        except UnsafePlugin:
            continue
        except CniError:
            missing.append(name)
        else:
            builtin += [location[len(BUILTIN_PREFIX) :]] if location.startswith(BUILTIN_PREFIX) else []
    return builtin, missing


def _attachment(record: Record, directory: ConfDir, intent: Record | None) -> JsonObject:
    attachment = record.attachment
    return {
        "network": attachment.network,
        "container_id": attachment.container_id,
        "ifname": attachment.ifname,
        "netns": attachment.netns,
        "netns_state": _netns_state(record),
        "network_state": _network_state(record, directory),
        "own": record.is_own,
        "persist": record.restoration is not None,
        "interrupted": intent.command if intent and (intent is record or intent.command != "ADD") else None,
        "addresses": list(record.addresses),
        "ports": record.requested_ports,
        "builtin_plugins": list(record.builtin),
        "drift": None,
        "result": record.result.keys if record.result else None,
        "error": None,
    }


def _add_drift(
    described: t.Iterable[JsonObject], records: t.Iterable[Record], store: RecordStore, lease_dir: str
) -> None:
    """Add the differences between kernel and record to the descriptions of attachments."""
    view = NodeView(lease_dir)
    for facts, record in zip(described, records):
        if facts["netns_state"] == "present" and not facts["interrupted"]:
            with contextlib.suppress(Exception):  # the drift of a record that cannot be compared is unknown
                drift = compare(record, view, store)
                facts["drift"] = list(drift.messages) if drift.is_compared else None


def _netns_state(record: Record) -> str:
    if not record.attachment.netns:
        return "unknown"
    identity = netns_identity(record.attachment.netns)
    if not identity:
        return "gone"
    return "present" if record.netns_identity in ("", identity) else "replaced"


def _network_state(record: Record, directory: ConfDir) -> str:
    current = directory.networks.get(record.attachment.network)
    if current is None:
        return "same" if record.attachment.network == _LOOPBACK_OF_RUNTIMES else "gone"
    try:
        return "same" if record.network() == current else "changed"
    except CniError:
        return "unknown"


def _broken(file: str, error: CniError) -> JsonObject:
    return {"path": file, "error": error.as_dict()}
