# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import ipaddress
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

# What the reference plugin host-local keeps: a directory for each network, and in it a file for each address.
TYPE: t.Final = "host-local"
DATA_DIR: t.Final = "/var/lib/cni/networks"

Address = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


def data_dir(ipam: t.Mapping[str, t.Any]) -> str:
    """Return where an IPAM configuration has its networks' directories."""
    given = ipam.get("dataDir")
    return given if isinstance(given, str) and os.path.isabs(given) else DATA_DIR


def directories(name: str, networks: t.Iterable[NetworkConfiguration]) -> list[str]:
    """Return the directories of a network, as its configurations, old and new, place them."""
    ipams = [plugin.keys.get("ipam") or {} for network in networks for plugin in network.plugins]
    parents = {DATA_DIR, *(data_dir(ipam) for ipam in ipams if ipam.get("type") == TYPE)}
    return [path for path in (os.path.join(parent, name) for parent in sorted(parents)) if _is_directory(path)]


def networks() -> list[str]:
    """Return the names of all networks that have a directory at the usual place."""
    return [name for name in list_directory(DATA_DIR) if _is_directory(os.path.join(DATA_DIR, name))]


def addresses(directory: str) -> dict[str, Address]:
    """Return the addresses that are given away by the names of their files, without a look into these.

    host-local gives away no address that has a file, of whatever kind that is.
    """
    return by_name(list_directory(directory))


def by_name(names: t.Iterable[str]) -> dict[str, Address]:
    """Return which of a directory's names are addresses."""
    found = {}
    for name in names:
        with contextlib.suppress(ValueError):
            found[name] = ipaddress.ip_address(name)
    return found


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


__all__ = (
    "DATA_DIR",
    "TYPE",
    "Address",
    "addresses",
    "by_name",
    "data_dir",
    "directories",
    "networks",
)
