# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a throw-away node in the form of tests/reference_cases: kernel, firewall, settings and files."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import re
import subprocess
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

HOST: t.Final = "host"
NAMESPACES: t.Final = pathlib.Path("/run/netns")
SYSTEM_PATH: t.Final = "/usr/sbin:/usr/bin:/sbin:/bin"

_CLONE_NEWNET: t.Final = 0x40000000
_FILES: t.Final = ("/etc/cni", "/run", "/var/lib/cni")
# Seconds to wait for IPv6; an address that never comes, such as one that another test step removed, is not an error.
_REST: t.Final = 3.0
_LINK_FLAGS: t.Final = ("UP", "PROMISC", "ALLMULTI", "NOARP")
_BRIDGE_KEYS: t.Final = frozenset(
    ("mcast_snooping", "nf_call_iptables", "stp_state", "vlan_default_pvid", "vlan_filtering", "vlan_protocol")
)
# Switches of a bridge port that are on unless they are changed; all others are off.
_PORT_IS_ON: t.Final = frozenset(("learning", "flood", "mcast_flood", "bcast_flood"))
_ADDRESS_WORDS: t.Final = {"address": "peer", "broadcast": "brd", "scope": "scope", "label": "label"}
_ADDRESS_FLAGS: t.Final = (
    ("secondary", "temporary", "nodad", "deprecated", "dadfailed", "noprefixroute")
    + ("mngtmpaddr", "dynamic", "autojoin", "tentative")
)
_ROUTE_WORDS: t.Final = {
    "gateway": "via",
    "dev": "dev",
    "protocol": "proto",
    "scope": "scope",
    "prefsrc": "src",
    "metric": "metric",
    "tos": "tos",
}
_ROUTE_FLAGS_OF_THE_MOMENT: t.Final = frozenset(("linkdown", "dead", "offload", "trap"))
_COUNTERS_OF_TC: t.Final = frozenset(
    ("installed", "last_used", "first_used", "stats", "ref", "bind", "index", "expires")
)
_QDISCS_WITHOUT_FILTERS: t.Final = frozenset(("pfifo_fast", "fq_codel", "mq"))
_TABLES_OF_IPTABLES: t.Final = frozenset(("nat", "filter", "mangle", "raw", "security"))


class Snapshot(t.NamedTuple):
    """
    Attributes:
        state: Sections by network namespace, and under "files" the files.
        link_names: The names of all links, in the order of namespaces and indexes.
    """

    state: JsonObject
    link_names: list[str]


def command(*argv: str) -> str:
    """Run a program of the system, which must succeed; return its output."""
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def inside(namespace: str) -> t.Iterator[None]:
    """Run the block, and the programs it starts, in a network namespace. The process must have one thread."""
    with contextlib.ExitStack() as stack:
        here = stack.enter_context(open("/proc/self/ns/net", "rb"))
        if namespace != HOST:
            _enter(stack.enter_context(open(NAMESPACES / namespace, "rb")))
            stack.callback(_enter, here)
        yield


def _enter(namespace: t.IO[bytes]) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"setns: {namespace.name}")


def take(sysctls: t.Sequence[str]) -> Snapshot:
    """Return the state of the node once IPv6 is at rest; `sysctls` are read besides those of interfaces."""
    kernel_device = os.stat("/proc/self/ns/net").st_dev
    entries = sorted(NAMESPACES.iterdir())
    names = [HOST, *(entry.name for entry in entries if entry.stat().st_dev == kernel_device)]
    links = _links_at_rest(names)
    state: JsonObject = {"files": _files([entry for entry in entries if entry.name not in names])}
    for name in names:
        with inside(name):
            state[name] = {
                "links": {link["ifname"]: _link(name, link, links) for link in links[name]},
                "addresses": [
                    _address(link["ifname"], address) for link in links[name] for address in link["addr_info"]
                ],
                "routes": _routes(),
                "rules": [_rule(family, rule) for family in ("inet", "inet6") for rule in _ip(family, "rule")],
                "tc": list(_traffic_control()),
                "iptables": _rules_of_iptables(command("iptables-save")),
                "ip6tables": _rules_of_iptables(command("ip6tables-save")),
                "nft": _nftables(json.loads(command("nft", "-j", "list", "ruleset"))),
                "sysctls": _sysctls(sysctls),
            }
    return Snapshot(state, [link["ifname"] for name in names for link in links[name]])


def _links_at_rest(namespaces: t.Sequence[str]) -> dict[str, list[JsonObject]]:
    """Return links with their addresses by namespace, when two readings agree and no IPv6 address is awaited."""
    deadline = time.monotonic() + _REST
    before: list[tuple[str, list[str]]] = []
    while True:
        links = {}
        is_busy = False
        for name in namespaces:
            with inside(name):
                links[name] = sorted(_json("ip", "-d", "-j", "address"), key=lambda link: int(link["ifindex"]))
                is_busy = any([_awaits_an_address(link) for link in links[name]]) or is_busy
        now = [
            (link["ifname"], [address["local"] for address in link["addr_info"]])
            for name in namespaces
            for link in links[name]
        ]
        if (now == before and not is_busy) or time.monotonic() > deadline:
            return links
        before = now
        time.sleep(0.02)


