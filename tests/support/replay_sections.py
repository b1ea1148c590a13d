# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One section of a node's state at a time, in the form of tests/reference_cases."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support.replay_commands import HOST, command_objects

_LINK_FLAGS = ("UP", "PROMISC", "ALLMULTI", "NOARP")
_BRIDGE_KEYS = frozenset(
    ("mcast_snooping", "nf_call_iptables", "stp_state", "vlan_default_pvid", "vlan_filtering", "vlan_protocol")
)
# Switches of a bridge port that are on unless they are changed; all others are off.
_PORT_IS_ON = frozenset(("learning", "flood", "mcast_flood", "bcast_flood"))
_ADDRESS_WORDS = {"address": "peer", "broadcast": "brd", "scope": "scope", "label": "label"}
_ADDRESS_FLAGS = (
    "secondary",
    "temporary",
    "nodad",
    "deprecated",
    "dadfailed",
    "noprefixroute",
    "mngtmpaddr",
    "dynamic",
    "autojoin",
    "tentative",
)
_ROUTE_WORDS = {
    "gateway": "via",
    "dev": "dev",
    "protocol": "proto",
    "scope": "scope",
    "prefsrc": "src",
    "metric": "metric",
    "tos": "tos",
}
_ROUTE_FLAGS_OF_THE_MOMENT = frozenset(("linkdown", "dead", "offload", "trap"))
_COUNTERS_OF_TC = frozenset(("installed", "last_used", "first_used", "stats", "ref", "bind", "index", "expires"))
_QDISCS_WITHOUT_FILTERS = frozenset(("pfifo_fast", "fq_codel", "mq"))
_TABLES_OF_IPTABLES = frozenset(("nat", "filter", "mangle", "raw", "security"))


def link_keys(namespace: str, link: JsonObject, all_links: dict[str, list[JsonObject]]) -> JsonObject:
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


def address_text(device: str, address: JsonObject) -> str:
    words = [device, address["family"], f"{address['local']}/{address['prefixlen']}"]
    for key, word in _ADDRESS_WORDS.items():
        if key in address and (key, address[key]) != ("label", device):
            words += [word, address[key]]
    words += [flag for flag in _ADDRESS_FLAGS if address.get(flag) is True]
    if address.get("valid_life_time", 0xFFFFFFFF) != 0xFFFFFFFF:
        words.append("finite")
    return " ".join(words)


def routes() -> list[str]:
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


def rules() -> list[str]:
    """Return the routing rules of both families."""
    return [_rule(family, rule) for family in ("inet", "inet6") for rule in _ip(family, "rule")]


def _rule(family: str, rule: JsonObject) -> str:
    source = f"{rule['src']}/{rule['srclen']}" if "srclen" in rule else rule["src"]
    conditions = [
        f"{key} {rule[key]}" for key in sorted(rule) if key not in ("not", "priority", "src", "srclen", "table")
    ]
    negation = ["not"] if "not" in rule else []
    return " ".join(
        [family, f"{rule['priority']}:", *negation, "from", source, *conditions, "lookup", str(rule.get("table"))]
    )


def _ip(family: str, *arguments: str) -> list[JsonObject]:
    return command_objects("ip", "-j", {"inet": "-4", "inet6": "-6"}[family], *arguments)


def traffic_control() -> t.Iterator[JsonObject]:
    for qdisc in command_objects("tc", "-j", "qdisc"):
        if qdisc["kind"] == "noqueue":
            continue
        yield {"qdisc": {key: value for key, value in qdisc.items() if key != "refcnt"}}
        if qdisc["kind"] in _QDISCS_WITHOUT_FILTERS:
            continue
        parent = "ffff:" if qdisc["kind"] in ("ingress", "clsact") else qdisc["handle"]
        for entry in command_objects("tc", "-j", "filter", "show", "dev", qdisc["dev"], "parent", parent):
            if entry.get("kind") != "u32" or "actions" in entry.get("options", {}):
                yield {"filter": {**_without(_COUNTERS_OF_TC, entry), "dev": qdisc["dev"]}}


def _without(keys: t.Collection[str], value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _without(keys, inner) for key, inner in value.items() if key not in keys}
    return [_without(keys, inner) for inner in value] if isinstance(value, list) else value


def iptables(saved: str) -> dict[str, list[str]]:
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


def nftables(document: JsonObject) -> JsonObject:
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
