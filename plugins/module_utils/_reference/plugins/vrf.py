# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin vrf: it adds the container's interface to a VRF in the container."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import UINT32, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links import route_tables, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import VRF
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import ChainedPlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.versions import list_versions
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources, writing
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.interfaces import has_network, network_route

# RT_SCOPE_UNIVERSE
_UNIVERSE = 0


class VrfPlugin(ChainedPlugin[resources.Vrf]):
    """Creates the VRF if it is missing, and moves the interface and its routes to it."""

    name = "vrf"
    versions = list_versions("vrf")

    def read(self, request: PluginRequest) -> resources.Vrf:
        name, table = request.config.link_name("vrfname"), request.config.integer("table", within=UINT32)
        if not name:
            raise refuse("/vrfname is missing", "expected: the name of the VRF")
        return resources.Vrf(name, table)

    def describe(self, config: resources.Vrf, known: Facts) -> t.Iterator[resources.Resource]:
        yield config
        yield resources.Port(known.attachment.ifname, config.name, inside=True)

    def move_routes(
        self, config: resources.Vrf, known: Facts, routes: t.Sequence[resources.ExpectedRoute]
    ) -> t.Iterator[resources.ExpectedRoute]:
        written = (route for route in routes if route.made_for is None)
        for route in (*written, *(network_route(ip) for ip in known.ips if has_network(ip))):
            yield route._replace(table=route.table or config.table or resources.ANY_TABLE)

    def add(self, request: PluginRequest) -> Result:
        vrf = self.config_of(request)
        result = request.require_prev_result()
        with sandbox.open_sandbox(request.attachment), Undo() as undo:
            undo.add(lambda: self.delete(request))
            ifname = request.attachment.ifname
            sandbox.run_inside(request.attachment, lambda writer: _join(writer, ifname, vrf))
        return result

    def delete(self, request: PluginRequest) -> None:
        name = request.keys.get("vrfname")
        if isinstance(name, str) and sandbox.exists(request.attachment):
            ifname = request.attachment.ifname
            sandbox.run_inside(request.attachment, lambda writer: _leave(writer, ifname, name))


def _join(writer: KernelWriter, ifname: str, expected: resources.Vrf) -> None:
    vrf, link = writing.ensure_vrf(writer, expected), sandbox.require_link(ifname)
    if link.master:
        raise refuse(f"interface {ifname} is a member of another link", "expected: an interface without a master")
    addresses = [each.interface for each in rtnetlink.addresses(link.ifindex)]
    routes = [raw for raw in route_tables.read(link.ifindex) if raw.scope == _UNIVERSE]
    writer.set_master(link.ifindex, vrf.ifindex)
    # The kernel drops addresses of IPv6 and routes when the interface moves.
    present = {each.interface for each in rtnetlink.addresses(link.ifindex)}
    for address in addresses:
        if address not in present and not address.ip.is_link_local:
            writer.add_address(link.ifindex, address)
    route_tables.add_to(routes, vrf.table)


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
