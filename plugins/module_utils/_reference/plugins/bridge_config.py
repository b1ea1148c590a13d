# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the configuration of the plugin bridge."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, refuse
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing, ipam_config
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.rules.masquerading import read_masquerade_backend
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Bridge, Port
from ansible_collections.cni.node.plugins.module_utils._reference.state.vlan_config import VlanConfig, read_vlans


class BridgeConfig(t.NamedTuple):
    """The keys of a configuration.

    Attributes:
        dns: The DNS settings of the result; None for those of the IPAM plugin.
    """

    bridge: str
    is_gateway: bool
    is_default_gateway: bool
    force_address: bool
    masquerades: bool
    masquerade_backend: str
    mtu: int
    is_hairpin: bool
    is_promiscuous: bool
    is_isolated: bool
    vlans: VlanConfig
    checks_macs: bool
    finds_duplicates: bool
    leaves_down: bool
    mac: str
    dns: JsonObject | None

    @property
    def vlan_gateway(self) -> str:
        """The link with the addresses of a VLAN's gateways; an empty string without a VLAN."""
        return f"{self.bridge}.{self.vlans.vlan}" if self.vlans.vlan else ""

    @property
    def gateway_link(self) -> str:
        """The link with the gateways' addresses; an empty string if the node is not a gateway."""
        return (self.vlan_gateway or self.bridge) if self.is_gateway else ""

    def describe_bridge(self, mac: str = "") -> Bridge:
        """Return the bridge.

        Args:
            mac: The MAC that a new bridge gets; empty for that of the kernel.
        """
        return Bridge(self.bridge, mac, self.mtu, self.is_promiscuous, self.vlans.is_filtered)

    def describe_port(self, name: str) -> Port:
        """Return the container's port of the bridge."""
        return Port(
            name,
            self.bridge,
            is_hairpin=self.is_hairpin,
            is_isolated=self.is_isolated,
            vlan=self.vlans.access,
            trunk=self.vlans.tagged,
            leaves_default_vlan=self.vlans.leaves_default,
        )

    def describe_gateway_port(self, name: str) -> Port:
        """Return the port of the bridge whose other end has the addresses of a VLAN's gateways."""
        return Port(name, self.bridge, vlan=self.vlans.vlan, leaves_default_vlan=self.vlans.leaves_default)


def read_config(request: PluginRequest) -> BridgeConfig:
    """Return the configuration of a request.

    Raises:
        CniError: A value is not valid, or two keys contradict each other.
    """
    keys = request.config
    config = BridgeConfig(
        bridge=keys.link_name("bridge", catalogue.DEFAULT_BRIDGE),
        is_gateway=keys.flag("isGateway") or keys.flag("isDefaultGateway"),
        is_default_gateway=keys.flag("isDefaultGateway"),
        force_address=keys.flag("forceAddress"),
        masquerades=keys.flag("ipMasq"),
        masquerade_backend=read_masquerade_backend(keys),
        mtu=keys.integer("mtu", within=PACKET_SIZE),
        is_hairpin=keys.flag("hairpinMode"),
        is_promiscuous=keys.flag("promiscMode"),
        is_isolated=keys.flag("portIsolation"),
        vlans=read_vlans(keys),
        checks_macs=keys.flag("macspoofchk"),
        finds_duplicates=keys.flag("enabledad"),
        leaves_down=keys.flag("disableContainerInterface"),
        mac=veth_pair.read_mac(request, (request.runtime_config, request.config_args)),
        dns=ipam_config.read_own_dns(keys.section("dns")),
    )
    _require_consistent(config, addressing.ipam_type(request))
    return config


def _require_consistent(config: BridgeConfig, ipam_type: str) -> None:
    if config.is_gateway and config.vlans.vlan and not is_ifname(config.vlan_gateway):
        raise refuse(
            f"/bridge: {config.bridge!r} is too long for a link {config.vlan_gateway}", "expected: a shorter name"
        )
    if ipam_type and config.leaves_down:
        raise refuse("/disableContainerInterface and /ipam are mutually exclusive", "set one")
    if config.is_hairpin and config.is_promiscuous:
        raise refuse("/hairpinMode and /promiscMode are mutually exclusive", "set one")
