# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin loopback: it sets the loopback interface of a container up."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import NO_MAC
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import LOOPBACK
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import ChainedPlugin
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts, Interface
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    ExpectedAddress,
    ExpectedLink,
    Resource,
)


class Loopback(ChainedPlugin[None]):
    """Sets ``lo`` up, and down again."""

    name = "loopback"

    def read(self, request: PluginRequest) -> None:
        """There is nothing to configure."""

    def describe(self, config: None, known: Facts) -> t.Iterator[Resource]:
        made = [each for each in known.interfaces if each.name == LOOPBACK] or [Interface(LOOPBACK, "", 0)]
        yield from (ExpectedLink(LOOPBACK, inside=True, mac=each.mac, mtu=each.mtu, is_up=True) for each in made)
        yield from (ExpectedAddress(LOOPBACK, ip.interface, inside=True) for ip in known.ips if ip.link == LOOPBACK)

    def add(self, request: PluginRequest) -> Result:
        with sandbox.open_sandbox(request.attachment):
            ips = sandbox.run_inside(request.attachment, _set_up)
        if request.prev_result is not None:
            return request.prev_result
        interface = {"name": LOOPBACK, "mac": NO_MAC, "sandbox": request.attachment.netns}
        return Result(version.LATEST, {"interfaces": [interface], "ips": ips})

    def check(self, request: PluginRequest) -> None:
        with sandbox.open_sandbox(request.attachment):
            link = rtnetlink.link(LOOPBACK, request.attachment.netns)
        if link is None or not link.is_up:
            raise refuse(f"interface {LOOPBACK} is down")

    def delete(self, request: PluginRequest) -> None:
        if sandbox.exists(request.attachment):
            sandbox.run_inside(
                request.attachment, lambda writer: writer.set_down(sandbox.require_link(LOOPBACK).ifindex)
            )


def _set_up(writer: KernelWriter) -> list[JsonObject]:
    """Set the interface up and return the first address of each family as it stands in a result."""
    link = sandbox.require_link(LOOPBACK)
    writer.set_up(link.ifindex)
    interfaces = [address.interface for address in rtnetlink.addresses(link.ifindex)]
    foreign = next((each for each in interfaces if not each.ip.is_loopback), None)
    if foreign is not None:
        raise refuse(f"interface {LOOPBACK} has the address {foreign}, which is not a loopback address")
    firsts = {each.version: each for each in reversed(interfaces)}
    return [{"interface": 0, "address": str(firsts[family])} for family in sorted(firsts)]
