# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a throw-away node in the form of tests/reference_cases: kernel, firewall, settings and files."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support import replay_sections
from ansible_collections.cni.node.tests.support.replay_commands import (
    HOST,
    NAMESPACES,
    command,
    command_objects,
    inside,
    read_sysctl,
)

_FILES = ("/etc/cni", "/run", "/var/lib/cni")
# Seconds to wait for IPv6. An address that never comes, because a step has removed it, is not an error.
_REST = 10.0


class Snapshot(t.NamedTuple):
    """
    Attributes:
        state: Sections by network namespace, and under "files" the files.
        link_names: The names of all links, in the order of namespaces and indexes.
    """

    state: JsonObject
    link_names: list[str]


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
                "links": {link["ifname"]: replay_sections.link_keys(name, link, links) for link in links[name]},
                "addresses": [
                    replay_sections.address_text(link["ifname"], address)
                    for link in links[name]
                    for address in link["addr_info"]
                ],
                "routes": replay_sections.routes(),
                "rules": replay_sections.rules(),
                "tc": list(replay_sections.traffic_control()),
                "iptables": replay_sections.iptables(command("iptables-save")),
                "ip6tables": replay_sections.iptables(command("ip6tables-save")),
                "nft": replay_sections.nftables(json.loads(command("nft", "-j", "list", "ruleset"))),
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
                links[name] = sorted(
                    command_objects("ip", "-d", "-j", "address"), key=lambda link: int(link["ifindex"])
                )
                is_busy = is_busy or any(_awaits_an_address(link) for link in links[name])
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
    is_running = {"UP", "LOWER_UP"} <= set(link["flags"]) and "LOOPBACK" not in link["flags"]
    # Without a carrier, such as that of a tap device that no program has opened, an address stays tentative.
    if is_running and any("tentative" in address and "dadfailed" not in address for address in addresses):
        return True
    disabled = read_sysctl(f"net/ipv6/conf/{link['ifname']}/disable_ipv6")
    return is_running and disabled == "0" and not any(address["scope"] == "link" for address in addresses)


def _sysctls(names: t.Sequence[str]) -> dict[str, str]:
    """Return settings of all and default, those in which an interface differs from default, and the named ones."""
    values = {name: read_sysctl(name) for name in ("net/ipv4/ip_forward", *names)}
    for family in ("net/ipv4/conf", "net/ipv6/conf"):
        keys = sorted({*os.listdir(f"/proc/sys/{family}/default")} - {"mtu", "stable_secret"})
        default = {key: read_sysctl(f"{family}/default/{key}") for key in keys}
        values.update({f"{family}/default/{key}": value for key, value in default.items()})
        for interface in set(os.listdir(f"/proc/sys/{family}")) - {"default"}:
            for key in keys:
                value = read_sysctl(f"{family}/{interface}/{key}")
                if interface == "all" or value != default[key]:
                    values[f"{family}/{interface}/{key}"] = value
    return {name: value.replace("\t", " ") for name, value in values.items() if value is not None}


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
