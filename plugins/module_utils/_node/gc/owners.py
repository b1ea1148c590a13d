# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The attachments that may own leases, rules, links and files."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_name
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns, process_table
from ansible_collections.cni.node.plugins.module_utils._linux.live_namespaces import NetnsAddresses

# A container ID and the name of an interface.
Names = tuple[str, str]


class ValidAttachments(t.NamedTuple):
    """The attachments that the user lists as valid.

    Attributes:
        keys: None without a list; the node's state then decides.
    """

    keys: frozenset[Key] | None = None

    def has(self, key: Key) -> bool:
        """Return whether an attachment is listed. An entry without a network is for all networks."""
        return self.keys is not None and not {key, ("", *key[1:])}.isdisjoint(self.keys)

    def lacks(self, key: Key) -> bool:
        return self.keys is not None and not self.has(key)

    def names(self, network: str = "") -> set[Names]:
        """Return container ID and interface of the attachments listed for a network, or for all networks."""
        return {key[1:] for key in self.keys or () if not network or key[0] in ("", network)}


@dataclasses.dataclass(frozen=True)
class Owners:
    """The attachments of a network, or of all networks of the node, whichever runtime made them.

    Attributes:
        network: Empty for all networks.
        live: Attachments that remain.
        pending_removal: In a dry run, attachments that a run would have deleted by now, with everything they own.
        broken: Paths of records that cannot be read, so that their resources are unknown.
        records: Records and intents of all these attachments.
        gc_disabled_networks: Configurations with ``disableGC``: their resources may have owners that no runtime records.
        add_in_progress: A reason to keep items without an owner while an ADD is running, or an empty string.
        netns_dir: Directory of the named network namespaces.
    """

    network: str = ""
    live: frozenset[Names] = frozenset()
    pending_removal: frozenset[Names] = frozenset()
    broken: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()
    gc_disabled_networks: tuple[NetworkConfiguration, ...] = ()
    add_in_progress: str = ""
    netns_dir: str = NODE_PATHS.netns_dir

    def has(self, container_id: str, ifname: str = "") -> bool:
        """Return whether a container has a live attachment at an interface, or at any if none is given."""
        return (container_id, ifname) in self.live if ifname else container_id in self._containers

    def is_pending_removal(self, container_id: str, ifname: str = "") -> bool:
        """Return whether a run would have deleted the attachment by now, with everything it owns."""
        if self.has(container_id, ifname):
            return False
        if ifname:
            return (container_id, ifname) in self.pending_removal
        return container_id in {name for name, dummy in self.pending_removal}

    def names(self) -> set[Names]:
        """Return container ID and interface of every attachment, those pending removal included."""
        return {*self.live, *self.pending_removal, *(record.attachment.key[1:] for record in self.records)}

    @functools.cached_property
    def _containers(self) -> set[str]:
        return {container_id for container_id, dummy in self.live}

    def configurations(self) -> list[NetworkConfiguration]:
        """Return the configurations that the attachments were made with, each once."""
        return configurations(self.records)

    def reason_to_keep(self, container_id: str, addresses: t.Iterable[str]) -> str:
        """Return why an item without a record may have an owner after all, or an empty string.

        Args:
            container_id: The container that the item names, or an empty string.
            addresses: The addresses that the item is for.
        """
        if self.broken:
            return f"its owner may be in an unreadable record: {self.broken[0]}"
        if self.gc_disabled_networks:
            name = self.gc_disabled_networks[0].name
            network = "its network" if self.network else f"network {name}, which it may belong to,"
            return f"{network} sets disableGC"
        if is_name(container_id) and netns.is_namespace(os.path.join(self.netns_dir, container_id)):
            return f"there is a network namespace named {container_id}"
        return self._reason_by_address(list(addresses))

    def reason_to_keep_any(self, container_ids: t.Sequence[str], addresses: t.Iterable[str] = ()) -> str:
        """Return the first reason to keep an item of one of these containers, or of an unknown one, or an empty string."""
        reasons = (self.reason_to_keep(container_id, addresses) for container_id in container_ids or ("",))
        return next(filter(None, reasons), "")

    def _reason_by_address(self, addresses: t.Sequence[str]) -> str:
        """Return a clause with the network namespace in which an address is or may be in use, or an empty string."""
        for address in addresses:
            if address in self._live.netns_by_address:
                return f"{address} is in use in the network namespace {self._live.netns_by_address[address]}"
        unreadable = next(iter(self._live.unreadable.values()), None) if addresses else None
        where = "may be in use in a network namespace that cannot be inspected"
        return f"{addresses[0]} {where}: {unreadable}" if unreadable else ""

    @functools.cached_property
    def _live(self) -> NetnsAddresses:
        return live_namespaces.addresses()


def configurations(records: t.Iterable[Record]) -> list[NetworkConfiguration]:
    """Return the configurations that attachments were made with, each once."""
    networks = []
    for record in {record.config: record for record in records}.values():
        with contextlib.suppress(CniError):
            networks.append(record.network())
    return networks


def find_add_in_progress() -> str:
    """Return a reason to keep unowned items while any runtime has an ADD running, or an empty string.

    The kernel does not record the age of links and rules, and a runtime records an attachment only after its last plugin.
    """
    pids = process_table.find_by_environment({"CNI_COMMAND": "ADD"})
    return f"an ADD is in progress in process {pids[0]}" if pids else ""
