# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read what host-local and static have in common: routes, DNS and requested addresses of their configuration."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress, IpInterface
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import UINT8, UINT32, Keys, refuse

_DNS_LISTS = ("nameservers", "search", "options")


def read_routes(ipam: Keys) -> list[JsonObject]:
    """Return the routes of an IPAM configuration as they stand in a result."""
    return [_read_route(keys) for keys in ipam.sections("routes")]


def _read_route(keys: Keys) -> JsonObject:
    destination = keys.interface("dst")
    if destination is None:
        raise refuse(f"{keys.pointer('dst')} is missing", "expected: a network such as 0.0.0.0/0")
    gateway = keys.address("gw")
    route: JsonObject = {"dst": str(destination)}
    if gateway:
        route["gw"] = str(gateway)
    # Zero is the default of these, and means something for the others.
    route.update({key: value for key in ("mtu", "advmss", "priority") if (value := keys.integer(key, within=UINT32))})
    ranges = (("table", UINT32), ("scope", UINT8))
    route.update({key: keys.integer(key, within=within) for key, within in ranges if key in keys})
    return route


def read_dns(keys: Keys) -> JsonObject:
    """Return the DNS settings of a configuration as they stand in a result; without settings, an empty object."""
    domain = {"domain": keys.text("domain")} if keys.text("domain") else {}
    return {**domain, **{key: keys.texts(key) for key in _DNS_LISTS if keys.texts(key)}}


def read_own_dns(keys: Keys) -> JsonObject | None:
    """Return the DNS settings that replace those of an IPAM plugin; None without any. An empty list is a setting."""
    is_set = keys.text("domain") or any(key in keys for key in _DNS_LISTS)
    return read_dns(keys) if is_set else None


def require_one_per_family(request: PluginRequest, addresses: t.Iterable[IpAddress | IpInterface]) -> None:
    """Refuse several addresses of a family in a version whose result has room for one."""
    families = [address.version for address in addresses]
    if len(families) != len(set(families)) and not version.at_least(request.version, "0.3.0"):
        raise refuse(
            f"version {request.version} of the specification has one address of each family",
            "expected: cniVersion 0.3.0 or later, or one range set of each family",
        )


def make_ip(interface: IpInterface, gateway: IpAddress | None) -> JsonObject:
    """Return an address as it stands in a result."""
    return {"address": str(interface), **({"gateway": str(gateway)} if gateway else {})}
