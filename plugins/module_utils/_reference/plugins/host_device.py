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

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing, ipam_config
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox, veth_pair
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.interface_plugin import InterfacePlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.state import interfaces
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_device import DeviceClaim
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Resource

_KERNEL_DEVICES = "/sys/devices/"
_PCI_DEVICES = "/sys/bus/pci/devices"
_AUXILIARY_DEVICES = "/sys/bus/auxiliary/devices"
_DEVICE_ID = re.compile(r"[A-Za-z0-9_.:-]+")
# With these drivers, a program in userspace uses the device, and the kernel has no link for it.
_USERSPACE_DRIVERS = ("vfio-pci", "uio_pci_generic", "igb_uio")


class _Device(t.NamedTuple):
    """The device of a configuration.

    Attributes:
        link: Its link; None if a program in userspace uses it.
        pci_address: Its address on the PCI bus, or an empty string.
    """

    link: Link | None
    pci_address: str = ""


class _Config(t.NamedTuple):
    """The keys of a configuration that name the device.

    Attributes:
        device_id: The address on a bus that a runtime has chosen, of a capability.
    """

    name: str
    hwaddr: str
    path: str
    pci_address: str
    device_id: str


class HostDevice(InterfacePlugin[_Config]):
    """Moves a device that is found by its name, its MAC, its path in ``/sys`` or its address on a bus."""

    name = "host-device"

    def read(self, request: PluginRequest) -> _Config:
        keys = request.config
        addressing.ipam_type(request)
        pci_address, device_id = _read_device_id(keys, "pciBusID"), _read_device_id(request.runtime_config, "deviceID")
        name, hwaddr, path = keys.link_name("device"), keys.text("hwaddr"), keys.text("kernelpath")
        return _Config(name, hwaddr, path, pci_address, device_id)

    def describe(self, config: _Config, known: Facts) -> t.Iterator[Resource]:
        return interfaces.describe_container(known)

    def require_accepted(self, request: PluginRequest) -> None:
        super().require_accepted(request)
        ipam_config.read_dns(request.config.section("dns"))

    def add(self, request: PluginRequest) -> Result:
        attachment = request.attachment
        dns = ipam_config.read_dns(request.config.section("dns"))
        device = _find_device(self.config_of(request))
        interface: JsonObject = {"name": attachment.ifname, "sandbox": attachment.netns}
        with sandbox.open_sandbox(attachment), Undo() as undo:
            if device.link is not None:
                interface["mac"] = _move_in(request, device.link, undo)
            else:
                interface["pciID"] = device.pci_address
            given = addressing.allocate(request, undo)
            given.place(0)
            if device.link is not None and given.ips:
                sandbox.run_inside(attachment, lambda writer: addressing.configure(writer, given.facts(attachment)))
        keys: JsonObject = {"interfaces": [interface], "ips": given.ips, "routes": given.routes}
        return Result(version.LATEST, {**keys, "dns": dns if given.ips else {}})

    def delete(self, request: PluginRequest) -> None:
        attachment = request.attachment
        claim = DeviceClaim.from_keys(attachment, request.keys, request.prev_result)
        # What is refused, keeps its lease.
        is_there = sandbox.exists(attachment) and claim.find(attachment.netns) is not None
        addressing.run_ipam(request)
        # The container may have replaced it while the IPAM plugin ran.
        device = claim.find(attachment.netns) if is_there else None
        if device is not None:
            _move_out(attachment, device.link.ifindex, device.name)


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
    with netns.open_current() as node:
        sandbox.run_inside(attachment, lambda writer: writer.move(ifindex, node, name=name, alias=""))


def _find_device(config: _Config) -> _Device:
    pci_address, auxiliary = _find_bus_address(config)
    if pci_address:
        path = os.path.join(_PCI_DEVICES, pci_address)
        driver = os.path.basename(os.path.realpath(os.path.join(path, "driver")))
        if driver in _USERSPACE_DRIVERS:
            return _Device(None, pci_address)
    mac = veth_pair.require_mac("/hwaddr", config.hwaddr)
    if config.name:
        link, what = rtnetlink.link(config.name), f"/device: there is no link {config.name}"
    elif mac:
        link = next((each for each in rtnetlink.links() if each.mac == mac), None)
        what = f"/hwaddr: no link has the MAC {mac}"
    elif config.path:
        link, what = _find_by_path("/kernelpath", config.path), "/kernelpath: the device has no link"
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


def _read_device_id(keys: Keys, key: str) -> str:
    text = keys.text(key)
    if text and (not _DEVICE_ID.fullmatch(text) or text in (".", "..")):
        raise refuse(f"{keys.pointer(key)}: {text!r} is not the name of a device")
    return text


def _find_bus_address(config: _Config) -> tuple[str, str]:
    """Return the address on the PCI bus and the name on the auxiliary bus; the capability comes first."""
    device_id = config.device_id
    if not device_id or os.path.exists(os.path.join(_PCI_DEVICES, device_id)):
        return device_id or config.pci_address, ""
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
