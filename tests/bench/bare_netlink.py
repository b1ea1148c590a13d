# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A contestant that only sends netlink messages: the links, addresses and routes of bridge, in one loop.

It is the floor of what plugins can reach. It chooses no addresses, writes no files and no firewall rules.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer, link_change, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import MAIN_TABLE

BRIDGE = "cnibare"
GATEWAY = ipaddress.ip_interface("10.3.0.1/16")
ANYWHERE = ipaddress.ip_network("0.0.0.0/0")


@dataclasses.dataclass(frozen=True)
class BareNetlink:
    """The kernel's work for attachments.

    Attributes:
        bridge: The bridge to which they are attached; an empty string for links that end on the node, as those of ptp.
    """

    bridge: str = BRIDGE

    def run(self, command: str, items: t.Sequence[JsonObject]) -> float:
        started = time.monotonic()
        with kernel_writer.connect() as writer:
            _COMMANDS[command](writer, self.bridge, items)
        return time.monotonic() - started


def _add(writer: KernelWriter, bridge: str, items: t.Sequence[JsonObject]) -> None:
    master = _make_bridge(writer, bridge) if bridge else 0
    for number, item in enumerate(items, start=2):
        name, netns = _host_end(item), item["netns"]
        descriptor = os.open(netns, os.O_RDONLY | os.O_CLOEXEC)
        try:
            writer.create_veth(name, item["ifname"], descriptor, master=master)
        finally:
            os.close(descriptor)
        if not bridge:
            host = _link(name)
            writer.add_address(host.ifindex, ipaddress.ip_interface(GATEWAY.ip))
            writer.add_route(
                host.ifindex, ipaddress.ip_network(GATEWAY.ip + number), MAIN_TABLE, replace=False, scope=254
            )
        with kernel_writer.connect(netns) as inside:
            peer = _link(item["ifname"], netns)
            inside.set_up(peer.ifindex)
            inside.add_address(peer.ifindex, ipaddress.ip_interface(f"{GATEWAY.ip + number}/16"))
            inside.add_route(peer.ifindex, ANYWHERE, MAIN_TABLE, replace=False, gateway=GATEWAY.ip)


def _make_bridge(writer: KernelWriter, name: str) -> int:
    writer.ensure_link(name, "bridge")
    bridge = _link(name)
    writer.set_up(bridge.ifindex)
    writer.add_address(bridge.ifindex, GATEWAY)
    return bridge.ifindex


def _check(dummy: KernelWriter, unused: str, items: t.Sequence[JsonObject]) -> None:
    for item in items:
        _link(_host_end(item))
        if not rtnetlink.snapshot(item["netns"]).routes:
            raise RuntimeError(f"no route in {item['netns']}")


def _delete(dummy: KernelWriter, unused: str, items: t.Sequence[JsonObject]) -> None:
    link_change.remove_all([_link(_host_end(item)).ifindex for item in items])


def _link(name: str, path: str = "") -> Link:
    link = rtnetlink.link(name, path)
    if link is None:
        raise RuntimeError(f"no link {name} in {path or 'the node'}")
    return link


def _host_end(item: JsonObject) -> str:
    return f"veth{item['container_id']}"


_COMMANDS = {"ADD": _add, "CHECK": _check, "DEL": _delete}
