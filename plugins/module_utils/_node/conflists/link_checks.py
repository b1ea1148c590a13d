# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find links and devices that plugins need and the node lacks, and MTUs that do not fit."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import normalize_mac
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import ConfiguredPlugin, all_plugins

_PCI_DEVICES = "/sys/bus/pci/devices"
_SHOWN = 10


def check(planned: PlannedDirectory, view: View, *, tolerate_missing: bool) -> t.Iterator[Finding]:
    """Find links and devices that plugins need but the node lacks, and MTUs above that of the master.

    Args:
        tolerate_missing: Report missing links as tolerated: another task may still create them.
    """
    for network in planned.desired:
        for plugin in all_plugins(network):
            known = catalogue.find_plugin_type(plugin.type)
            if known.has_master and not plugin.keys.get("linkInContainer"):
                yield from _check_master(network, plugin, view, tolerate_missing=tolerate_missing)
            elif known.borrows_device and planned.is_new(network):
                # The device of an existing attachment is inside the container.
                yield from _check_device(network, plugin, view)


def _check_master(
    network: NetworkConfiguration, plugin: ConfiguredPlugin, view: View, *, tolerate_missing: bool
) -> t.Iterator[Finding]:
    if plugin.keys.get("master"):
        yield from _check_named_master(network, plugin, view, tolerate_missing=tolerate_missing)
        yield from _check_mtu(network, plugin, _link(plugin.keys["master"], view))
    # The schema reports a missing master that is required. A chained plugin takes the link of the plugin before it.
    elif not catalogue.find_plugin_type(plugin.type).requires_master and not plugin.place:
        master = view.find_default_link()
        if master is None:
            message = f"{plugin.type} has no master, and the node has no default route to take the link from"
            hint = "set master to a link of the node"
            yield _finding("missing-link", network, plugin, "", message, hint, is_tolerated=tolerate_missing)
        yield from _check_mtu(network, plugin, master)


def _check_mtu(network: NetworkConfiguration, plugin: ConfiguredPlugin, master: Link | None) -> t.Iterator[Finding]:
    mtu = plugin.keys.get("mtu")
    if master and isinstance(mtu, int) and mtu > master.mtu:
        message = f"an MTU of {mtu} bytes exceeds the {master.mtu} bytes of the master {master.name}"
        hint = f"expected: at most {master.mtu}, or 0 to use the master's"
        yield _finding("mtu-above-master", network, plugin, "/mtu", message, hint, mtu)


def _check_named_master(
    network: NetworkConfiguration, plugin: ConfiguredPlugin, view: View, *, tolerate_missing: bool
) -> t.Iterator[Finding]:
    name = plugin.keys["master"]
    if isinstance(name, str) and _link(name, view) is None:
        names = sorted(link.name for link in view.links if link.name != rtnetlink.LOOPBACK and link.name[:4] != "veth")
        hint = f"its links are {', '.join(names[:_SHOWN])}{', ...' if names[_SHOWN:] else ''}" if names else ""
        message = f"the node has no link {name!r}"
        yield _finding("missing-link", network, plugin, "/master", message, hint, name, is_tolerated=tolerate_missing)


def _check_device(network: NetworkConfiguration, plugin: ConfiguredPlugin, view: View) -> t.Iterator[Finding]:
    keys = plugin.keys
    look_ups: dict[str, t.Callable[[str], object]] = {
        "device": lambda name: _link(name, view),
        "hwaddr": lambda mac: any(link.mac == normalize_mac(mac) for link in view.links),
        "kernelpath": os.path.exists,
        "pciBusID": lambda number: os.path.exists(os.path.join(_PCI_DEVICES, number)),
    }
    key = next((key for key in look_ups if isinstance(keys.get(key), str) and keys[key]), None)
    if key and not look_ups[key](keys[key]):
        message = f"the node has no device {keys[key]!r}, or it is inside a container"
        yield _finding("missing-device", network, plugin, f"/{key}", message, "", keys[key])


def _link(name: t.Any, view: View) -> Link | None:
    if not isinstance(name, str):
        return None
    # The kernel also looks for alternative names.
    return next((link for link in view.links if link.name == name), None) or rtnetlink.link(name)


def _finding(
    code: str,
    network: NetworkConfiguration,
    plugin: ConfiguredPlugin,
    path: str,
    message: str,
    hint: str,
    value: t.Any = None,
    *,
    is_tolerated: bool = False,
) -> Finding:
    place = f"{plugin.path}{path}"
    return Finding(code, network.source, place, message, hint, value, plugin.plugin, is_tolerated=is_tolerated)