def _awaits_an_address(link: JsonObject) -> bool:
    """Return whether the kernel is about to assign or to confirm an IPv6 address of the link."""
    addresses = [address for address in link["addr_info"] if address["family"] == "inet6"]
    if any("tentative" in address and "dadfailed" not in address for address in addresses):
        return True
    is_running = {"UP", "LOWER_UP"} <= set(link["flags"]) and "LOOPBACK" not in link["flags"]
    disabled = _read(f"net/ipv6/conf/{link['ifname']}/disable_ipv6")
    return is_running and disabled == "0" and not any(address["scope"] == "link" for address in addresses)


def _json(*argv: str) -> list[JsonObject]:
    """Return the objects that a program prints, without the empty ones that `ip` prints for filtered entries."""
    return [entry for entry in json.loads(command(*argv).strip() or "[]") if entry]


def _ip(family: str, *arguments: str) -> list[JsonObject]:
    return _json("ip", "-j", {"inet": "-4", "inet6": "-6"}[family], *arguments)


def _link(namespace: str, link: JsonObject, all_links: dict[str, list[JsonObject]]) -> JsonObject:
    info = link.get("linkinfo", {})
    kind = info.get("info_kind", link["link_type"])
    found = {
        "kind": kind,
        "mac": link.get("address"),
        "mtu": link["mtu"],
        "txqlen": link.get("txqlen", 0),
        "flags": [flag for flag in _LINK_FLAGS if flag in link["flags"]],
        "promiscuity": link.get("promiscuity"),
        "allmulti": link.get("allmulti"),
        "master": link.get("master"),
        "group": link["group"] if link.get("group", "default") != "default" else None,
        "alias": link.get("ifalias"),
        "parent": _parent(namespace, link, kind, all_links),
        "data": {
            key: value for key, value in info.get("info_data", {}).items() if kind != "bridge" or key in _BRIDGE_KEYS
        },
    }
    always = ("kind", "mac", "mtu", "txqlen", "flags")
    kept = {key: value for key, value in found.items() if value or key in always}
    if info.get("info_slave_kind") == "bridge":
        kept["port"] = {
            key: value
            for key, value in info.get("info_slave_data", {}).items()
            if isinstance(value, bool) and value != (key in _PORT_IS_ON)
        }
    return kept


def _parent(namespace: str, link: JsonObject, kind: str, all_links: dict[str, list[JsonObject]]) -> str | None:
    """Return namespace and name of a veth's peer, or of the link that another kind is made on."""
    if "link" in link:
        return f"{namespace}/{link['link']}"
    for name, others in all_links.items():
        for other in others:
            is_peer = name != namespace and other.get("link_index") == link["ifindex"]
            if other["ifindex"] == link.get("link_index") and (is_peer if kind == "veth" else name == HOST):
                return f"{name}/{other['ifname']}"
    return None


def _address(device: str, address: JsonObject) -> str:
    words = [device, address["family"], f"{address['local']}/{address['prefixlen']}"]
    for key, word in _ADDRESS_WORDS.items():
        if key in address and (key, address[key]) != ("label", device):
            words += [word, address[key]]
    words += [flag for flag in _ADDRESS_FLAGS if address.get(flag) is True]
    if address.get("valid_life_time", 0xFFFFFFFF) != 0xFFFFFFFF:
        words.append("finite")
    return " ".join(words)


def _routes() -> list[str]:
    """Return the routes of all tables, without those of the table `local` that the kernel derives from addresses."""
    return [
        _route(family, route)
        for family in ("inet", "inet6")
        for route in _ip(family, "route", "show", "table", "all")
        if (route.get("table"), route.get("protocol")) != ("local", "kernel")
    ]


def _route(family: str, route: JsonObject) -> str:
    kind = route.get("type", "unicast")
    words = [family, str(route.get("table", "main")), *([kind] if kind != "unicast" else []), route["dst"]]
    for key, word in _ROUTE_WORDS.items():
        if key in route:
            words += [word, str(route[key])]
    for metrics in route.get("metrics", []):
        words += [f"{key} {value}" for key, value in sorted(metrics.items())]
    words += [flag for flag in route.get("flags", []) if flag not in _ROUTE_FLAGS_OF_THE_MOMENT]
    return " ".join(words)


def _rule(family: str, rule: JsonObject) -> str:
    source = f"{rule['src']}/{rule['srclen']}" if "srclen" in rule else rule["src"]
    conditions = [
        f"{key} {rule[key]}" for key in sorted(rule) if key not in ("not", "priority", "src", "srclen", "table")
    ]
    negation = ["not"] if "not" in rule else []
    return " ".join(
        [family, f"{rule['priority']}:", *negation, "from", source, *conditions, "lookup", str(rule.get("table"))]
    )


