# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin static: it assigns the addresses that are written down."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    parse_address,
    parse_interface,
)
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import (
    Keys,
    read_address,
    read_interface,
    refuse,
)
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import ipam_config, ipam_ranges

_Assigned = tuple[IpInterface, t.Optional[IpAddress]]


class Static(Plugin):
    """Assigns addresses of the configuration, of CNI_ARGS, of ``args.cni`` or of the capability ``ips``."""

    name = "static"

    def require_accepted(self, request: PluginRequest) -> None:
        self.add(request)  # it makes nothing

    def add(self, request: PluginRequest) -> Result:
        ipam = _require_ipam(request)
        assigned = _read_assigned(request, ipam)
        interfaces = [interface for interface, dummy in assigned]
        _require_usable(interfaces)
        ipam_config.require_one_per_family(request, interfaces)
        return Result(
            version.LATEST,
            {
                "ips": [ipam_config.make_ip(*each) for each in assigned],
                "routes": ipam_config.read_routes(ipam),
                "dns": ipam_config.read_dns(ipam.section("dns")),
            },
        )

    def check(self, request: PluginRequest) -> None:
        ips = request.require_prev_result().keys.get("ips") or ()
        gateways = {parse_interface(ip["address"]): parse_address(ip.get("gateway")) for ip in ips}
        for interface, gateway in _read_assigned(request, _require_ipam(request)):
            if gateway and interface in gateways and gateways[interface] != gateway:
                raise refuse(f"the gateway of {interface} is {gateways[interface]} in the result, not {gateway}")


def _require_ipam(request: PluginRequest) -> Keys:
    if "ipam" not in request.config:
        raise refuse("the request has no key ipam", "expected: an object with the key addresses")
    return request.config.section("ipam")


def _read_assigned(request: PluginRequest, ipam: Keys) -> list[_Assigned]:
    """Return the addresses with their gateways.

    Those of CNI_ARGS are added to those of the configuration; ``args.cni`` replaces them, and the capability all others.
    """
    assigned = [_read_address(keys) for keys in ipam.sections("addresses")]
    assigned = _add_cni_args(request.cni_args("IP", "GATEWAY"), assigned)
    for keys in (request.config_args, request.runtime_config):
        texts = keys.texts("ips")
        if texts:
            assigned = [(read_interface(keys.pointer("ips"), text), None) for text in texts]
    return assigned


def _require_usable(interfaces: t.Sequence[IpInterface]) -> None:
    """Refuse addresses that no host can use, and an address that is given twice."""
    for index, interface in enumerate(interfaces):
        reason = ipam_ranges.unusable_reason(interface)
        if reason:
            raise refuse(f"{interface} {reason}", "expected: an address that a host can have")
        if interface in interfaces[:index]:
            raise refuse(f"{interface} is given twice", "expected: each address once")


def _read_address(keys: Keys) -> _Assigned:
    interface = read_interface(keys.pointer("address"), keys.text("address"))
    return interface, keys.address("gateway")


def _add_cni_args(values: t.Mapping[str, str], assigned: list[_Assigned]) -> list[_Assigned]:
    interfaces = [read_interface("CNI_ARGS: IP", text.strip()) for text in values.get("IP", "").split(",") if text]
    added: list[_Assigned] = [(interface, None) for interface in interfaces]
    for text in filter(None, values.get("GATEWAY", "").split(",")):
        gateway = read_address("CNI_ARGS: GATEWAY", text.strip())
        added = [(own, gateway if gateway in own.network else other) for own, other in added]
    return [*assigned, *added]
