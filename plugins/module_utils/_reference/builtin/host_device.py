# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin host-device: it moves a device of the node into the container, and back."""

from __future__ import annotations

import contextlib
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_error
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import identifier, version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_writer, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Link
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import (
    addressing,
    interface_check,
    ipam_config,
    sandbox,
    veth_pair,
)
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.addressing import IpamUser
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH

_OWN_NETNS: t.Final = "/proc/thread-self/ns/net"
_KERNEL_DEVICES: t.Final = "/sys/devices/"
_PCI_DEVICES: t.Final = "/sys/bus/pci/devices"
_AUXILIARY_DEVICES: t.Final = "/sys/bus/auxiliary/devices"
_DEVICE_ID: t.Final = re.compile(r"[A-Za-z0-9_.:-]+")
# With these drivers, a program in userspace uses the device, and the kernel has no link for it.
_USERSPACE_DRIVERS: t.Final = ("vfio-pci", "uio_pci_generic", "igb_uio")


class _Device(t.NamedTuple):
    """The device of a configuration.

    Attributes:
        link: Its link; None if a program in userspace uses it.
        pci_address: Its address on the PCI bus, or an empty string.
    """

    link: Link | None
    pci_address: str = ""


class HostDevice(IpamUser):
    """Moves a device that is found by its name, its MAC, its path in ``/sys`` or its address on a bus."""

    name = "host-device"

    def add(self, request: PluginRequest) -> Result:
        attachment = request.attachment
        dns = ipam_config.read_dns(request.config.section("dns"))
        addressing.ipam_type(request)  # refused before the device is moved
        device = _find_device(request)
        interface: JsonObject = {"name": attachment.ifname, "sandbox": attachment.netns}
        with sandbox.open_sandbox(attachment), Undo() as undo:
            if device.link is not None:
                interface["mac"] = _move_in(request, device.link, undo)
            else:
                interface["pciID"] = device.pci_address
            given = addressing.allocate(request, undo)
            given.place(0)
            if device.link is not None and given.ips:
                sandbox.run_inside(attachment, lambda writer: addressing.configure(writer, attachment.ifname, given))
        keys: JsonObject = {"interfaces": [interface], "ips": given.ips, "routes": given.routes}
        return Result(version.LATEST, {**keys, "dns": dns if given.ips else {}})

    def check(self, request: PluginRequest) -> None:
        addressing.run_ipam(request)
        interface_check.require(request)

    def delete(self, request: PluginRequest) -> None:
        attachment = request.attachment
        device = _find_to_return(request) if sandbox.exists(attachment) else None
        addressing.run_ipam(request)
        if device is not None:
            _move_out(attachment, *device)


