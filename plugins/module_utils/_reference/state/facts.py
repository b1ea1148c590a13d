# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Facts of a record about an attachment, in the form in which its state is described."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    IpAddress,
    IpInterface,
    IpNetwork,
    parse_address,
    parse_interface,
    parse_network,
)
from ansible_collections.cni.node.plugins.module_utils._base.json_text import any_case
from ansible_collections.cni.node.plugins.module_utils._cni import request
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import LOOPBACK
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import PluginType
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_links import HOST_END
from ansible_collections.cni.node.plugins.module_utils._reference.state.vlan_config import VlanConfig, read_vlans


class ContainerIp(t.NamedTuple):
    """An address of a container.

    Attributes:
        link: The name of its interface.
    """

    link: str
    interface: IpInterface
    gateway: IpAddress | None


class Plugin(t.NamedTuple):
    """A plugin of the network. ``keys`` is the configuration with which it was called."""

    row: PluginType
    keys: t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Facts:
    """A record's facts about an attachment, in the form that the builders of the state need.

    Attributes:
        maker: The plugin that made the interface: the first one, or the plugin to which it delegates.
        chained: The plugins after the first one.
        interfaces: The interfaces of the result in the container's network namespace.
        on_node: The interfaces of the result on the node.
        ips: The addresses of the container's interfaces.
        routes: The routes of the result.
    """

    record: Record
    maker: Plugin
    chained: tuple[Plugin, ...]
    interfaces: tuple[t.Mapping[str, t.Any], ...]
    on_node: tuple[t.Mapping[str, t.Any], ...]
    ips: tuple[ContainerIp, ...]
    routes: tuple[t.Mapping[str, t.Any], ...]

    @property
    def ifname(self) -> str:
        return self.record.attachment.ifname

    @functools.cached_property
    def bridge(self) -> str:
        """The bridge of the network; an empty string if it has none."""
        segment = self.maker.row.l2
        if segment is None or not self.maker.row.is_bridge:
            return ""
        name = self.maker.keys.get(segment.key) or segment.default
        if not isinstance(name, str) or not is_ifname(name):
            raise ValueError(f"{name!r} is not the name of a bridge")
        return name

    @functools.cached_property
    def host_end(self) -> str:
        """The end of the veth pair on the node; an empty string if there is none or the result does not name it."""
        if not self.maker.row.has_host_end:
            return ""
        names = [str(item["name"]) for item in self.on_node]
        names = [name for name in names if name not in (self.bridge, self.ifb) and not self.is_vlan_gateway(name)]
        return next(filter(HOST_END.fullmatch, names), (names or [""])[0])

    @property
    def ifb(self) -> str:
        """The name of the link that limits what the container sends, if there is one."""
        return firewall_names.ifb(*self.record.attachment.key[:2])

    @functools.cached_property
    def routed_link(self) -> str:
        """The link of the node that has the gateways' addresses; an empty string if the node does not route."""
        if not catalogue.is_routed(self.maker.row.name, self.maker.keys):
            return ""
        return f"{self.bridge}.{self.vlans.vlan}" if self.vlans.vlan else self.bridge or self.host_end

    @property
    def mode(self) -> str:
        """The mode of the container's interface; an empty string if its kind has none."""
        default = self.maker.row.default_mode
        return str(self.maker.keys.get("mode") or default) if default else ""

    @functools.cached_property
    def vlans(self) -> VlanConfig:
        """The VLANs of the container on its bridge.

        Raises:
            CniError: ``DECODE_FAILURE``: the plugin does not accept them.
        """
        try:
            return read_vlans(Keys(self.maker.keys if self.bridge else {}))
        except CniError as exc:
            raise unusable_record_error(self.record, str(exc)) from exc

    def is_vlan_gateway(self, name: str) -> bool:
        """Return whether a link of the node is the gateway of a VLAN of the bridge."""
        return bool(self.vlans.vlan) and name == f"{self.bridge}.{self.vlans.vlan}"


