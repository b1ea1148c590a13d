# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin vrf: it adds the container's interface to a VRF in the container."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import UINT32, refuse, refuse_faults
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import kernel_writer, route_tables, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import VRF, Link
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.versions import list_versions
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import ContainerComparison

# RT_SCOPE_UNIVERSE
_UNIVERSE: t.Final = 0


class Vrf(Plugin):
    """Creates the VRF if it is missing, and moves the interface and its routes to it."""

    name = "vrf"
    versions = list_versions("vrf")

    def add(self, request: PluginRequest) -> Result:
        name, table = _read_config(request)
        result = request.require_prev_result()
        with sandbox.open_sandbox(request.attachment), Undo() as undo:
            undo.add(lambda: self.delete(request))
            ifname = request.attachment.ifname
            sandbox.run_inside(request.attachment, lambda writer: _join(writer, ifname, name, table))
        return result

    def check(self, request: PluginRequest) -> None:
        name, table = _read_config(request)
        request.require_prev_result()
        state = (resources.Vrf(name, table), resources.Port(request.attachment.ifname, name, inside=True))
        with sandbox.open_sandbox(request.attachment):
            view = rtnetlink.snapshot(request.attachment.netns, routes=False)
        wrong = [difference.message for difference in ContainerComparison(state, view, {}).find()]
        refuse_faults(wrong)

    def delete(self, request: PluginRequest) -> None:
        name = request.keys.get("vrfname")
        if isinstance(name, str) and sandbox.exists(request.attachment):
            ifname = request.attachment.ifname
            sandbox.run_inside(request.attachment, lambda writer: _leave(writer, ifname, name))


def _read_config(request: PluginRequest) -> tuple[str, int]:
    """Return the name of the VRF and its table, 0 for one that is chosen."""
    name, table = request.config.link_name("vrfname"), request.config.integer("table", within=UINT32)
    if not name:
        raise refuse("/vrfname is missing", "expected: the name of the VRF")
    return name, table


def _join(writer: KernelWriter, ifname: str, name: str, table: int) -> None:
    vrf, link = _ensure_vrf(writer, name, table), sandbox.require_link(ifname)
    if link.master:
        raise refuse(f"interface {ifname} belongs to another link already")
    addresses = [each.interface for each in rtnetlink.addresses(link.ifindex)]
    routes = [raw for raw in route_tables.read(link.ifindex) if raw.scope == _UNIVERSE]
    writer.set_master(link.ifindex, vrf.ifindex)
    # The kernel drops addresses of IPv6 and routes when the interface moves.
    present = {each.interface for each in rtnetlink.addresses(link.ifindex)}
    for address in addresses:
        if address not in present and not address.ip.is_link_local:
            writer.add_address(link.ifindex, address)
    route_tables.add_to(routes, vrf.table)


def _ensure_vrf(writer: KernelWriter, name: str, table: int) -> Link:
    links = rtnetlink.links()
    link = next((each for each in links if each.name == name), None)
    if link is None:
        taken = {each.table for each in links if each.kind == VRF}
        table = table or next(number for number in range(1, 2**31) if number not in taken)
        writer.ensure_link(name, VRF, kernel_writer.vrf_data(table))
        link = sandbox.require_link(name)
        writer.set_up(link.ifindex)
    if link.kind != VRF or table not in (0, link.table):
        problem = "is no VRF" if link.kind != VRF else f"is a VRF with table {link.table}, not {table}"
        raise refuse(f"the link {name} of the container {problem}", "set another vrfname, or the same table")
    return link


def _leave(writer: KernelWriter, ifname: str, name: str) -> None:
    """Take the interface out of the VRF, and remove the VRF if it is empty by then."""
    links = rtnetlink.links()
    vrf = next((each for each in links if each.name == name and each.kind == VRF), None)
    if vrf is None:
        return
    members = [each for each in links if each.master == vrf.ifindex]
    for member in members:
        if member.name == ifname:
            writer.set_master(member.ifindex, 0)
    if all(member.name == ifname for member in members):
        writer.remove_link(vrf.ifindex)


__all__ = ("Vrf",)
