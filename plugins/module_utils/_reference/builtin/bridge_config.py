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
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import addressing, ipam_config, veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.state.masquerading import read_masquerade_backend

_LAST_VLAN: t.Final = 4094


class BridgeConfig(t.NamedTuple):
    """The keys of a configuration.

    Attributes:
        trunk: The tagged VLANs, in order.
        has_trunk: Whether ``vlanTrunk`` is there, even if it is empty: the bridge then filters VLANs.
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
    vlan: int
    trunk: tuple[int, ...]
    has_trunk: bool
    keeps_default_vlan: bool
    checks_macs: bool
    finds_duplicates: bool
    leaves_down: bool
    mac: str
    dns: JsonObject | None

    @property
    def vlan_gateway(self) -> str:
        """The link with the addresses of a VLAN's gateways."""
        return f"{self.bridge}.{self.vlan}"

    @property
    def has_port_settings(self) -> bool:
        """Return whether the port of a container must have other settings than a new port has."""
        return bool(self.is_hairpin or self.is_isolated or self.vlan or self.trunk)

    @property
    def filters_vlans(self) -> bool:
        return bool(self.vlan or self.has_trunk)


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
        vlan=_read_vlan(keys, "vlan"),
        trunk=_read_trunk(keys),
        has_trunk="vlanTrunk" in keys,
        keeps_default_vlan=keys.flag("preserveDefaultVlan"),
        checks_macs=keys.flag("macspoofchk"),
        finds_duplicates=keys.flag("enabledad"),
        leaves_down=keys.flag("disableContainerInterface"),
        mac=veth_pair.read_mac(request, (request.runtime_config, request.config_args)),
        dns=ipam_config.read_own_dns(keys.section("dns")),
    )
    _require_consistent(config, addressing.ipam_type(request))
    return config


def _require_consistent(config: BridgeConfig, ipam_type: str) -> None:
    if config.is_gateway and config.vlan and not is_ifname(config.vlan_gateway):
        raise refuse(
            f"/bridge: {config.bridge!r} is too long for a link {config.vlan_gateway}", "expected: a shorter name"
        )
    if ipam_type and config.leaves_down:
        raise refuse("/disableContainerInterface and /ipam are mutually exclusive", "set one")
    if config.is_hairpin and config.is_promiscuous:
        raise refuse("/hairpinMode and /promiscMode are mutually exclusive", "set one")


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


__all__ = ("BridgeConfig", "read_config")
