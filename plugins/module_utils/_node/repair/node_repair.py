# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Repair all recorded attachments of a node, of every runtime."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY, RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.repair.eligibility import find_rivals
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair, Resource
from ansible_collections.cni.node.plugins.module_utils._node.repair.repairer import Repairer
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows

# The owner of this collection's attachments.
OWN = "cni.node"
_EVERYTHING = frozenset(Resource)
# What another runtime has made is its own, except for rules that a third program has removed.
_OF_OTHERS = frozenset((Resource.RULES,))


class Selection(t.NamedTuple):
    """Which attachments of a node are repaired, and what of them.

    Attributes:
        networks: Names of networks; empty for all.
        owners: `OWN`, and names of runtimes; empty for all.
        resources: What is repaired; None for everything of this collection's attachments and the firewall rules of others.
        held: What is left alone nevertheless.
    """

    networks: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    resources: frozenset[Resource] | None = None
    held: frozenset[tuple[Key, Resource]] = frozenset()

    def without(self, held: t.Iterable[tuple[Key, Resource]]) -> Selection:
        """Return the selection without some resources of some attachments."""
        return self._replace(held=frozenset(held))

    def has(self, record: Record) -> bool:
        """Return whether an attachment is selected. Another runtime's is if any runtime that may have made it is."""
        attachment = record.attachment
        if self.networks and attachment.network not in self.networks:
            return False
        if not self.owners:
            return True
        makers = [OWN] if record.is_own else [runtime.name for runtime in rows.candidates(attachment)]
        return not self.owners.isdisjoint(makers)

    def resources_of(self, record: Record) -> frozenset[Resource]:
        default = _EVERYTHING if record.is_own else _OF_OTHERS
        selected = default if self.resources is None else self.resources
        if not self.held:
            return selected
        return frozenset(resource for resource in selected if (record.attachment.key, resource) not in self.held)


def repair_node(
    paths: NodePaths, cache_dir: str, timeout: float, selection: Selection, *, dry_run: bool
) -> tuple[list[Repair], list[CniError]]:
    """Repair all recorded attachments of a node, of every runtime.

    Args:
        timeout: Seconds to wait for another repair.

    Returns:
        The results, and an error for each record that cannot be read.
    """
    own, intents = RecordStore.of_records(cache_dir), RecordStore.of_intents(cache_dir)
    all_records = AllRecords(own, paths.state_dir)
    records, broken = all_records.read_all()

    def is_attached(record: Record) -> bool:
        key = record.attachment.key
        return all_records.may_have(key) and not intents.may_have(key)

    locks = os.path.join(cache_dir, OWN_DIRECTORY, "locks")
    repairer = Repairer(timeout, locks, paths.lease_dir, is_attached, dry_run=dry_run)
    wanted = [record for record in map(Record.with_netns_of_result, records) if selection.has(record)]
    interrupted = [record for record in wanted if intents.may_have(record.attachment.key)]
    rivals = find_rivals(map(Record.with_netns_of_result, records))
    others = [record for record in wanted if record not in interrupted]
    skipped = [
        Repair(record, reason=rivals[record.attachment.key]) for record in others if record.attachment.key in rivals
    ]
    skipped += [Repair(record, reason="an operation on it was interrupted or is in progress") for record in interrupted]
    targets = [(record, selection.resources_of(record)) for record in others if record.attachment.key not in rivals]
    return [*repairer.compare_and_repair(targets), *skipped], list(broken.values())