def read(record: Record, network: NetworkConfiguration) -> Facts | None:
    """Return the facts of a record; None if the kernel cannot be compared with them.

    Args:
        network: The configuration in the record.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    maker = _maker(record, network)
    if record.result is None or network.disable_check or not maker.row.result_is_complete:
        return None
    result = record.result.to("1.1.0").keys
    interfaces = tuple(result.get("interfaces") or ())
    if any(map(_is_userspace_device, interfaces)):
        return None
    # The path may differ from that of the attachment now. Interfaces with another sandbox, such as those of a virtual machine,
    # are not compared.
    sandbox = record.sandbox or record.attachment.netns
    own: dict[int | None, t.Mapping[str, t.Any]] = {None: {"name": record.attachment.ifname}}
    inside: dict[int | None, t.Mapping[str, t.Any]] = {
        number: item for number, item in enumerate(interfaces) if (item.get("sandbox") or "") == sandbox
    }
    ips = _ips(result.get("ips") or (), inside if interfaces else own)

    def may_be(name: str) -> bool:
        """Return whether the plugin may have made an interface, whatever a record says."""
        return (name == LOOPBACK) == maker.row.is_loopback

    return Facts(
        record,
        maker,
        tuple(_plugin(record, network, plugin) for plugin in network.plugins[1:]),
        tuple(item for item in inside.values() if item.get("name") and may_be(item["name"])),
        tuple(item for item in interfaces if item.get("name") and not item.get("sandbox")),
        tuple(ip for ip in ips if may_be(ip.link) and (ip.interface.ip.is_loopback or not maker.row.is_loopback)),
        tuple(result.get("routes") or ()),
    )


@contextlib.contextmanager
def wrap_errors(record: Record) -> t.Iterator[None]:
    """Turn exceptions about values of a record, which may have any type, into ``DECODE_FAILURE``."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        raise unusable_record_error(record, f"{type(exc).__name__}: {exc}") from exc


def unusable_record_error(record: Record, details: str) -> CniError:
    return CniError(Code.DECODE_FAILURE, f"{record.attachment}: its record has values that no plugin accepts", details)


def _plugin(record: Record, network: NetworkConfiguration, plugin: PluginConfiguration) -> Plugin:
    keys = request.keys_for_attachment(network, plugin, record.negotiated_version(network), record.attachment)
    return Plugin(catalogue.find_plugin_type(plugin.type), any_case(keys))


def _maker(record: Record, network: NetworkConfiguration) -> Plugin:
    plugin = _plugin(record, network, network.plugins[0])
    delegation = plugin.row.delegation
    if delegation is None or delegation.is_list:
        return plugin
    delegate = plugin.keys.get(delegation.key)
    keys = delegation.complete(delegate if isinstance(delegate, dict) else {})
    return Plugin(catalogue.find_plugin_type(keys["type"]), keys)


def _is_userspace_device(interface: t.Mapping[str, t.Any]) -> bool:
    """Return whether a userspace program drives the device and bypasses the kernel."""
    return bool(interface.get("pciID") or interface.get("socketPath"))


def _ips(
    ips: t.Iterable[t.Mapping[str, t.Any]], interfaces: t.Mapping[int | None, t.Mapping[str, t.Any]]
) -> t.Iterator[ContainerIp]:
    """Return the addresses of interfaces, by their numbers in the result; an old result has none, and None here."""
    for ip in ips:
        interface, address = interfaces.get(ip.get("interface")), parse_interface(ip["address"])
        if interface is not None and address is not None:
            yield ContainerIp(str(interface.get("name") or ""), address, parse_gateway(ip.get("gateway")))


def parse_gateway(text: str | None) -> IpAddress | None:
    address = parse_address(text)
    if text and address is None:
        raise ValueError(f"{text!r} is not an address")
    return address


def parse_destination(text: str) -> IpNetwork:
    network = parse_network(text)
    if network is None:
        raise ValueError(f"{text!r} is not a network")
    return network
