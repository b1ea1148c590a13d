# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugins that make one link in the container: macvlan, ipvlan and vlan on a link of the node, and dummy."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, UINT32, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import (
    kernel_writer,
    link_change,
    link_message,
    rtnetlink,
)
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing, ipam_config
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.addressing import Addressing
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox, veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.interface_plugin import InterfacePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state import interfaces
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Resource

_LAST_VLAN = 4094
_ARP_NOTIFY = "net/ipv4/conf/{}/arp_notify"
_NDISC_NOTIFY = "net/ipv6/conf/{}/ndisc_notify"


class LinkConfig(t.NamedTuple):
    """The keys of a configuration.

    Attributes:
        master: The link on which the new link is made; an empty string if the configuration does not name it.
        queue_length: That of the queue for broadcasts of a macvlan, or 0.
    """

    mtu: int = 0
    mac: str = ""
    mode: str = ""
    master: str = ""
    vlan: int = 0
    queue_length: int = 0


class SingleLink(InterfacePlugin[LinkConfig]):
    """Base of plugins that make one link.

    Attributes:
        needs_addresses: Whether ADD fails without an IPAM plugin.
        keeps_dns: Whether the result has the DNS settings of the IPAM plugin instead of those of the configuration.
        notifications: Settings of the interface with which it announces its addresses.
    """

    needs_addresses: t.ClassVar[bool] = True
    keeps_dns: t.ClassVar[bool] = False
    notifications: t.ClassVar[tuple[str, ...]] = ()

    def make_link(self, request: PluginRequest, config: LinkConfig, undo: Undo) -> Link:
        """Make the container's interface, and return it."""
        raise NotImplementedError

    def describe(self, config: LinkConfig, known: Facts) -> t.Iterator[Resource]:
        return interfaces.describe_container(known, mtu=config.mtu, mode=config.mode)

    def require_accepted(self, request: PluginRequest) -> None:
        super().require_accepted(request)
        ipam_config.read_dns(request.config.section("dns"))
        addressing.ipam_type(request)

    def add(self, request: PluginRequest) -> Result:
        attachment, config = request.attachment, self.config_of(request)
        dns = ipam_config.read_dns(request.config.section("dns"))
        has_ipam = bool(addressing.ipam_type(request))
        if self.needs_addresses and not has_ipam and not self._find_addressing(request).ips:
            raise refuse("/ipam/type is missing", "expected: an IPAM plugin such as host-local")
        with sandbox.open_sandbox(attachment), Undo() as undo:
            link = self.make_link(request, config, undo)
            given = addressing.allocate(request, undo) if has_ipam else self._find_addressing(request)
            given.place(0)
            sandbox.run_inside(attachment, lambda writer: self._configure(writer, attachment, given))
        interface = {"name": attachment.ifname, "mac": link.mac, "sandbox": attachment.netns}
        keys: JsonObject = {"interfaces": [interface], "ips": given.ips, "routes": given.routes}
        return Result(version.LATEST, {**keys, "dns": given.dns if self.keeps_dns else dns})

    def _find_addressing(self, request: PluginRequest) -> Addressing:
        """Return the addresses of an attachment without an IPAM plugin."""
        return Addressing([], [], {})

    def _configure(self, writer: KernelWriter, attachment: Attachment, given: Addressing) -> None:
        for path in self.notifications if given.ips else ():
            with contextlib.suppress(CniError):  # the kernel may be without IPv6
                sysctl.write_at(path.format(attachment.ifname), "1")
        addressing.configure(writer, given.facts(attachment))

    def delete(self, request: PluginRequest) -> None:
        addressing.run_ipam(request)
        sandbox.remove_own_link(request, self.name)


class _OnMaster(SingleLink):
    """Base of plugins whose link is made on another one, the master."""

    checks_mtu: t.ClassVar[bool] = True

    def link_data(self, config: LinkConfig) -> bytes:
        """Return the properties of the new link that belong to its kind, as `kernel_writer` encodes them."""
        return kernel_writer.mode_data(self.name, config.mode)

    def read(self, request: PluginRequest) -> LinkConfig:
        keys = request.config
        return LinkConfig(keys.integer("mtu", within=PACKET_SIZE), master=keys.link_name("master"))

    def master(self, request: PluginRequest) -> str:
        """Return the name of the master if the configuration has none."""
        return _default_route_link(_master_netns(request))

    def make_link(self, request: PluginRequest, config: LinkConfig, undo: Undo) -> Link:
        attachment, netns = request.attachment, _master_netns(request)
        name = config.master or self.master(request)
        mtu, mac, data = config.mtu, config.mac, self.link_data(config)
        master = rtnetlink.link(name, netns)
        if master is None:
            where = f" in {netns}" if netns else ""
            raise refuse(f"/master: there is no link {name}{where}", "expected: a link that exists")
        if self.checks_mtu and mtu > master.mtu:
            raise refuse(f"/mtu: {mtu} is not between 0 and the MTU of {name}, {master.mtu}")

        # Kernels before 6.13 refuse the name of a link of the namespace in which the master is, such as eth0.
        first_name = firewall_names.first_link(*attachment.key)

        def create(writer: KernelWriter) -> None:
            with sandbox.open_sandbox(attachment) as descriptor:
                parent = master.ifindex
                writer.create_link(first_name, self.name, data, mtu=mtu, mac=mac, parent=parent, netns=descriptor)

        def rename(writer: KernelWriter) -> None:
            writer.rename(sandbox.require_link(first_name).ifindex, attachment.ifname)

        undo.add(lambda: sandbox.remove_link(attachment._replace(ifname=first_name)))
        if netns:
            sandbox.run_inside(attachment, create)
        else:
            with kernel_writer.connect() as writer:
                create(writer)
        sandbox.run_inside(attachment, rename)
        undo.add(lambda: sandbox.remove_link(attachment))
        return sandbox.require_link_inside(attachment)

    def delete(self, request: PluginRequest) -> None:
        super().delete(request)
        # A killed ADD may have left it under its first name.
        attachment = request.attachment
        sandbox.remove_link(attachment._replace(ifname=firewall_names.first_link(*attachment.key)))


