# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The formats that schemas use, such as addresses and interface names."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    parse_address,
    parse_interface,
    parse_subnet,
)
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import parse_mac
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_parts as firewall
from ansible_collections.cni.node.plugins.module_utils._reference.rules import forwarding


def is_address(text: str) -> bool:
    """Return whether text is an IP address without a zone."""
    return parse_address(text) is not None


def is_cidr(text: str) -> bool:
    """Return whether text is an address with a prefix length."""
    return parse_interface(text) is not None


def _is_address_or_cidr(text: str) -> bool:
    return is_address(text) or is_cidr(text)


def _is_mac(text: str) -> bool:
    """Return whether an interface may have a MAC address: the kernel refuses one of a group."""
    mac = parse_mac(text)
    return not text or (mac != "" and not int(mac[1], 16) & 1)


def _is_chain(text: str) -> bool:
    return _is_read(firewall.read_chain, text)


def _is_admin_chain(text: str) -> bool:
    return _is_read(forwarding.read_admin_chain, text)


def _is_read(read: t.Callable[[Keys, str], str], text: str) -> bool:
    """Return whether a plugin accepts a value. The schema reports one that is too long."""
    try:
        read(Keys({"chain": text}), "chain")
    except CniError:
        return len(text) > firewall.CHAIN_LENGTH
    return True


def _is_subnet(text: str) -> bool:
    return parse_subnet(text) is not None


def _is_ifname(text: str) -> bool:
    """Return whether a link may have the name, other than the loopback interface, which no plugin can use as another."""
    return not text or (is_ifname(text) and text != "lo")


def _is_cluster_range(text: str) -> bool:
    """Return whether whereabouts reads a range: a subnet, or ``FIRST-LAST/PREFIX``."""
    first, dash, rest = text.partition("-")
    return is_cidr(text) if not dash else is_address(first.strip()) and is_cidr(rest.strip())


# The values of "format" in the schemas. Plugins treat an empty interface name or MAC address as unset.
FORMATS: t.Final[t.Mapping[str, t.Callable[[str], bool]]] = {
    "admin-chain": _is_admin_chain,
    "chain": _is_chain,
    "cidr": is_cidr,
    "cluster-range": _is_cluster_range,
    "ifname": _is_ifname,
    "ip": is_address,
    "ip-or-cidr": _is_address_or_cidr,
    "mac": _is_mac,
    "subnet": _is_subnet,
}
