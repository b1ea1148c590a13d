# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Run programs of the node that show the kernel, its rules and settings, versions, and the journal."""

from __future__ import annotations

import os
import re
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.current_library import find_current
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import netns, program

# Bytes of what one program prints. More is an error, so a journal is read by lines.
_OUTPUT_LIMIT = 16 * 1024 * 1024
_JOURNAL_LINES = 3000
_OF_A_NAMESPACE = (
    "ip -details -statistics address",
    "ip route show table all",
    "ip -6 route show table all",
    "ip rule",
    "ip -6 rule",
    "ip neighbour",
    "tc qdisc",
)
_OF_THE_NODE = (
    *_OF_A_NAMESPACE,
    "bridge link",
    "bridge vlan",
    "bridge fdb",
    "ip netns list-id",
    "ss --listening --tcp --udp --numeric",
)
_RULES = (
    "nft list ruleset",
    "iptables-save -c",
    "ip6tables-save -c",
    "iptables-legacy-save -c",
    "ip6tables-legacy-save -c",
    "ipset list",
    "firewall-cmd --list-all-zones",
)
_VERSIONS = (
    "uname -a",
    "ip -Version",
    "iptables --version",
    "nft --version",
    "firewall-cmd --version",
    "systemctl --version",
)
_JOURNAL = f"journalctl --no-pager --quiet --output=short-iso --lines={_JOURNAL_LINES}"
_SETTINGS = ("net/ipv4/conf", "net/ipv6/conf", "net/bridge", "net/netfilter")
_SINGLE_SETTINGS = ("net/ipv4/ip_forward", "net/ipv4/ip_local_port_range", "user/max_net_namespaces")
# It makes stable addresses, and would tell them.
_SECRET_SETTING = "stable_secret"
_INTERFACE = re.compile(r"/conf/(?!all/|default/)")


def describe_node() -> str:
    """Return links, addresses, routes and what else the kernel has in the node's own network namespace."""
    return _run_all(_OF_THE_NODE)


def describe_namespace(path: str) -> str:
    """Return links, addresses and routes of a network namespace."""
    try:
        return netns.run_inside(path, lambda: _run_all(_OF_A_NAMESPACE))
    except OSError as exc:
        return f"{path} cannot be entered: {exc.strerror}\n"


def describe_rules() -> str:
    """Return the rules of the node's firewall."""
    return _run_all(_RULES)


def describe_versions() -> str:
    """Return the versions of the kernel, the system and the programs that plugins run."""
    release = (durable.read("/etc/os-release") or b"").decode("utf-8", "replace")
    library = find_current()
    own = f"# Python\n{sys.version}\n\n# library of cni.node\n{library.path if library else 'none'}\n\n"
    return f"{own}{_run_all(_VERSIONS)}# /etc/os-release\n{release}\n"


def describe_journal(units: t.Iterable[str]) -> str:
    """Return the last lines that units have written."""
    return _run(" ".join([_JOURNAL, *(f"--unit={unit}" for unit in units)]))


def describe_settings(root: str = "/proc/sys") -> str:
    """Return the kernel's settings for networks, those of single interfaces left out."""
    paths = [os.path.join(root, name) for name in _SINGLE_SETTINGS]
    for name in _SETTINGS:
        for directory, dummy, names in sorted(os.walk(os.path.join(root, name))):
            paths += [os.path.join(directory, each) for each in sorted(names)]
    chosen = (path for path in paths if not _INTERFACE.search(path) and not path.endswith(_SECRET_SETTING))
    return "".join(map(_setting, chosen))


def _setting(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            value = stream.read().strip()
    except OSError:  # it can only be written, or has no value
        return ""
    return f"{path} = {value}\n"


def _run_all(commands: t.Iterable[str]) -> str:
    return "".join(map(_run, commands))


def _run(command: str) -> str:
    """Return a command and what it prints, or why it prints nothing."""
    name, *arguments = command.split()
    path = program.find(name)
    if path is None:
        return f"# {name}: not installed\n\n"
    try:
        return f"# {command}\n{program.output([path, *arguments], limit=_OUTPUT_LIMIT)}\n"
    except CniError as exc:
        return f"# {command}\n{exc}\n\n"
