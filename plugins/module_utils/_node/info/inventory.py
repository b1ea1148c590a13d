# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import is_executable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_error
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Executor
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins import manifest as plugin_manifest
from ansible_collections.cni.node.plugins.module_utils._reference import nested_plugins
from ansible_collections.cni.node.plugins.module_utils._reference.executor import make_executor


def plugins(
    plugin_dirs: t.Sequence[str], timeout: float, *, allow_world_writable: bool = False
) -> t.Callable[[], list[JsonObject]]:
    """Begin to ask every executable of the plugin directories for the versions it supports.

    Returns:
        What waits for the answers.
    """
    pool = concurrent.futures.ThreadPoolExecutor(default_workers())
    # What an earlier directory has is found there first, so each directory is asked by itself.
    answers = [
        pool.map(
            functools.partial(
                _plugin, directory, make_executor([directory], timeout, allow_world_writable=allow_world_writable)
            ),
            _executables(directory),
        )
        for directory in plugin_dirs
    ]

    def list_answers() -> list[JsonObject]:
        found: list[JsonObject] = []
        for one in answers:
            taken = {facts["type"] for facts in found}
            found += [{**facts, "shadowed": facts["type"] in taken} for facts in one]
        pool.shutdown()
        return found

    return list_answers


def releases(cache_dir: str) -> list[JsonObject]:
    """Describe the releases of plugins that this collection has installed, and those kept to return to."""
    return [
        {
            "bin_dir": bin_dir,
            "version": release.label,
            "digest": release.id,
            "current": release is manifest.current,
            "plugins": sorted(release.files),
            "missing": _missing_files(bin_dir, release.files) if release is manifest.current else [],
        }
        for bin_dir, manifest in plugin_manifest.load_all(cache_dir).items()
        for release in reversed(manifest.releases)
    ]


def networks(path: str, plugin_dirs: t.Sequence[str]) -> list[JsonObject]:
    """Describe every network configuration file of a directory, the one that wins for a name first."""
    directory = conf_dir.load(path)
    found = [_network(one, plugin_dirs, shadowed=False) for one in directory.networks.values()]
    found += [_network(one, plugin_dirs, shadowed=True) for one in directory.shadowed]
    broken = [_broken(file, error) for file, error in directory.broken.items()]
    return sorted([*found, *broken], key=lambda facts: t.cast(str, facts["path"]))


def attachments(cache_dir: str, conf_path: str, *, drift: bool = False) -> list[JsonObject]:
    """Describe every record, those of other runtimes and those that cannot be read included.

    Args:
        drift: Compare each with the kernel.
    """
    directory = conf_dir.load(conf_path)
    records, broken = RecordStore.of_records(cache_dir).read_all()
    pending, broken_intents = RecordStore.of_intents(cache_dir).read_all()
    interrupted = {intent.attachment.key: intent for intent in pending}
    found = [_attachment(record, directory, interrupted.pop(record.attachment.key, None)) for record in records]
    found += [_attachment(intent, directory, intent) for intent in interrupted.values()]
    if drift:
        _compare(found, records, RecordStore.of_records(cache_dir))
    return [*found, *(_broken(file, error) for file, error in {**broken, **broken_intents}.items())]


def namespaces(paths: NodePaths) -> list[JsonObject]:
    """Describe the node's named network namespaces."""
    directory = NetnsDirectory(paths)
    return [{"name": name, "path": directory.path_of(name)} for name in directory.names()]


def _plugin(directory: str, executor: Executor, name: str) -> JsonObject:
    facts: JsonObject = {"type": name, "path": os.path.join(directory, name), "versions": [], "error": None}
    try:
        facts["versions"] = list(PluginVersions(executor).get_supported(name))
    except CniError as exc:
        facts["error"] = exc.as_dict()
    return facts


def _executables(directory: str) -> list[str]:
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as exc:
        raise io_error("list", directory, exc) from exc
    paths = {name: os.path.join(directory, name) for name in names if name[0] != "."}
    return [name for name, path in paths.items() if is_executable(path)]


def _missing_files(directory: str, names: t.Iterable[str]) -> list[str]:
    return sorted(name for name in names if not os.path.exists(os.path.join(directory, name)))


def _network(network: NetworkConfiguration, plugin_dirs: t.Sequence[str], *, shadowed: bool) -> JsonObject:
    return {
        "name": network.name,
        "path": network.source,
        "versions": list(network.versions),
        "plugins": [plugin.type for plugin in network.plugins],
        "missing_plugins": _missing_plugins(network, plugin_dirs),
        "shadowed": shadowed,
        "disable_check": network.disable_check,
        "disable_gc": network.disable_gc,
        "error": None,
    }


def _missing_plugins(network: NetworkConfiguration, plugin_dirs: t.Sequence[str]) -> list[str]:
    """Return the plugins that a network runs and no plugin directory has."""
    types = {one.type for one in nested_plugins.executables(network)}
    return sorted(one for one in types if not any(is_executable(os.path.join(path, one)) for path in plugin_dirs))


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
        "ports": _ports(record),
        "drift": None,
        "result": record.result.keys if record.result else None,
        "error": None,
    }


def _compare(found: t.Iterable[JsonObject], records: t.Iterable[Record], store: RecordStore) -> None:
    """Set what of attachments is not in the kernel as recorded."""
    # Most of what these need is not needed otherwise.
    from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import RuleDrift, compare

    rules = RuleDrift(store)
    for facts, record in zip(found, records):
        if facts["netns_state"] == "present" and not facts["interrupted"]:
            with contextlib.suppress(CniError):  # what cannot be looked at is unknown
                compared = compare(record, rules)
                facts["drift"] = list(compared.faults) if compared else None


def _ports(record: Record) -> list[str]:
    """Return the ports of the node that lead to an attachment, as far as they are written as every plugin reads them."""
    given = record.attachment.capability_args.get("portMappings")
    entries = [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
    return [_port(entry) for entry in entries if "hostPort" in entry and "containerPort" in entry]


def _port(entry: JsonObject) -> str:
    host = str(entry.get("hostIP") or "")
    host = f"[{host}]:" if ":" in host else f"{host}:" if host else ""
    return f"{host}{entry['hostPort']}->{entry['containerPort']}/{entry.get('protocol') or 'tcp'}"


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
        return "gone"
    try:
        return "same" if record.network() == current else "changed"
    except CniError:
        return "unknown"


def _broken(file: str, error: CniError) -> JsonObject:
    return {"path": file, "error": error.as_dict()}


__all__ = ("attachments", "namespaces", "networks", "plugins")