@contextlib.contextmanager
def open_node_netns() -> t.Iterator[int]:
    """Yield a descriptor of the node's network namespace, which is that of this thread."""
    try:
        descriptor = os.open(_OWN_NETNS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as exc:
        raise io_error("open", _OWN_NETNS, exc) from exc
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _move_in(request: PluginRequest, link: Link, undo: Undo) -> str:
    """Move a link into the container, under the name of the interface, and return its MAC. Its alias keeps its name."""
    attachment = request.attachment
    if rtnetlink.link(attachment.ifname, attachment.netns) is not None:
        raise refuse(f"the container has an interface {attachment.ifname} already")
    with sandbox.open_sandbox(attachment) as descriptor, kernel_writer.connect() as writer:
        writer.move(link.ifindex, descriptor, name=attachment.ifname, alias=link.name)
    undo.add(lambda: _restore(request, link))
    sandbox.run_inside(attachment, lambda inside: inside.set_up(sandbox.require_link(attachment.ifname).ifindex))
    return sandbox.require_link_inside(attachment).mac


def _restore(request: PluginRequest, link: Link) -> None:
    inside = sandbox.require_link_inside(request.attachment)
    _move_out(request.attachment, inside.ifindex, link.name)
    if link.is_up:
        with kernel_writer.connect() as writer:
            writer.set_up(sandbox.require_link(link.name).ifindex)


def _move_out(attachment: Attachment, ifindex: int, name: str) -> None:
    """Move a link of the container back to the node, under its former name."""
    with open_node_netns() as node:
        sandbox.run_inside(attachment, lambda writer: writer.move(ifindex, node, name=name, alias=""))


def _find_to_return(request: PluginRequest) -> tuple[int, str] | None:
    """Return the index of the node's device in the container, and its name on the node; None if it is gone.

    A process in the container can rename links, make others, and change MACs and aliases.

    Raises:
        CniError: A link that is not known to be the device has its name, or another link of the node has the former name.
    """
    attachment, name = request.attachment, _configured_text(request, "device")
    macs = _recorded_macs(request)
    with_alias = sandbox.call_inside(attachment, _list_with_aliases)
    on_node_ends = rtnetlink.links()
    links = [link for link, dummy in with_alias]
    # tuning has given the device its former MAC again. A container cannot make a veth with an end on the node.
    paired = [link for link in links if any(link.is_peer_of(end) for end in on_node_ends)]
    named = [link for link, alias in with_alias if name == alias]
    link = identify_device(links, named, macs, paired)
    if link is None and not macs and not name:
        # Without a result and a name, there is only the interface's name.
        link = next((link for link, alias in with_alias if link.name == attachment.ifname and alias), None)
    on_node = rtnetlink.link(name) if name else None
    if link is None:
        suspects = [
            link.name for link, alias in with_alias if link.name == attachment.ifname or (alias and alias == name)
        ]
        if not suspects or (on_node is not None and on_node.mac in macs):
            return None
        raise refuse(
            f"interface {suspects[0]} is not known to be the device of the node: neither its MAC nor its permanent "
            f"address is {' or '.join(sorted(macs)) or 'known'}",
            "move the device back by hand",
        )
    name = name or next(alias for other, alias in with_alias if other.ifindex == link.ifindex)
    if not name:
        raise refuse(f"interface {link.name} has no alias with its name on the node", "move it back by hand")
    if rtnetlink.link(name) is not None:
        raise refuse(f"the node has another link {name}", "rename it, so that the device can have its name again")
    return link.ifindex, identifier.check_ifname(name)


def _list_with_aliases() -> list[tuple[Link, str]]:
    return [(link, rtnetlink.alias(link.ifindex)) for link in rtnetlink.links() if link.name != "lo"]


def _configured_text(request: PluginRequest, key: str) -> str:
    """Return a text of the configuration, which DEL may not be able to read strictly; an empty string without it."""
    value = request.keys.get(key)
    return value if isinstance(value, str) else ""


def _recorded_macs(request: PluginRequest) -> frozenset[str]:
    """Return the MACs of the configuration and of the previous result."""
    keys = request.prev_result.keys if request.prev_result else {}
    interfaces: t.Iterable[JsonObject] = keys.get("interfaces") or ()
    macs = [str(item.get("mac") or "") for item in interfaces if item.get("name") == request.attachment.ifname]
    macs.append(_configured_text(request, "hwaddr"))
    return frozenset(mac.lower().replace("-", ":") for mac in macs if mac)


def identify_device(
    links: t.Sequence[Link], named: t.Sequence[Link], macs: t.Container[str], paired: t.Container[Link] = ()
) -> Link | None:
    """Return the device of the node among the links of a container; None if no link is known to be it.

    A container cannot make a link with a permanent address, or one without a kind.

    Args:
        named: The links whose alias is the device's name on the node.
        macs: The recorded MACs; empty if there is no record of them.
        paired: Veths whose other end is on the node.
    """
    own_pairs = {link.ifindex for link in links if link.kind == VETH and not link.is_peer_elsewhere}
    candidates = [link for link in links if link.ifindex not in own_pairs]
    permanent = [link for link in candidates if link.permanent_mac and link.permanent_mac in macs]
    with_mac = [link for link in candidates if link.mac in macs]
    with_name = [link for link in candidates if link in named and (not link.kind or not macs or link in paired)]
    proofs = permanent, [link for link in with_mac if link in named], with_mac, with_name
    return next((found[0] for found in proofs if len(found) == 1), None)


def _find_device(request: PluginRequest) -> _Device:
    config = request.config
    pci_address, auxiliary = _read_bus_address(request)
    if pci_address:
        path = os.path.join(_PCI_DEVICES, pci_address)
        driver = os.path.basename(os.path.realpath(os.path.join(path, "driver")))
        if driver in _USERSPACE_DRIVERS:
            return _Device(None, pci_address)
    mac = veth_pair.parse_mac("/hwaddr", config.text("hwaddr"))
    name = config.link_name("device")
    if name:
        link, what = rtnetlink.link(name), f"/device: there is no link {name}"
    elif mac:
        link = next((each for each in rtnetlink.links() if each.mac == mac), None)
        what = f"/hwaddr: no link has the MAC {mac}"
    elif config.text("kernelpath"):
        link, what = _find_by_path("/kernelpath", config.text("kernelpath")), "/kernelpath: the device has no link"
    elif pci_address:
        link, what = _find_below(path), f"/pciBusID: {pci_address} has no link"
    elif auxiliary:
        link = _find_below(os.path.join(_AUXILIARY_DEVICES, auxiliary))
        what = f"/runtimeConfig/deviceID: {auxiliary} has no link"
    else:
        raise refuse("no device is named", "expected: device, hwaddr, kernelpath or pciBusID")
    if link is None:
        raise refuse(what)
    return _Device(link, pci_address)


def _read_bus_address(request: PluginRequest) -> tuple[str, str]:
    """Return the address on the PCI bus and the name on the auxiliary bus; the capability comes first."""
    device_id = request.runtime_config.text("deviceID")
    pci_address = device_id or request.config.text("pciBusID")
    for pointer, text in (("/runtimeConfig/deviceID", device_id), ("/pciBusID", pci_address)):
        if text and (not _DEVICE_ID.fullmatch(text) or text in (".", "..")):
            raise refuse(f"{pointer}: {text!r} is not the name of a device")
    if not device_id or os.path.exists(os.path.join(_PCI_DEVICES, device_id)):
        return pci_address, ""
    if os.path.exists(os.path.join(_AUXILIARY_DEVICES, device_id)):
        return "", device_id
    raise refuse(f"/runtimeConfig/deviceID: there is no device {device_id}")


def _find_by_path(pointer: str, path: str) -> Link | None:
    if not os.path.normpath(path).startswith(_KERNEL_DEVICES):
        raise refuse(f"{pointer}: {path!r} is not below {_KERNEL_DEVICES}")
    return _find_below(path)


def _find_below(path: str) -> Link | None:
    """Return the link of a device, which virtio devices have one level below."""
    places = [path]
    with contextlib.suppress(OSError):
        places += [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.startswith("virtio")]
    for place in places:
        with contextlib.suppress(OSError, CniError):
            for name in sorted(os.listdir(os.path.join(place, "net"))):
                return rtnetlink.link(name)
    return None


__all__ = ("HostDevice", "identify_device")