class Macvlan(_OnMaster):
    """Makes a macvlan."""

    name = "macvlan"
    needs_addresses = False
    notifications = (_ARP_NOTIFY, _NDISC_NOTIFY)

    def read(self, request: PluginRequest) -> LinkConfig:
        mode = request.config.text("mode") or "bridge"
        if mode not in link_message.MODES[self.name].values() or mode == "source":
            raise refuse(f"/mode: {mode!r} is unknown", "expected: bridge, private, vepa or passthru")
        mac = veth_pair.read_mac(request, (request.runtime_config,), (request.config,))
        queue_length = request.config.integer("bcqueuelen", within=UINT32)
        return super().read(request)._replace(mac=mac, mode=mode, queue_length=queue_length)

    def make_link(self, request: PluginRequest, config: LinkConfig, undo: Undo) -> Link:
        link = super().make_link(request, config, undo)
        if config.queue_length:
            link_change.set_broadcast_queue(link, config.queue_length, request.attachment.netns)
        return link


class Ipvlan(_OnMaster):
    """Makes an ipvlan, by itself or on the interface that the previous plugin of the list has made."""

    name = "ipvlan"
    checks_mtu = False
    notifications = (_ARP_NOTIFY, _NDISC_NOTIFY)

    def read(self, request: PluginRequest) -> LinkConfig:
        mode = request.config.text("mode") or "l2"
        if mode not in link_message.MODES[self.name].values():
            raise refuse(f"/mode: {mode!r} is unknown", "expected: l2, l3 or l3s")
        return super().read(request)._replace(mode=mode)

    def master(self, request: PluginRequest) -> str:
        if request.prev_result is None:
            return super().master(request)
        names = [item.get("name") for item in request.prev_result.keys.get("interfaces") or ()]
        if len(names) != 1 or not names[0]:
            raise refuse("the previous result does not have a single interface", "expected: the key master")
        return str(names[0])

    def _find_addressing(self, request: PluginRequest) -> Addressing:
        keys = request.prev_result.keys if request.prev_result else {}
        return Addressing(list(keys.get("ips") or ()), list(keys.get("routes") or ()), {})


class Vlan(_OnMaster):
    """Makes a VLAN interface."""

    name = "vlan"

    def read(self, request: PluginRequest) -> LinkConfig:
        number = request.config.integer("vlanId")
        if not 0 <= number <= _LAST_VLAN:
            raise refuse(f"/vlanId: {number} is not a VLAN", f"expected: 0 to {_LAST_VLAN}")
        return super().read(request)._replace(vlan=number)

    def link_data(self, config: LinkConfig) -> bytes:
        return kernel_writer.vlan_data(config.vlan)

    def master(self, request: PluginRequest) -> str:
        raise refuse("/master is missing", "expected: the link of the node on which the VLAN is made")


class Dummy(SingleLink):
    """Makes a dummy."""

    name = "dummy"
    keeps_dns = True

    def read(self, dummy: PluginRequest) -> LinkConfig:
        return LinkConfig()

    def make_link(self, request: PluginRequest, dummy: LinkConfig, undo: Undo) -> Link:
        attachment = request.attachment
        sandbox.run_inside(attachment, lambda writer: writer.create_link(attachment.ifname, self.name))
        undo.add(lambda: sandbox.remove_link(attachment))
        return sandbox.require_link_inside(attachment)


def _master_netns(request: PluginRequest) -> str:
    """Return the path of the namespace with the master; an empty string for the node's."""
    return request.attachment.netns if request.config.flag("linkInContainer") else ""


def _default_route_link(netns: str) -> str:
    """Return the link of the default route."""
    link = rtnetlink.snapshot(netns).find_default_link()
    if link is None:
        raise refuse("/master is missing, and there is no default route", "expected: the key master")
    return link.name
