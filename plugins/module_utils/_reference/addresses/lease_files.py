# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The directories in which host-local keeps its leases."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import is_below_plugin_dirs
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

# The plugin host-local keeps a directory for each network, with a file for each assigned address.
TYPE = "host-local"
# Its own files in a network's directory.
LOCK = "lock"
LAST_RESERVED = "last_reserved_ip."
# A lease has the container's ID, this separator and the name of an interface; releases before 0.8 write the ID alone.
SEPARATOR = "\r\n"
# Bytes of a lease, at most.
LEASE_LIMIT = 4096


def data_dir(ipam: t.Mapping[str, t.Any], lease_dir: str) -> str:
    """Return the directory in which an IPAM configuration keeps the directories of its networks."""
    path = ipam.get("dataDir")
    return path if isinstance(path, str) and os.path.isabs(path) else lease_dir


def directories(
    name: str,
    networks: t.Iterable[NetworkConfiguration],
    lease_dir: str,
    *others: str,
    recorded: t.Iterable[NetworkConfiguration] = (),
) -> list[str]:
    """Return the existing directories of a network.

    Args:
        networks: Its current configurations.
        lease_dir: Default of ``dataDir``.
        others: Other values of ``dataDir`` that it may have.
        recorded: Its configurations in records, which may differ in ``dataDir``.
    """
    named = {lease_dir, *others, *_data_dirs(networks, lease_dir)}
    paths = {os.path.join(parent, name): parent in named for parent in named | _data_dirs(recorded, lease_dir)}
    return [path for path in sorted(paths) if _is_directory(path) and (paths[path] or is_followed(path, lease_dir))]


def _data_dirs(networks: t.Iterable[NetworkConfiguration], lease_dir: str) -> set[str]:
    ipams = [plugin.keys.get("ipam") or {} for network in networks for plugin in network.plugins]
    return {data_dir(ipam, lease_dir) for ipam in ipams if ipam.get("type") == TYPE}


def is_followed(path: str, lease_dir: str) -> bool:
    """Return whether a network's directory in a record is below a plugin directory, or host-local has used it."""
    return is_below_plugin_dirs(path, lease_dir) or (
        _is_directory(path) and any(name.startswith(LAST_RESERVED) for name in list_directory(path))
    )


def foreign_directories(network: NetworkConfiguration, lease_dir: str) -> list[str]:
    """Return the directories of a recorded configuration that have files, but none of host-local."""
    paths = [os.path.join(parent, network.name) for parent in _data_dirs([network], lease_dir) - {lease_dir}]
    return [path for path in paths if _is_directory(path) and list_directory(path) and not is_followed(path, lease_dir)]


def networks(lease_dir: str) -> list[str]:
    """Return the names of all networks with a directory in the default data directory."""
    return [name for name in list_directory(lease_dir) if _is_directory(os.path.join(lease_dir, name))]


def addresses(directory: str) -> dict[str, IpAddress]:
    """Return the assigned addresses by the names of their files, without reading the files.

    host-local assigns no address for which a file of any kind exists.
    """
    return by_name(list_directory(directory))


def by_name(names: t.Iterable[str]) -> dict[str, IpAddress]:
    """Return the names in a directory that are addresses."""
    parsed = {}
    for name in names:
        with contextlib.suppress(ValueError):
            parsed[name] = ipaddress.ip_address(name)
    return parsed


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)