def _traffic_control() -> t.Iterator[JsonObject]:
    for qdisc in _json("tc", "-j", "qdisc"):
        if qdisc["kind"] == "noqueue":
            continue
        yield {"qdisc": {key: value for key, value in qdisc.items() if key != "refcnt"}}
        if qdisc["kind"] in _QDISCS_WITHOUT_FILTERS:
            continue
        parent = "ffff:" if qdisc["kind"] in ("ingress", "clsact") else qdisc["handle"]
        for entry in _json("tc", "-j", "filter", "show", "dev", qdisc["dev"], "parent", parent):
            if entry.get("kind") != "u32" or "actions" in entry.get("options", {}):
                yield {"filter": {**_without(_COUNTERS_OF_TC, entry), "dev": qdisc["dev"]}}


def _without(keys: t.Collection[str], value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _without(keys, inner) for key, inner in value.items() if key not in keys}
    return [_without(keys, inner) for inner in value] if isinstance(value, list) else value


def _rules_of_iptables(saved: str) -> dict[str, list[str]]:
    """Return policy and rules of each chain by "table chain", without empty chains of policy ACCEPT."""
    chains: dict[str, list[str]] = {}
    table = ""
    for line in saved.splitlines():
        kind, words = line[:1], line[1:].split()
        if kind == "*":
            table = words[0]
        elif kind == ":":
            chains[f"{table} {words[0]}"] = [words[1]]
        elif line.startswith("-A "):
            chains[f"{table} {words[1]}"].append(line)
    return {name: chain for name, chain in chains.items() if chain != ["ACCEPT"]}


def _nftables(document: JsonObject) -> JsonObject:
    """Return tables, chains, sets and maps by kind and name; rules stand in their chains."""
    found: JsonObject = {}
    for item in document["nftables"]:
        kind, content = next(iter(item.items()))
        table = content["name" if kind == "table" else "table"] if kind != "metainfo" else ""
        if kind == "metainfo" or (content["family"] in ("ip", "ip6") and table in _TABLES_OF_IPTABLES):
            continue
        content = _without_counts(_without(("handle", "index"), content))
        where = f"{content['family']} {table}"
        if kind == "rule":
            rule = {key: value for key, value in content.items() if key in ("expr", "comment")}
            found[f"chain {where} {content['chain']}"]["rules"].append(rule)
            continue
        name = f"{kind} {where}" if kind == "table" else f"{kind} {where} {content['name']}"
        found[name] = {key: value for key, value in content.items() if key not in ("family", "table", "name")}
        if kind == "chain":
            found[name]["rules"] = []
    return found


def _without_counts(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        is_counter = set(value) == {"counter"} and isinstance(value["counter"], dict)
        return {"counter": None} if is_counter else {key: _without_counts(inner) for key, inner in value.items()}
    return [_without_counts(inner) for inner in value] if isinstance(value, list) else value


def _sysctls(names: t.Sequence[str]) -> dict[str, str]:
    """Return settings of all and default, those in which an interface differs from default, and the named ones."""
    values = {name: _read(name) for name in ("net/ipv4/ip_forward", *names)}
    for family in ("net/ipv4/conf", "net/ipv6/conf"):
        keys = sorted({*os.listdir(f"/proc/sys/{family}/default")} - {"mtu", "stable_secret"})
        default = {key: _read(f"{family}/default/{key}") for key in keys}
        values.update({f"{family}/default/{key}": value for key, value in default.items()})
        for interface in set(os.listdir(f"/proc/sys/{family}")) - {"default"}:
            for key in keys:
                value = _read(f"{family}/{interface}/{key}")
                if interface == "all" or value != default[key]:
                    values[f"{family}/{interface}/{key}"] = value
    return {name: value.replace("\t", " ") for name, value in values.items() if value is not None}


def _read(sysctl: str) -> str | None:
    try:
        return pathlib.Path("/proc/sys", sysctl).read_text(encoding="ascii").strip()
    except OSError:
        return None


def _files(beside_namespaces: t.Iterable[pathlib.Path]) -> JsonObject:
    """Return content and mode of the files of CNI, and the mode of directories that are empty."""
    found: JsonObject = {str(path): _file(path) for path in beside_namespaces}
    for top in _FILES:
        for directory, names, files in os.walk(top):
            if directory == "/run":
                names.remove(NAMESPACES.name)
            if not names and not files and directory != top:
                found[f"{directory}/"] = _mode(pathlib.Path(directory))
            found.update({f"{directory}/{name}": _file(pathlib.Path(directory, name)) for name in files})
    return found


def _file(path: pathlib.Path) -> JsonObject:
    with open(path, encoding="utf-8", errors="replace", newline="") as opened:
        text = opened.read()
    content = text
    if re.match(r"[{\[]", text):
        with contextlib.suppress(ValueError):
            content = json.loads(text)
    return {"content": content, "mode": _mode(path)}


def _mode(path: pathlib.Path) -> str:
    return f"{path.stat().st_mode & 0o7777:o}"


__all__ = ("HOST", "NAMESPACES", "SYSTEM_PATH", "Snapshot", "command", "inside", "take")
