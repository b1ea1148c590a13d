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

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import io_error
from ansible_collections.cni.node.plugins.module_utils._base.files import changed, list_directory
from ansible_collections.cni.node.plugins.module_utils._base.lock import locked
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

# What the reference plugin host-local keeps: a directory for each network, and in it a file for each address.
TYPE: t.Final = "host-local"
DATA_DIR: t.Final = "/var/lib/cni/networks"

_LOCK: t.Final = "lock"
_LAST_RESERVED: t.Final = "last_reserved_ip."

Address = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


class Lease(t.NamedTuple):
    """An address that is given away.

    Attributes:
        container_id, ifname: Whose it is; both are empty in a file that a full disk or a loss of power left empty,
            and the interface in one of a release before 0.8.
        changed: When, in seconds of the epoch.
    """

    path: str
    address: str
    container_id: str
    ifname: str
    changed: float

    def __str__(self) -> str:
        return f"container {self.container_id}" + (f" ({self.ifname})" if self.ifname else "")


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


def exclusive(directory: str, timeout: float) -> t.ContextManager[None]:
    """Keep host-local itself from a network's directory.

    Raises:
        CniError: ``TRY_AGAIN`` when the time is over.
    """
    path = os.path.join(directory, _LOCK)
    return locked(path, exclusive=True, timeout=timeout, what=f"host-local's {directory}", keep=True)


def addresses(directory: str) -> dict[str, Address]:
    """Return the addresses that are given away by the names of their files, without a look into these."""
    found = {}
    for name in list_directory(directory):
        with contextlib.suppress(ValueError):
            found[name] = ipaddress.ip_address(name)
    return found


def leases(directory: str) -> list[Lease]:
    """Read every lease of a network.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    found = []
    for name, address in addresses(directory).items():
        path = os.path.join(directory, name)
        content = durable.read(path)
        if content is not None:
            container_id, dummy, ifname = content.decode("utf-8", "replace").strip().partition("\r\n")
            found.append(Lease(path, str(address), container_id, ifname, changed(path)))
    return found


def others(directory: str, taken: t.Collection[str]) -> list[str]:
    """Return what a directory holds beside the leases given and what host-local itself needs."""
    names = set(list_directory(directory)) - {os.path.basename(path) for path in taken}
    return sorted(name for name in names if name != _LOCK and not name.startswith(_LAST_RESERVED))


def youngest(directory: str) -> float:
    """Return when something in a directory has changed last."""
    names = list_directory(directory)
    return max(changed(path) for path in (directory, *(os.path.join(directory, name) for name in names)))


def remove(directory: str) -> None:
    """Remove a directory that has no lease any more.

    Raises:
        CniError: ``IO_FAILURE``; also where it has one.
    """
    if not others(directory, ()):
        for name in list_directory(directory):
            durable.remove(os.path.join(directory, name), flush=False)
    try:
        os.rmdir(directory)
    except OSError as exc:
        raise io_error("remove", directory, exc) from exc


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


__all__ = (
    "DATA_DIR",
    "TYPE",
    "Address",
    "Lease",
    "addresses",
    "data_dir",
    "directories",
    "exclusive",
    "leases",
    "networks",
    "others",
    "remove",
    "youngest",
)
