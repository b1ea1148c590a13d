# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Collect the leaks of several finders, after listing their items a second time."""

from __future__ import annotations

import contextlib
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import as_error
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import Finder, GcRun, Item, Items, NodeSnapshot
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners

ReadAgain = t.Callable[[], tuple[Owners, NodeSnapshot]]
Listed = list[tuple[Finder[t.Any], Items[t.Any]]]
# Makes a function run at its first call only, so that finders share the second look.
call_once: t.Final = functools.lru_cache(maxsize=None)


def collect_leaks(
    finder: Finder[Item],
    items: Items[Item],
    owners: Owners,
    read_again: ReadAgain,
    policy: GcPolicy,
) -> t.Iterator[Leak]:
    """Find items without an owner, list the items again, and collect those that still exist without an owner.

    Args:
        items: Listed before the owners were read, because a later item may belong to an attachment recorded since.
        read_again: Called only if there are suspects.
    """
    if next(finder.find(items, owners), None) is None:
        return
    owners, node = read_again()
    current = finder.snapshot(node)
    for suspect in finder.find({key: current[key] for key in items if key in current}, owners):
        reason = finder.reason_to_keep(suspect, owners)
        suspect.leak.proofs = suspect.proofs(reason)
        suspect.leak.evidence += "" if reason else suspect.proof
        yield policy.collect_unless(reason, suspect.leak, functools.partial(finder.remove, suspect))


def list_items(finders: t.Iterable[Finder[t.Any]], node: NodeSnapshot, run: GcRun) -> Listed:
    """Return finders with their items. A finder whose items cannot be listed is reported and left out."""
    listed: Listed = []
    for finder in finders:
        with report_errors(run.leaks, "", "all networks", "some checks of the whole node did not finish"):
            listed.append((finder, finder.snapshot(node)))
    return listed


def collect_each(
    listed: Listed, owners: Owners, read_again: ReadAgain, run: GcRun, part: t.Callable[[], t.ContextManager[None]]
) -> None:
    """Collect the leaks of each finder. An error of one does not stop the others."""
    for finder, items in listed:
        with part():
            for leak in collect_leaks(finder, items, owners, read_again, run.policy):
                run.leaks.append(leak)  # at once: an error may follow, and the next finding may depend on it


@contextlib.contextmanager
def report_errors(leaks: list[Leak], network: str, subject: str, evidence: str) -> t.Iterator[None]:
    """Turn an exception into an entry of the kind ``network``, unless the list has one with the same subject and error."""
    try:
        yield
    except Exception as exc:
        entry = Leak(Kind.NETWORK, network, subject, evidence).fail(as_error(exc))
        if not any((leak.subject, str(leak.error)) == (entry.subject, str(entry.error)) for leak in leaks):
            leaks.append(entry)


def take_new_snapshot(owners: Owners) -> tuple[Owners, NodeSnapshot]:
    """Return the same owners, which do not change while their network is locked, and a new snapshot."""
    return owners, NodeSnapshot()


__all__ = ("call_once", "collect_each", "collect_leaks", "list_items", "report_errors", "take_new_snapshot")
