# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The properties of a plugin type, which the rows of the catalogue give."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import AnyCaseObject

VETH = "veth"

# Effects of a quirk: ignore the error of CHECK; run ADD once more; run DEL once more; add advice to the error of ADD.
FALSE_ALARM = "false_alarm"
ADD_AGAIN = "add_again"
DEL_AGAIN = "del_again"
ADVICE = "advice"

# Conditions of a quirk, which `quirks` evaluates for a record.
ALWAYS = "always"
NO_IPV4_ADDRESS = "no_ipv4_address"
NO_IPV6_ADDRESS = "no_ipv6_address"
NO_IPAM = "no_ipam"
ROUTES_MOVED = "routes_moved"
IPV4_HOST_ADDRESS = "ipv4_host_address"


class Quirk(t.NamedTuple):
    """A known defect of released plugins.

    Attributes:
        effect: The reaction to it: one of the effects above.
        pattern: Regular expression of the error. `FALSE_ALARM` searches for it in the whole message; other effects
            expect it after "plugin TYPE failed ".
        condition: The condition above under which the error is wrong, for `FALSE_ALARM`.
        advice: Advice to the operator, for `ADVICE`.
    """

    effect: str
    pattern: str
    condition: str = ALWAYS
    advice: str = ""


class Flaw(t.NamedTuple):
    """A flaw of some releases that an operator has to know of.

    Attributes:
        since: The first release that has it.
        fixed: The first later release without it.
        text: What it does.
        source: Where it is described.
    """

    since: tuple[int, int, int]
    fixed: tuple[int, int, int]
    text: str
    source: str


class L2Segment(t.NamedTuple):
    """The l2 segment that links the containers of a network.

    Attributes:
        kind: ``bridge``, ``master`` (a link of the node) or ``point-to-point``.
        key: The key of the configuration that names the link.
        default: The link if the key is absent; None if the plugin requires the key.
        vlan_key: The key of the VLAN, if there is one.
    """

    kind: str
    key: str = ""
    default: str | None = ""
    vlan_key: str = ""


class Delegation(t.NamedTuple):
    """How a plugin runs other plugins, which its configuration contains.

    Attributes:
        key: The key that holds a plugin configuration, or a list of networks.
        is_list: Whether it holds a list. Each member is a network configuration list or a single plugin.
        default_type: The plugin type if the configuration has none.
        default_gateway: Whether a delegated bridge is a gateway unless its configuration says otherwise.
        default_ipam: The IPAM plugin that is added, if any. Its addresses are not in the configuration.
    """

    key: str
    is_list: bool = False
    default_type: str = ""
    default_gateway: bool = False
    default_ipam: str = ""

    def complete(self, keys: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return the configuration of a delegated plugin with the keys that the delegating plugin adds."""
        plugin_type = keys.get("type", self.default_type)
        is_gateway = self.default_gateway and plugin_type == self.default_type
        return AnyCaseObject({"type": plugin_type, **({"isGateway": True} if is_gateway else {}), **keys})


class PluginType(t.NamedTuple):
    """Properties of a plugin type. The defaults are those of an unknown type.

    Attributes:
        name: The value of ``type``.
        is_reference: Whether releases of containernetworking/plugins have it.
        link_kind: The kernel's kind of the link that ADD makes in the container and DEL removes.
        borrows_device: Whether ADD moves a device of the node into the container and DEL gives it back.
        is_loopback: Whether it configures the loopback interface and lists it in the result.
        l2: The l2 segment of the containers, None if unknown.
        masquerades: Whether it understands ``ipMasq``.
        maps_ports: Whether it maps host ports to containers.
        checks_macs: Whether it understands ``macspoofchk``.
        filters: Whether it lets traffic of containers pass the node's firewall.
        limits_bandwidth: Whether it limits the rates of an interface.
        tunes_interface: Whether it may change the MAC and the MTU of an interface without changing the result.
        moves_routes: Whether it moves the routes of an interface out of the main table.
        passes_gateway: Whether it gives the gateway of the container's address to a virtual machine, as its default route.
        assigns_addresses: Whether it is an IPAM plugin.
        passes_ipam: Whether it gives its IPAM plugin the configuration as it is written.
        has_ranges: Whether it is an IPAM plugin with ``subnet`` or ``ranges``.
        has_cluster_ranges: Whether it is an IPAM plugin with the ranges of whereabouts.
        has_addresses: Whether it is an IPAM plugin with ``addresses``.
        address_capability: The capability by which a runtime adds addresses to those of the configuration.
        delegation: How it runs other plugins, None if it does not.
        selects_networks: Whether it attaches containers to further networks, so that its file has to come first.
        modules: The kernel modules that every configuration requires.
        programs: The programs that it always runs.
        del_needs_netns: Whether DEL fails without a network namespace, although there is nothing to remove.
        del_skips_ipam: Whether DEL does not run the IPAM plugin when the interface is gone.
        panics_without_sysctl: Whether ``sysctl`` in ``args.cni`` crashes it unless its configuration has ``sysctl``.
        quirks: Known defects of releases that the engine works around.
        flaws: Known defects of releases that an operator has to know of.
    """

    name: str = ""
    is_reference: bool = False
    link_kind: str = ""
    borrows_device: bool = False
    is_loopback: bool = False
    l2: L2Segment | None = None
    masquerades: bool = False
    maps_ports: bool = False
    checks_macs: bool = False
    filters: bool = False
    limits_bandwidth: bool = False
    tunes_interface: bool = False
    moves_routes: bool = False
    passes_gateway: bool = False
    assigns_addresses: bool = False
    passes_ipam: bool = False
    has_ranges: bool = False
    has_cluster_ranges: bool = False
    has_addresses: bool = False
    address_capability: str = ""
    delegation: Delegation | None = None
    selects_networks: bool = False
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    del_needs_netns: bool = False
    del_skips_ipam: bool = False
    panics_without_sysctl: bool = False
    quirks: tuple[Quirk, ...] = ()
    flaws: tuple[Flaw, ...] = ()

    @property
    def makes_interface(self) -> bool:
        """Return whether ADD fails when the container has an interface of that name."""
        return bool(self.link_kind) or self.borrows_device

    @property
    def result_is_complete(self) -> bool:
        """Return whether the result lists everything that ADD made."""
        return self.makes_interface or self.is_loopback

    @property
    def writes_rules(self) -> bool:
        """Return whether it may write rules into the node's firewall."""
        return self.masquerades or self.maps_ports or self.checks_macs or self.filters

    @property
    def is_bridge(self) -> bool:
        """Return whether the containers are linked by a bridge of the node."""
        return self.l2 is not None and self.l2.kind == "bridge"

    @property
    def is_point_to_point(self) -> bool:
        """Return whether a link of its own connects each container with the node, which always routes to it."""
        return self.l2 is not None and self.l2.kind == "point-to-point"

    @property
    def gateway_on_link(self) -> bool:
        """Return whether containers reach their gateway only on the link itself."""
        return self.is_reference and self.makes_interface and not self.is_point_to_point

    @property
    def has_host_end(self) -> bool:
        """Return whether the peer of the container's interface is on the node."""
        return self.link_kind == VETH

    @property
    def has_master(self) -> bool:
        """Return whether the container's link is made on a link of the node."""
        return self.l2 is not None and self.l2.kind == "master"

    @property
    def requires_master(self) -> bool:
        """Return whether the configuration must name the link of the node."""
        return self.l2 is not None and self.l2.default is None
