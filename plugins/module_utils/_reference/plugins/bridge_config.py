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
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing, ipam_config
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.rules.masquerading import read_masquerade_backend
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Bridge, Port

_LAST_VLAN = 4094
# The access VLAN of a port that has tagged VLANs and no configured access VLAN.
_NATIVE_VLAN = 1


class VlanConfig(t.NamedTuple):
    """The VLANs of a container on its bridge.

    Attributes:
        vlan: The configured access VLAN, or 0.
        trunk: The VLANs of ``vlanTrunk``, in order.
        has_trunk: Whether ``vlanTrunk`` is there, even if it is empty: the bridge then filters VLANs.
        leaves_default: Whether the port is taken out of the bridge's default VLAN.
    """

    vlan: int
    trunk: tuple[int, ...]
    has_trunk: bool
    leaves_default: bool

    @property
    def access(self) -> int:
        """The access VLAN of the container's port, or 0 if it is that of every port."""
        return self.vlan or (_NATIVE_VLAN if self.trunk else 0)

    @property
    def tagged(self) -> tuple[int, ...]:
        """The tagged VLANs of the container's port. The access VLAN has no tags, even if it is in the trunk."""
        return tuple(vlan for vlan in self.trunk if vlan != self.access)

    @property
    def is_filtered(self) -> bool:
        """Return whether the bridge keeps VLANs apart."""
        return bool(self.vlan or self.has_trunk)


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
        vlans=_read_vlans(keys),
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


def _read_vlans(keys: Keys) -> VlanConfig:
    """Return the VLANs of a configuration; raise an error if a number is not a VLAN, or a range is not complete."""
    vlan, trunk = _read_vlan(keys, "vlan"), _read_trunk(keys)
    # By default, the port leaves it, although the documentation of the plugin says otherwise.
    leaves_default = bool(vlan or trunk) and not keys.flag("preserveDefaultVlan")
    return VlanConfig(vlan, trunk, "vlanTrunk" in keys, leaves_default)


def _read_vlan(keys: Keys, key: str, first: int = 0) -> int:
    number = keys.integer(key)
    if not first <= number <= _LAST_VLAN:
        raise refuse(f"{keys.pointer(key)}: {number} is not a VLAN", f"expected: {first} to {_LAST_VLAN}")
    return number


def _read_trunk(keys: Keys) -> tuple[int, ...]:
    vlans: set[int] = set()
    for item in keys.sections("vlanTrunk"):
        ends = [key for key in ("minID", "maxID") if key in item]
        if len(ends) == 1:
            raise refuse(f"{item.path}: only {ends[0]} is set", "expected: both minID and maxID, or id")
        if ends:
            first, last = (_read_vlan(item, key, 1) for key in ends)
            if first > last:
                raise refuse(f"{item.path}: minID {first} is greater than maxID {last}")
            vlans.update(range(first, last + 1))
        if "id" in item:
            vlans.add(_read_vlan(item, "id", 1))
    return tuple(sorted(vlans))
