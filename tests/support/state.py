# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node's state that CNI operations may change, as comparable text: `before.difference(after) == ""`."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import hashlib
import ipaddress
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support import namespaces

Lines = list[str]


@dataclasses.dataclass(frozen=True)
class State:
    """Lines by section; the order of the lines counts."""

    sections: dict[str, Lines]

    def difference(self, later: State) -> str:
        """Return removed (-) and added (+) lines by section, or an empty string."""
        changes: Lines = []
        for name in sorted({*self.sections, *later.sections}):
            before, after = self.sections.get(name, []), later.sections.get(name, [])
            changes += difflib.unified_diff(before, after, f"{name} before", f"{name} after", lineterm="", n=0)
        return "\n".join(changes)

    def without(self, pattern: str) -> State:
        """Return the state without the lines that match, for things that stay by design, such as a bridge."""
        return State(
            {name: [line for line in lines if not re.search(pattern, line)] for name, lines in self.sections.items()}
        )


def node_state(cache_dir: str = "/var/lib/cni", trees: t.Sequence[str | os.PathLike[str]] = ()) -> State:
    """Return the state of the network namespace and the mount namespace of the caller.

    Reference plugins leave a bridge, empty iptables chains and `last_reserved_ip` files behind by design: compare with
    a state that was taken after a first attachment had come and gone, or leave these lines out.
    """
    networks = pathlib.Path("/var/lib/cni/networks")
    return State(
        {
            **network_state().sections,
            "namespaces": sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else [],
            "mounts": mount_lines(),
            "iptables": _rules("iptables-save"),
            "ip6tables": _rules("ip6tables-save"),
            "nftables": _rules("nft", "-s", "list", "ruleset"),
            "leases": [line for line in tree_lines(networks) if _is_address(line.split(" ", 1)[0].rsplit("/", 1)[-1])],
            "records": tree_lines(pathlib.Path(cache_dir, "results")),
            **{f"files of {tree}": tree_lines(tree) for tree in trees},
        }
    )


def network_state() -> State:
    """Return the state of the caller's network namespace, without firewall rules."""
    return State(
        {
            "links": link_lines(),
            "VLANs": vlan_lines(),
            "routes": sorted(_brief(route, ROUTE) for route in namespaces.routes()),
            "routing rules": sorted(
                _brief(rule, RULE) for family in ("-4", "-6") for rule in namespaces.ip(family, "rule", "show")
            ),
        }
    )


def link_lines() -> Lines:
    """Return the lines of links, without MACs that the kernel chooses: a bridge's follows its ports, a VRF's is random."""
    lines = []
    for name, link in sorted(namespaces.links().items()):
        kind = link.get("linkinfo", {}).get("info_kind", link["link_type"])
        mac = "" if kind in ("bridge", "vrf") else link.get("address", "")
        given = sorted(f"{address['local']}/{address['prefixlen']}" for address in namespaces.assigned_addresses(link))
        up = "up" if "UP" in link["flags"] else "down"
        facts = (name, kind, f"mtu {link['mtu']}", up, link.get("master", ""), mac, *given)
        lines.append(" ".join(filter(None, facts)))
    return lines


def vlan_lines() -> Lines:
    """Return a line for each port of a bridge that filters VLANs, with its VLANs. Kernels without them have none."""
    command = ["bridge", "-json", "vlan", "show"]
    ports: list[JsonObject] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout or "[]")
    return sorted(f"{port['ifname']} {' '.join(map(_vlan_text, port['vlans']))}" for port in ports)


def _vlan_text(vlan: JsonObject) -> str:
    """Return a VLAN, or a range of VLANs, with its flags."""
    last = f"-{vlan['vlanEnd']}" if "vlanEnd" in vlan else ""
    return ",".join([f"{vlan['vlan']}{last}", *sorted(vlan.get("flags", ()))])


ROUTE = ("type", "dst", "gateway", "dev", "table", "protocol", "scope", "metric")
RULE = ("priority", "src", "srclen", "dst", "dstlen", "iif", "oif", "fwmark", "table")


def _brief(entry: JsonObject, keys: t.Sequence[str]) -> str:
    return " ".join(f"{key} {entry[key]}" for key in keys if key in entry)


def mount_lines() -> Lines:
    """Return the mount points with their kind, as often as something is mounted.

    /run/netns itself is left out: the first named namespace of a node mounts it permanently.
    """
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        mounts = [line.split() for line in lines]
    return sorted(f"{mount[4]} {mount[mount.index('-') + 1]}" for mount in mounts if mount[4] != "/run/netns")


def _rules(*command: str) -> Lines:
    """Return the rules without counters and timestamps; empty if the tool is not installed."""
    if not shutil.which(command[0]):
        return []
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    plain = re.sub(r" ?\[\d+:\d+\]|\bcounter packets \d+ bytes \d+", "", text)
    return [line.strip() for line in plain.splitlines() if line.strip() and not line.startswith("#")]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.replace("_", ":"))
    except ValueError:
        return False
    return True


def tree_lines(top: str | os.PathLike[str], identity: bool = False) -> Lines:
    """Return a line for `top` and each path below: mode, owner and content; `identity` adds inode and mtime.

    The library is left out: any task may install it, as it may make a temporary directory.
    """
    paths = [os.fspath(top)] if os.path.lexists(top) else []
    for directory, below, files in os.walk(top):
        if directory.endswith("/cni") and "lib" in below:
            below.remove("lib")
        paths += [os.path.join(directory, name) for name in below + files]
    lines = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # gone by now: another run of the node has removed it
            lines.append(file_line(pathlib.Path(path), str(top), identity))
    return sorted(lines)


def file_line(path: pathlib.Path, top: str, identity: bool) -> str:
    status = path.lstat()
    owner = f"{status.st_uid}:{status.st_gid}"
    # Plugins are large, and read for each task of a playbook.
    version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    facts = [os.path.relpath(path, top), stat.filemode(status.st_mode), owner, _content(path, version)]
    if identity:
        facts += [f"inode {status.st_ino}", f"mtime {status.st_mtime_ns}"]
    return " ".join(filter(None, facts))


@functools.lru_cache(maxsize=10_000)
def _content(path: pathlib.Path, dummy_version: tuple[int, ...]) -> str:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    if not path.is_file():
        return ""
    data = path.read_bytes()
    return f"{len(data)} bytes sha256 {hashlib.sha256(data).hexdigest()[:16]}"
