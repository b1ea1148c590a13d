# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stable names in place of random ones, and the changes between snapshots, in the form of tests/reference_cases."""

from __future__ import annotations

import ipaddress
import json
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support.replay_snapshot import Snapshot

# MAC addresses of the uplink and its peer.
UPLINK_MACS = ("02:00:00:00:00:a0", "02:00:00:00:00:a1")

_GENERATED_LINK = re.compile(r"\b(?:veth[0-9a-f]{8}|tmp[0-9a-f]{11})\b")
_MAC = re.compile(r"(?<![0-9a-f:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![0-9a-f:])", re.IGNORECASE)
_LINK_LOCAL = re.compile(r"(?<![0-9a-f:])fe80::[0-9a-f:]*[0-9a-f](?![0-9a-f:])")
_SETS = ("addresses", "routes", "rules", "tc")


def with_stable_names(
    case: JsonObject, outcomes: list[JsonObject], snapshots: list[Snapshot | None]
) -> tuple[list[JsonObject], list[JsonObject | None]]:
    """Return outcomes and states with generated names of links and MAC addresses numbered in order of appearance."""
    given = json.dumps(case)
    seen = [*_texts(outcomes), *(name for snapshot in snapshots if snapshot for name in snapshot.link_names)]
    links = _number("VETH", (name for text in seen for name in _GENERATED_LINK.findall(text)), given)
    outcomes = _replace(outcomes, links)
    states = [_sort(_replace(snapshot.state, links)) if snapshot else None for snapshot in snapshots]

    known = f"{given} {' '.join(UPLINK_MACS)} 00:00:00:00:00:00 ff:ff:ff:ff:ff:ff".lower()
    macs = _number("MAC", (mac for text in _texts([*outcomes, *states]) for mac in _macs(text)), known)
    names = {**macs, **{_link_local(mac): f"fe80::{name}" for mac, name in macs.items()}}
    return _replace(outcomes, names), [_sort(_replace(state, names)) if state else None for state in states]


def changes(before: JsonObject, after: JsonObject) -> JsonObject:
    """Return what differs between two states of a node, by namespace and section."""
    changed: JsonObject = {}
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            changed[name] = after.get(name)
        elif name == "files":
            changed[name] = _changed_keys(before[name], after[name])
        else:
            sections = {key: _changed_section(before[name][key], after[name][key]) for key in after[name]}
            changed[name] = {key: section for key, section in sections.items() if section}
    return {name: change for name, change in changed.items() if change != {}}


def _changed_section(before: t.Any, after: t.Any) -> JsonObject:
    if isinstance(after, dict):
        return _changed_keys(before, after)
    found = {
        "+": [entry for entry in after if entry not in before],
        "-": [entry for entry in before if entry not in after],
    }
    return {sign: entries for sign, entries in found.items() if entries}


def _changed_keys(before: JsonObject, after: JsonObject) -> JsonObject:
    return {key: after.get(key) for key in sorted({*before, *after}) if before.get(key) != after.get(key)}


def _texts(value: t.Any) -> t.Iterator[str]:
    """Yield every string of a document, keys included, in the order that numbers names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, dict):
        for key in sorted(value):
            yield key
            yield from _texts(value[key])


def _number(prefix: str, found: t.Iterable[str], known: str) -> dict[str, str]:
    names = dict.fromkeys(name for name in found if name not in known)
    return {name: f"{prefix}{number}" for number, name in enumerate(names)}


def _macs(text: str) -> list[str]:
    """Return the MAC addresses in a text, those that link-local addresses are made of last."""
    text = text.lower()
    derived = (_mac_of(address) for address in _LINK_LOCAL.findall(text))
    return [*_MAC.findall(text), *(mac for mac in derived if mac)]


def _mac_of(address: str) -> str:
    """Return the MAC address in an EUI-64 link-local address, or an empty string."""
    identifier = ipaddress.IPv6Address(address).packed[8:]
    if identifier[3:5] != b"\xff\xfe":
        return ""
    return ":".join(f"{byte:02x}" for byte in (identifier[0] ^ 2, *identifier[1:3], *identifier[5:]))


def _link_local(mac: str) -> str:
    first, *others = bytes.fromhex(mac.replace(":", ""))
    identifier = bytes((first ^ 2, *others[:2], 0xFF, 0xFE, *others[2:]))
    return str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + identifier))


def _replace(value: t.Any, names: t.Mapping[str, str]) -> t.Any:
    """Return a document with whole words replaced in keys and texts."""
    if not names:
        return value
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![0-9A-Za-z:])(?:{words})(?![0-9A-Za-z:])", re.IGNORECASE)

    def replace(inner: t.Any) -> t.Any:
        if isinstance(inner, str):
            return pattern.sub(lambda match: names[match[0].lower()], inner)
        if isinstance(inner, dict):
            return {replace(key): replace(entry) for key, entry in inner.items()}
        return [replace(entry) for entry in inner] if isinstance(inner, list) else inner

    return replace(value)


def _sort(state: JsonObject) -> JsonObject:
    """Return a state whose sets are sorted, because their order follows from names."""
    for name, sections in state.items():
        if name != "files":
            for key in _SETS:
                sections[key] = sorted(sections[key], key=_sort_key)
            for content in sections["nft"].values():
                if "elem" in content:
                    content["elem"] = sorted(content["elem"], key=_sort_key)
    return state


def _sort_key(entry: t.Any) -> str:
    return entry if isinstance(entry, str) else json.dumps(entry, sort_keys=True)
