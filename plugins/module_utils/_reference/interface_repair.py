# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Repair links, addresses, routes, rules, settings and rates of an attachment in place."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_error
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import traffic_control
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import ExpectedLease, Ifb, Rate
from ansible_collections.cni.node.plugins.module_utils._reference.state.writing import in_order, write_all


def can_write(difference: Difference) -> bool:
    """Return whether a difference needs no library, or the library is there."""
    return not isinstance(difference.resource, (Ifb, Rate)) or traffic_control.is_available()


def repair(record: Record, differences: t.Sequence[Difference]) -> list[CniError]:
    """Write what the kernel lacks, and nothing else; return an error for each difference that could not be written.

    The caller has verified that the network namespace of the record is still the same, and holds the attachment's lock.

    Args:
        differences: The differences that were found a moment ago.
    """
    ordered = in_order(differences)
    inside = [difference for difference in ordered if difference.inside]
    errors = write_all([difference for difference in ordered if not difference.inside])
    if inside:
        path = record.attachment.netns
        try:
            errors += netns.run_inside(path, lambda: write_all(inside))
        except OSError as exc:
            errors.append(io_error("enter", path, exc))
    return errors


def free_leases(record: Record, differences: t.Iterable[Difference]) -> None:
    """Free leases that were written although DEL had begun.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    for lease in (difference.resource for difference in differences if isinstance(difference.resource, ExpectedLease)):
        lease_directory.free(lease.directory, str(lease.address), *record.attachment.key[1:])
