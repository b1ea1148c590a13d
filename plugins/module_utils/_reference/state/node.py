# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the node's own network namespace and leases, as far as attachments concern them."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import bridge_vlans, qdiscs, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.bridge_vlans import PortVlans
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.qdiscs import TokenBucket
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Route
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.lease_directory import Lease


class Node:
    """Asks the kernel each time. All methods raise ``IO_FAILURE`` if the kernel or a file cannot be read."""

    def link(self, name: str) -> Link | None:
        """Return a link, or None if it does not exist."""
        return rtnetlink.link(name)

    def link_by_index(self, ifindex: int) -> Link | None:
        """Return the link with an index, or None."""
        return rtnetlink.link_by_index(ifindex)

    def vlans(self, ifindex: int) -> PortVlans:
        """Return the VLANs of a port of a bridge."""
        return bridge_vlans.read().get(ifindex, PortVlans())

    def addresses(self, ifindex: int) -> t.Collection[IpInterface]:
        """Return the addresses of a link."""
        return [address.interface for address in rtnetlink.addresses(ifindex)]

    def routes(self, ifindex: int) -> t.Collection[Route]:
        """Return the routes through a link."""
        return rtnetlink.routes(ifindex)

    def token_bucket(self, ifindex: int) -> TokenBucket | None:
        """Return the limit of a link's rate, or None."""
        return qdiscs.token_buckets().get(ifindex)

    def redirects(self, ifindex: int) -> t.Collection[int]:
        """Return the links to which a link redirects what it receives."""
        return qdiscs.redirects(ifindex)

    def setting(self, path: str) -> str | None:
        """Return a setting below ``/proc/sys``, or None if the kernel has none."""
        return sysctl.read_at(path)

    def lease(self, directory: str, address: str) -> Lease | None:
        """Return the lease of an address in the directory of a network, or None."""
        return lease_directory.find(directory, address)
