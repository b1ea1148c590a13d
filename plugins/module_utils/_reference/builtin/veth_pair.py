# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Make the veth pair that connects a container with the node."""

from __future__ import annotations

import functools
import os
import socket
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import parse_mac
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo


class VethPair:
    """A veth pair with an end on the node, which is up, and one in the container, which is down.

    Attributes:
        mac, host_mac: The MACs of the ends.
    """

    def __init__(self, attachment: Attachment, mac: str, host_name: str, host_mac: str) -> None:
        self.attachment = attachment
        self.mac = mac
        self.host_name = host_name
        self.host_mac = host_mac

    @functools.cached_property
    def host(self) -> Link:
        """The node's end."""
        return sandbox.require_link(self.host_name)

    @functools.cached_property
    def host_index(self) -> int:
        """The index of the node's end, which costs less than all of it."""
        try:
            return socket.if_nametoindex(self.host_name)
        except OSError as exc:
            raise refuse(f"there is no link {self.host_name}") from exc

    @property
    def container_interface(self) -> JsonObject:
        """The container's end as it stands in a result."""
        return {"name": self.attachment.ifname, "mac": self.mac, "sandbox": self.attachment.netns}

    @property
    def host_interface(self) -> JsonObject:
        """The node's end as it stands in a result."""
        return {"name": self.host_name, "mac": self.host_mac}


def create(
    writer: KernelWriter, attachment: Attachment, undo: Undo, *, mtu: int = 0, mac: str = "", master: int = 0
) -> VethPair:
    """Make the veth pair of an attachment.

    Both MACs are chosen here, because udev may replace those that the kernel chooses.

    Args:
        mac: The MAC of the container's end.
        master: Index of the bridge to which the node's end belongs, or 0.

    Raises:
        CniError: The container has an interface of this name, or the kernel refuses.
    """
    pair = VethPair(attachment, mac or _random_mac(), random_name(), _random_mac())
    with sandbox.open_sandbox(attachment) as descriptor:
        ends = {"mac": pair.host_mac, "peer_mac": pair.mac}
        writer.create_veth(pair.host_name, attachment.ifname, descriptor, mtu=mtu, master=master, **ends)
    undo.add(lambda: writer.remove_link(pair.host_index))
    router_advertisements.ignore(pair.host_name)
    return pair


def random_name() -> str:
    """Return a name that no link of this network namespace has, as the reference plugins choose it.

    With 5000 containers, two random names are equal on one of 344 nodes.
    """
    while True:
        name = f"veth{os.urandom(4).hex()}"
        try:
            socket.if_nametoindex(name)
        except OSError:
            return name


def require_mac(pointer: str, text: str) -> str:
    """Return a MAC as the kernel shows it, an empty string for an empty one.

    Raises:
        CniError: It is not valid.
    """
    mac = parse_mac(text)
    if text and not mac:
        raise refuse(f"{pointer}: {text!r} is not a MAC", "expected: six bytes such as 02:00:00:00:00:01")
    return mac


def read_mac(request: PluginRequest, before: t.Iterable[Keys], after: t.Iterable[Keys] = ()) -> str:
    """Return the requested MAC, or an empty string.

    Args:
        before: What comes before CNI_ARGS, the first source first.
        after: What comes after CNI_ARGS.
    """
    texts: list[tuple[Keys | None, str]] = [(keys, keys.text("mac")) for keys in before]
    texts += [(None, text) for text in request.cni_args("MAC").values()]
    texts += [(keys, keys.text("mac")) for keys in after]
    source, text = next((each for each in texts if each[1]), (None, ""))
    return require_mac(source.pointer("mac") if source else "CNI_ARGS: MAC", text)


def _random_mac() -> str:
    """Return a MAC that is locally administered and of one device."""
    first, *others = os.urandom(6)
    return bytes([first & 0xFC | 0x02, *others]).hex(":")
