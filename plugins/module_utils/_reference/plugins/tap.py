# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin tap: it makes a tap device in the container, for a virtual machine."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import io_errors
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import PACKET_SIZE, UINT32, refuse
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink, tun
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import BRIDGE, Link
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox, veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.plugins.single_link import LinkConfig, SingleLink

_EXEC_LABEL = "/proc/thread-self/attr/exec"


class Tap(SingleLink):
    """Makes a persistent tap device: it stays without a program."""

    name = "tap"
    needs_addresses = False
    notifications = ("net/ipv4/conf/{}/arp_notify",)

    def read(self, request: PluginRequest) -> LinkConfig:
        mac = veth_pair.read_mac(request, (request.runtime_config,), (request.config,))
        return LinkConfig(request.config.integer("mtu", within=PACKET_SIZE), mac)

    def make_link(self, request: PluginRequest, config: LinkConfig, undo: Undo) -> Link:
        keys, attachment = request.config, request.attachment
        owner, group = (keys.optional_integer(key, within=UINT32) for key in ("owner", "group"))
        is_multi_queue, bridge = keys.flag("multiQueue"), keys.link_name("bridge")
        label = keys.text("selinuxContext")

        def create(writer: KernelWriter) -> None:
            if rtnetlink.link(attachment.ifname) is not None:
                raise refuse(f"the container has an interface {attachment.ifname} already")
            if label:
                _create_with_label(label, attachment.ifname, is_multi_queue, owner, group)
            else:
                # Those of a user and a group have headers for checksum offloading.
                has_headers = owner is not None and group is not None
                tun.create_tap(attachment.ifname, is_multi_queue, owner, group, has_headers=has_headers)
            undo.add(lambda: sandbox.remove_link(attachment))
            ifindex = sandbox.require_link(attachment.ifname).ifindex
            if config.mtu:
                writer.set_mtu(ifindex, config.mtu)
            if config.mac:
                writer.set_mac(ifindex, config.mac)
            if bridge:
                writer.set_master(ifindex, _require_bridge(bridge).ifindex)

        sandbox.run_inside(attachment, create)
        return sandbox.require_link_inside(attachment)


def _require_bridge(name: str) -> Link:
    """Return the bridge of the container that the device becomes a port of."""
    link = sandbox.require_link(name)
    if link.kind != BRIDGE:
        raise refuse(f"/bridge: {name} is not a bridge")
    return link


def _create_with_label(label: str, name: str, is_multi_queue: bool, owner: int | None, group: int | None) -> None:
    """Create the device by a program with an SELinux label: a device gets that of the process that creates it."""
    path = program.find("ip")
    if path is None:
        raise refuse("/selinuxContext needs the program ip, which is not installed", "install the package iproute2")
    action = f"set the SELinux context {label} in"
    with io_errors(action, _EXEC_LABEL), open(_EXEC_LABEL, "w", encoding="utf-8") as stream:
        stream.write(label)
    options = ["multi_queue"] if is_multi_queue else []
    options += [] if owner is None else ["user", str(owner)]
    options += [] if group is None else ["group", str(group)]
    program.output([path, "tuntap", "add", "mode", "tap", "name", name, *options])
