# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The files of a bundle, made for people who help with a node that they cannot reach."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.bundle import programs
from ansible_collections.cni.node.plugins.module_utils._node.bundle.secrets import Secrets
from ansible_collections.cni.node.plugins.module_utils._node.info import public_config
from ansible_collections.cni.node.plugins.module_utils._node.info.tables import ALL, format_nodes, format_runtimes

README = "README.txt"
_NAMESPACES = "kernel/namespaces"
# Files, in this order, with what the README says of them.
_ABOUT = {
    "status.txt": "the node and its attachments as tables, with problems and drift",
    "findings.json": "what validation on the node finds in networks and plugins",
    "networks.json": "the network configurations, and which of their plugins the node has",
    "attachments.json": "the recorded attachments and interrupted operations of all runtimes, with their drift",
    "records.json": "what the records and intents say, with the networks at the time of ADD",
    "drift.json": "what the module repair would do",
    "repairs.json": "the last repairs of the unit cni-node-watch.service, since the node was booted",
    "leaks.json": "what the module gc would remove, what it would keep, and why",
    "leases.json": "the pools of addresses, with the number of leases",
    "plugins.json": "the plugins and their versions, and the releases that were installed",
    "runtimes.json": "the container runtimes, and the directories in which they look",
    "netns.json": "the named network namespaces",
    "links.json": "the links of the node",
    "files.txt": "the files of networks, records and leases, with mode, owner, size and time",
    "versions.txt": "versions of the kernel, the system and the programs that plugins run",
    "journal.txt": "the last lines in the journal of the units of cni.node, of the runtimes and of firewalls",
    "kernel/node.txt": "links, addresses, routes, routing rules and more of the node",
    "kernel/rules.txt": "the rules of nftables and iptables",
    "kernel/settings.txt": "the kernel's settings for networks (sysctls)",
    _NAMESPACES: "links, addresses and routes in the network namespace of each attachment",
}
_NAMESPACE_LIMIT = 200
# Characters of the name of its file.
_NAME_LIMIT = 100
# The keys of the specification. Those that plugins add may hold secrets.
_ROUTE_KEYS = ("dst", "gw", "mtu", "advmss", "priority", "table", "scope")
_RESULT_KEYS: t.Mapping[str, t.Sequence[str]] = {
    "interfaces": ("name", "mac", "mtu", "sandbox", "socketPath", "pciID"),
    "ips": ("version", "address", "gateway", "interface"),
    "routes": _ROUTE_KEYS,
    "dns": ("nameservers", "domain", "search", "options"),
    "ip4": ("ip", "gateway"),
    "ip6": ("ip", "gateway"),
}
_UNSAFE = re.compile(r"[^\w.-]", re.ASCII)


class Sources(t.NamedTuple):
    """Where a bundle comes from.

    Attributes:
        info, drift, leaks: Results of the modules node_info, repair and gc, the latter two in check mode.
        units: The systemd units whose lines of the journal are wanted.
    """

    conf_dir: str
    cache_dir: str
    lease_dir: str
    info: JsonMapping
    drift: JsonMapping
    leaks: JsonMapping
    units: t.Sequence[str]


def collect(sources: Sources, node: str) -> dict[str, str]:
    """Return the files by their names, without secrets and control characters."""
    records = _read_records(sources.cache_dir)
    secrets = _find_secrets(sources.conf_dir, records)
    info = sources.info
    data: dict[str, t.Any] = {
        "findings.json": [{**finding, "value": None} for finding in info.get("findings", ())],
        "networks.json": info.get("networks"),
        "attachments.json": [_without_secret_keys(entry) for entry in info.get("attachments", ())],
        "records.json": [_record(kind, record) for kind, record in records],
        "drift.json": _select(sources.drift, "msg", "attachments", "summary", "warnings"),
        "repairs.json": info.get("repairs"),
        "leaks.json": _select(sources.leaks, "msg", "findings", "warnings"),
        "leases.json": info.get("leases"),
        "plugins.json": _select(info, "plugins", "releases"),
        "runtimes.json": info.get("runtimes"),
        "netns.json": info.get("netns"),
        "links.json": info.get("links"),
    }
    texts: dict[str, str] = {
        "status.txt": _status(node, info),
        "files.txt": "".join(_list_files((sources.conf_dir, sources.cache_dir, sources.lease_dir))),
        "versions.txt": programs.describe_versions(),
        "journal.txt": programs.describe_journal(sources.units),
        "kernel/node.txt": programs.describe_node(),
        "kernel/rules.txt": programs.describe_rules(),
        "kernel/settings.txt": programs.describe_settings(),
        **_describe_namespaces(info),
    }
    made = {
        **{name: secrets.dump(value) for name, value in data.items()},
        **{name: secrets.hide(text) for name, text in texts.items()},
    }
    order = list(_ABOUT)
    return {
        name: printable.lines(made[name])
        for name in sorted(made, key=lambda name: order.index(name) if name in _ABOUT else len(order))
    }


