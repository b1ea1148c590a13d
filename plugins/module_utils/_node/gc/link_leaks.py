# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find links of the node whose container is lost."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import ifb, veth
from ansible_collections.cni.node.plugins.module_utils._linux.links.veth import Veth
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import FinderBase, GcRun, Items, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import bridge_name
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import OwnedItem
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state import own_links


class IfbLinkFinder(FinderBase):
    """Finds links to which the plugin bandwidth redirects the traffic of lost containers."""

    scope = Scope.ALL_NETWORKS
    kind = Kind.LINK
    proof = "no link redirects traffic to it"

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        evidence = "no recorded attachment has a link of this name"
        names = filter(firewall_names.is_ifb, sorted(view.link_names))
        return (OwnedItem(name, name, evidence, name, name, _remove_ifb_links, name) for name in names)

    def owned_names(self, owners: Owners) -> set[t.Hashable]:
        # Their names contain only a digest of network and container.
        return {firewall_names.ifb(*record.attachment.key[:2]) for record in owners.records}

    def find(self, items: Items[OwnedItem], owners: Owners) -> t.Iterator[Suspect[OwnedItem]]:
        suspects = list(super().find(items, owners))
        links = ifb.names() if suspects else ()
        return (suspect for suspect in suspects if suspect.leak.subject in links)

    def reason_to_keep(self, suspect: Suspect[OwnedItem], owners: Owners) -> str:
        reason = super().reason_to_keep(suspect, owners)
        return reason or owners.add_in_progress or self._reason_by_traffic(suspect.leak.subject)

    def _reason_by_traffic(self, name: str) -> str:
        return "a link of the node redirects traffic to it" if name in self._targets else ""

    @functools.cached_property
    def _targets(self) -> set[str]:
        """The links to which other links redirect traffic.

        They are listed after the ADDs in progress, so that they include the link of an ADD that has just ended.
        """
        return ifb.targets()


def _remove_ifb_links(names: t.Sequence[str], dummy: NodeView) -> None:
    for name in names:
        ifb.remove(name)


class BridgePort(t.NamedTuple):
    """A port of a bridge.

    Attributes:
        netns: A path to the network namespace of its other end, or an empty string.
        netns_error: The error of a network namespace that may have the other end and cannot be inspected, or None.
    """

    veth: Veth
    netns: str
    netns_error: CniError | None


class BridgePortFinder:
    """Finds ports of the networks' bridges whose other end is unreachable.

    The kernel removes a pair with the network namespace of either end. A namespace without a name and without a process
    may still exist, because of an open file or a copied mount namespace.
    """

    scope = Scope.NODE

    def __init__(self, run: GcRun) -> None:
        self._bridges = _bridges(run.configurations)

    def snapshot(self, view: NodeView) -> Items[str]:
        names = sorted(view.link_names) if self._bridges else ()
        return {name: name for name in names if own_links.HOST_END.fullmatch(name)}

    def find(self, items: Items[str], owners: Owners) -> t.Iterator[Suspect[BridgePort]]:
        owned = {name for record in owners.records for name in record.node_interfaces} if items else set()
        unowned = [name for name in items.values() if name not in owned]
        if not unowned:
            return
        attached = {netns.inode(record.attachment.netns) for record in owners.records} - {0}
        for port in self._ports(unowned):
            # Results of versions before 0.3.0 do not name the node's end. In a dry run, DEL has not removed it either.
            if netns.inode(port.netns) not in attached:
                evidence = f"no runtime has a record of this port of {port.veth.master}"
                proof = "its other end is in no network namespace that has a name or a process"
                leak = Leak(Kind.LINK, "", port.veth.name, evidence, traces=frozenset([port.veth.name]))
                yield Suspect(leak, (port,), proof)

    def reason_to_keep(self, suspect: Suspect[BridgePort], owners: Owners) -> str:
        port = suspect.items[0]
        kept = tuple(network for network in owners.gc_disabled_networks if port.veth.master in _bridges([network]))
        reason = dataclasses.replace(owners, gc_disabled_networks=kept).reason_to_keep("", ())
        if reason or port.netns:
            return reason or f"its other end is in the network namespace {port.netns}"
        where = "its other end may be in a network namespace that cannot be inspected"
        return f"{where}: {port.netns_error}" if port.netns_error else ""

    def remove(self, suspect: Suspect[BridgePort]) -> None:
        for port in suspect.items:
            veth.remove(port.veth)

    def _ports(self, names: t.Collection[str]) -> list[BridgePort]:
        ports = [port for port in veth.veths() if port.master in self._bridges and port.name in names]
        ends = veth.find_veth_ends() if ports else veth.VethEnds({}, {})
        netns_error = next(iter(ends.unreadable.values()), None)
        return [
            BridgePort(port, ends.netns_by_ends.get((port.peer_index, port.ifindex), ""), netns_error) for port in ports
        ]


def _bridges(networks: t.Iterable[NetworkConfiguration]) -> set[str]:
    plugins = [plugin for network in networks for plugin in network.plugins]
    return {bridge_name(plugin.keys) for plugin in plugins if catalogue.find_plugin_type(plugin.type).is_bridge}
