# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The properties of all known plugin types, one row for each.

A new plugin type is a row here and a schema in ``plugin_utils/schemas/plugins``; no other file names plugin types.
"""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import (
    ADD_AGAIN,
    ADVICE,
    DEL_AGAIN,
    FALSE_ALARM,
    IPV4_HOST_ADDRESS,
    NO_IPAM,
    NO_IPV4_ADDRESS,
    NO_IPV6_ADDRESS,
    ROUTES_MOVED,
    VETH,
    Delegation,
    Flaw,
    L2Segment,
    PluginType,
    Quirk,
)

DEFAULT_BRIDGE = "cni0"

# Patterns are text: most runs see no error and compile none of them.

# All interfaces of a container in a network share a chain. DEL removes the interface before it fails on the chain. The next
# DEL finds no address whose rules it would have to remove, and succeeds.
_MASQUERADE_CHAIN = (
    Quirk(DEL_AGAIN, r"\(DEL\)(?s:.*) -j CNI-[0-9a-f]{24} (?s:.*)(does not exist|Couldn't load target)"),
    Quirk(DEL_AGAIN, r"\(DEL\)(?s:.*) -X CNI-[0-9a-f]{24} (?s:.*)(Device or resource busy|Too many links)"),
)
# On a new node, two concurrent ADDs both create the chains that all containers share, and the second one fails.
_SHARED_CHAINS = Quirk(ADD_AGAIN, r"\(ADD\)(?s:.*)(File exists|Chain already exists)")

# Quirks of all reference plugins that make an interface: their CHECK verifies addresses and routes with the same code.
INTERFACE_QUIRKS = (
    # It does not look in the table to which sbr and vrf move routes.
    Quirk(FALSE_ALARM, r"Expected Route|Failed to find Gateway", ROUTES_MOVED),
    # It does not look in the table that the route itself names.
    Quirk(FALSE_ALARM, r"Expected Route .* Table:(?!254 )\d+ .*not found"),
    # 1.2.0 and older: ADD adds the container's gateway to a route that has none, but CHECK expects no gateway.
    Quirk(FALSE_ALARM, r"Expected Route .* GW:<nil>\} not found"),
    # It looks for the route to the address's network; an address with a prefix of 32 bits has no such route.
    Quirk(FALSE_ALARM, r"Failed to find Gateway", IPV4_HOST_ADDRESS),
    # It compares MACs as text: tuning puts the configured one into the result, and the kernel shows lower case.
    Quirk(FALSE_ALARM, r"(?i:Mac (\S+) doesn't match container Mac: \1(?![\w:]))"),
)

_BRIDGE_QUIRKS = (
    # udev changes the MAC of a new link of the node, and a bridge takes the MAC of a port. The MAC of the container is
    # compared with the kernel independently of CHECK.
    Quirk(FALSE_ALARM, r"Bridge interface \S+ Mac doesn't match: |Mac doesn't match: \S+ not found"),
    # CHECK runs an IPAM plugin even if the configuration has none.
    Quirk(FALSE_ALARM, r"no plugin name provided", NO_IPAM),
    # A bridge without a port has no MAC to set. It has its address by then, so that the next ADD skips this step.
    Quirk(ADD_AGAIN, r"\(ADD\): failed to set bridge addr: could not set bridge's mac"),
    Quirk(
        ADVICE,
        r"\(ADD\): .*already has an IP address different from",
        advice='the subnet of the bridge has changed: set "forceAddress": true to replace the address of the bridge',
    ),
)
_PORTMAP_QUIRKS = (
    # 1.1 and older: CHECK looks for the rules of both families if iptables and ip6tables are installed.
    Quirk(FALSE_ALARM, r"could not check ipv6 dnat", NO_IPV6_ADDRESS),
    Quirk(FALSE_ALARM, r"could not check ipv4 dnat", NO_IPV4_ADDRESS),
    # With addresses of both families, it looks for the rules of one family among those of the other.
    Quirk(FALSE_ALARM, r"could not check ipv6 dnat: rule .*-s [0-9.]+/"),
    Quirk(FALSE_ALARM, r"could not check ipv4 dnat: rule .*-s [0-9a-f]*:"),
)

PROJECT = "containernetworking/plugins"
_PORTMAP_FLAWS = (
    Flaw((0, 0, 0), (1, 1, 0), "a new UDP mapping cuts the UDP connections of all others", f"{PROJECT} dca23ad4"),
    Flaw((1, 6, 0), (1, 6, 1), "ADD fails with the nftables backend", f"{PROJECT} #1115"),
    Flaw(
        (1, 6, 0),
        (1, 9, 0),
        "with the nftables backend, a mapped port also takes traffic that is not for the node",
        "CVE-2025-67499",
    ),
    Flaw((1, 6, 0), (1, 9, 0), "CHECK fails with the nftables backend", f"{PROJECT} 8ee59c6f"),
)
_VRF_FLAWS = (Flaw((0, 0, 0), (1, 9, 1), "routes of IPAM plugins are lost in a VRF", f"{PROJECT} #1223"),)

_BRIDGE = L2Segment("bridge", "bridge", DEFAULT_BRIDGE, "vlan")
_MASTER = L2Segment("master", "master")

_REFERENCE = (
    PluginType("bandwidth", limits_bandwidth=True),
    PluginType(
        "bridge",
        link_kind=VETH,
        l2=_BRIDGE,
        masquerades=True,
        checks_macs=True,
        modules=("bridge", "veth"),
        quirks=(*_BRIDGE_QUIRKS, *_MASQUERADE_CHAIN),
    ),
    PluginType("dhcp", assigns_addresses=True),
    PluginType("dummy", link_kind="dummy", modules=("dummy",)),
    PluginType("firewall", filters=True, quirks=(_SHARED_CHAINS,)),
    PluginType("host-device", borrows_device=True, del_skips_ipam=True),
    PluginType("host-local", assigns_addresses=True, has_ranges=True, address_capability="ipRanges"),
    PluginType("ipvlan", link_kind="ipvlan", l2=_MASTER, modules=("ipvlan",)),
    PluginType("loopback", is_loopback=True),
    PluginType("macvlan", link_kind="macvlan", l2=_MASTER, modules=("macvlan",)),
    PluginType("portmap", maps_ports=True, quirks=(_SHARED_CHAINS, *_PORTMAP_QUIRKS), flaws=_PORTMAP_FLAWS),
    PluginType(
        "ptp",
        link_kind=VETH,
        l2=L2Segment("point-to-point"),
        masquerades=True,
        modules=("veth",),
        quirks=_MASQUERADE_CHAIN,
    ),
    PluginType("sbr", moves_routes=True, del_needs_netns=True),
    PluginType("static", assigns_addresses=True, has_addresses=True, address_capability="ips"),
    PluginType("tap", link_kind="tun", modules=("tun",), programs=("ip",)),
    PluginType(
        "tuning",
        tunes_interface=True,
        panics_without_sysctl=True,
        # Old releases: ADD replaces IFNAME in the name of a setting, CHECK does not.
        quirks=(
            Quirk(FALSE_ALARM, r"open /proc/sys/net/\S*\bIFNAME\b\S*: no such file or directory"),
            # It compares text, but the kernel separates several values by tabs. The settings are compared with the kernel
            # independently of CHECK, and so is the MAC.
            Quirk(FALSE_ALARM, r"Tuning configured value of \S+ is [^\n]*, current value is [^\n]*\t"),
            Quirk(FALSE_ALARM, r"(?i:Tuning configured Ethernet of \S+ is (\S+), current value is \1(?![\w:]))"),
        ),
    ),
    PluginType("vlan", link_kind="vlan", l2=L2Segment("master", "master", None, "vlanId"), modules=("8021q",)),
    PluginType("vrf", moves_routes=True, modules=("vrf",), flaws=_VRF_FLAWS),
)
_OTHERS = (
    PluginType("calico"),
    PluginType("calico-ipam"),
    PluginType("cilium-cni"),
    PluginType("consul-cni"),
    PluginType("flannel", link_kind=VETH, delegation=Delegation("delegate", False, "bridge", True, "host-local")),
    PluginType("multus", delegation=Delegation("delegates", is_list=True), selects_networks=True),
    PluginType("multus-shim", selects_networks=True),
    PluginType("ovs", passes_ipam=True),
    PluginType("sriov", passes_ipam=True),
    PluginType("tc-redirect-tap", passes_gateway=True),
    PluginType("whereabouts", has_cluster_ranges=True),
)

CATALOGUE: t.Final[t.Mapping[str, PluginType]] = {
    **{row.name: row._replace(is_reference=True, passes_ipam=True) for row in _REFERENCE},
    **{row.name: row for row in _OTHERS},
}
_UNKNOWN = PluginType()


def find_plugin_type(plugin_type: object) -> PluginType:
    """Return the row of a plugin type; the row of an unknown type has only defaults."""
    return CATALOGUE.get(plugin_type, _UNKNOWN) if isinstance(plugin_type, str) else _UNKNOWN


def types_where(predicate: t.Callable[[PluginType], bool]) -> tuple[str, ...]:
    """Return the names of the plugin types whose row fulfills a condition."""
    return tuple(name for name, known in CATALOGUE.items() if predicate(known))


Segment = tuple[t.Any, ...]

# The segment of a plugin that links each container with the node alone.
POINT_TO_POINT: t.Final[Segment] = ("point-to-point", "", 0)


def l2_segment(plugin_type: str, keys: t.Mapping[str, t.Any]) -> Segment | None:
    """Return an identifier of the l2 segment that the containers of a plugin share, None if it has none."""
    l2 = find_plugin_type(plugin_type).l2
    if l2 is None:
        return None
    link = keys.get(l2.key)
    return l2.kind, link if l2.default is None else link or l2.default, keys.get(l2.vlan_key) or 0


def shared_link(plugin_type: str, keys: t.Mapping[str, t.Any]) -> str:
    """Return the link of the node that the containers of a plugin share, such as a bridge; an empty string if there is none."""
    segment = l2_segment(plugin_type, keys)
    return segment[1] if segment is not None and isinstance(segment[1], str) else ""


def bridge_name(keys: t.Mapping[str, t.Any]) -> str:
    """Return the bridge that a configuration of a bridge plugin names, or the default one."""
    return str(keys.get("bridge") or DEFAULT_BRIDGE)


def gateway_link_name(keys: t.Mapping[str, t.Any]) -> str:
    """Return the link of the node that gets the gateways of a bridge plugin: the bridge, or a link of its VLAN."""
    vlan = keys.get("vlan")
    return f"{bridge_name(keys)}.{vlan}" if vlan else bridge_name(keys)


def is_routed(plugin_type: str, keys: t.Mapping[str, t.Any]) -> bool:
    """Return whether the node routes to the containers of a plugin."""
    return find_plugin_type(plugin_type).is_point_to_point or any(
        keys.get(key) is True for key in ("isGateway", "isDefaultGateway")
    )