def describe(node: str, now: float, files: t.Mapping[str, str], cut: t.Sequence[str]) -> str:
    """Return the text of the README."""
    about = [f"{name:<22} {what}" for name, what in _ABOUT.items() if any(file.startswith(name) for file in files)]
    left_out = [f"{name}: a part in the middle is left out, because the bundle would be too large" for name in cut]
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    return "\n".join(
        [
            f"What {printable.line(node)} knew of its container networks at {when},",
            "written by the module bundle of the Ansible collection cni.node. Begin with status.txt.",
            "",
            *about,
            "",
            "Secrets are cut out. Network configurations have only the keys that describe a network. Arguments of attachments,",
            "and keys of results that the specification does not have, are left out. Their values, and everything that looks",
            "like a password, a token or a key, are replaced by *** in all other text. Look through the files nevertheless",
            "before you send them to others: they have names, addresses and rules of the node.",
            *(["", *left_out] if left_out else []),
            "",
        ]
    )


def safe_name(text: str) -> str:
    """Return a text as part of a file's name."""
    return _UNSAFE.sub("_", text)


def _read_records(cache_dir: str) -> list[tuple[str, Record]]:
    """Return the records and intents that can be read; `attachments.json` has the errors of the others."""
    stores = {"record": RecordStore.of_records(cache_dir), "intent": RecordStore.of_intents(cache_dir)}
    records: list[tuple[str, Record]] = []
    for kind, store in stores.items():
        with contextlib.suppress(CniError):
            records += [(kind, record) for record in store.read_all()[0]]
    return records


def _find_secrets(conf_path: str, records: t.Iterable[tuple[str, Record]]) -> Secrets:
    secrets = Secrets()
    with contextlib.suppress(CniError):
        directory = conf_dir.load(conf_path)
        for network in (*directory.networks.values(), *directory.shadowed, *directory.refused.values()):
            secrets.add_network(network)
    for dummy, record in records:
        secrets.add_attachment(record.attachment)
        recorded = _network_of(record)
        if recorded is not None:
            secrets.add_network(recorded)
    return secrets


def _network_of(record: Record) -> NetworkConfiguration | None:
    try:
        return record.network()
    except CniError:
        return None


def _record(kind: str, record: Record) -> JsonObject:
    attachment, network = record.attachment, _network_of(record)
    return {
        "kind": kind,
        "command": record.command,
        "network": attachment.network,
        "container_id": attachment.container_id,
        "ifname": attachment.ifname,
        "netns": attachment.netns,
        "own": record.is_own,
        "persist": record.restoration is not None,
        "builtin_plugins": list(record.builtin),
        "arguments": sorted({*attachment.args, *attachment.capability_args, *attachment.config_args}),
        "config": public_config.describe(network) if network else None,
        "result": _result(record.result.keys) if record.result else None,
    }


def _without_secret_keys(entry: JsonMapping) -> JsonObject:
    result = entry.get("result")
    return {**entry, "result": _result(result)} if isinstance(result, dict) else dict(entry)


def _result(result: JsonMapping) -> JsonObject:
    version = _select(result, "cniVersion")
    return {**version, **{key: _parts(result[key], names) for key, names in _RESULT_KEYS.items() if key in result}}


def _parts(value: object, names: t.Sequence[str]) -> object:
    """Return an object, or each of a list, with these keys only."""
    if isinstance(value, (list, tuple)):
        return [_parts(entry, names) for entry in value]
    return _select(value, *names) if isinstance(value, dict) else None


def _select(value: JsonMapping, *names: str) -> JsonObject:
    return {name: value[name] for name in names if name in value}


def _status(node: str, info: JsonMapping) -> str:
    tables = [format_nodes({printable.line(node): info}, ALL)]
    if info.get("runtimes"):
        tables.append(format_runtimes(info["runtimes"]))
    return "\n\n".join("\n".join(table) for table in [[str(info.get("msg", ""))], *tables]) + "\n"


def _describe_namespaces(info: JsonMapping) -> dict[str, str]:
    """Return a file for each network namespace, those of attachments with drift first."""
    readable = [entry for entry in info.get("attachments", ()) if not entry.get("error")]
    readable.sort(key=lambda entry: not entry.get("drift"))
    paths = dict.fromkeys(entry["netns"] for entry in readable if netns.is_foreign(entry["netns"]))
    left_out = [f"{path}\n" for path in list(paths)[_NAMESPACE_LIMIT:]]
    files = {f"{_NAMESPACES}/left-out.txt": "".join(left_out)} if left_out else {}
    for path in list(paths)[:_NAMESPACE_LIMIT]:
        name = f"{_NAMESPACES}/{safe_name(path.strip('/'))[:_NAME_LIMIT]}.txt"
        if name in files:  # paths with other characters, or whose ends are cut
            name = f"{_NAMESPACES}/namespace-{len(files)}.txt"
        files[name] = f"# {path}\n{programs.describe_namespace(path)}"
    return files


def _list_files(tops: t.Iterable[str]) -> t.Iterator[str]:
    paths = set(map(os.path.realpath, tops))
    for top in sorted(path for path in paths if not any(path.startswith(f"{other}/") for other in paths)):
        for directory, dummy, names in os.walk(top):
            for name in sorted((*names, "")):
                yield _list_file(os.path.join(directory, name) if name else directory)


def _list_file(path: str) -> str:
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime))
    owner = f"{status.st_uid}:{status.st_gid}"
    return f"{stat.filemode(status.st_mode)} {owner:>9} {status.st_size:>9} {when} {printable.line(path)}\n"
