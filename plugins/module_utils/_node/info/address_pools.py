# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The address pools of networks, with the number of assigned addresses."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import (
    Range,
    host_local_range_sets,
)

# Share of free addresses below which a pool causes a warning.
_SCARCE = 0.05


@dataclasses.dataclass(frozen=True)
class Pool:
    """A set of ranges, from which host-local assigns one address to each attachment.

    Attributes:
        ranges: First and last address of each range.
        size: The number of addresses, without gateways.
        path: The directory of the network's leases.
    """

    network: str
    ranges: tuple[tuple[IpAddress, IpAddress], ...]
    size: int
    taken: int
    path: str

    @property
    def free(self) -> int:
        return max(0, self.size - self.taken)

    @property
    def warning(self) -> str:
        """Return a warning if few or no addresses are free; otherwise an empty string."""
        if self.free >= self.size * _SCARCE:
            return ""
        state = f"only {self.free} of {self.size} addresses are free"
        if not self.free:
            state = f"all {self.size} addresses are taken"
        return f"network {self.network}, {self.text}: {state} ({self.path}); run cni.node.gc to free leaked addresses"

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "network": self.network,
            "range": self.text,
            "size": self.size,
            "taken": self.taken,
            "free": self.free,
            "path": self.path,
        }

    @property
    def text(self) -> str:
        return ", ".join(f"{first}-{last}" for first, last in self.ranges)


def list_pools(conf_path: str, lease_dir: str) -> list[Pool]:
    """Return the pools of all networks of a directory in the order of their names, full pools first.

    Leases are listed but not read, because there may be tens of thousands.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    pools = []
    for name, network in sorted(conf_dir.load(conf_path).networks.items()):
        ipams: list[JsonObject] = [plugin.keys.get("ipam") or {} for plugin in network.plugins]
        for ipam in (ipam for ipam in ipams if ipam.get("type") == lease_files.TYPE):
            path = os.path.join(lease_files.data_dir(ipam, lease_dir), name)
            taken = lease_files.addresses(path).values()
            pools += [_pool(name, path, ranges, taken) for ranges in host_local_range_sets(ipam) if ranges]
    return sorted(pools, key=lambda pool: pool.free > 0)


def _pool(network: str, path: str, ranges: list[Range], taken: t.Collection[IpAddress]) -> Pool:
    bounds = [(item.first.version, int(item.first), int(item.last), int(item.gateway)) for item in ranges]
    size = sum(last - first + 1 - (first <= gateway <= last) for dummy, first, last, gateway in bounds)
    numbers = {version: [int(address) for address in taken if address.version == version] for version in (4, 6)}
    count = sum(first <= number <= last for version, first, last, dummy in bounds for number in numbers[version])
    return Pool(network, tuple((item.first, item.last) for item in ranges), size, count, path)
