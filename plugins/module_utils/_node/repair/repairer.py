# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Repair what attachments have lost, without running a plugin and without touching what works."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.repair.eligibility import (
    reason_by_interface,
    reason_to_skip,
)
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import (
    Change,
    Repair,
    Resource,
    Target,
)
from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import (
    AttachmentDrift,
    compare,
    compare_again,
)
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView

# Seconds. No plugin runs between two plugins of another runtime's DEL, for as long as a process needs to start.
_BETWEEN_PLUGINS = 0.5

IsAttached = t.Callable[[Record], bool]


class _Item:
    """An attachment that is repaired.

    Attributes:
        reason: Why it is left alone, or an empty string.
        is_busy: Whether the reason is a plugin that is running for its container.
        not_undone: Why a repair of rules or leases could not be undone after a DEL had begun.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.record = target.record
        self.errors: list[CniError] = []
        self.rules_error: CniError | None = None
        self.reason = ""
        self.is_busy = False
        self.not_undone: CniError | None = None


class Repairer:
    """Repairs attachments: compares all of them with the kernel, then writes the difference in a few transactions.

    A DEL may run at the same time, of any runtime. An attachment whose DEL has begun is left alone, and a repair is undone if
    its DEL was found only afterwards. This collection's DEL leaves an intent first. One of another
    runtime shows only while a plugin runs and after its record is gone, so its attachments are looked at once more.
    """

    def __init__(
        self, timeout: float, lock_directory: str, lease_dir: str, is_attached: IsAttached, *, dry_run: bool = False
    ) -> None:
        """
        Args:
            timeout: Seconds to wait for another repair.
            lease_dir: Default of ``dataDir`` of host-local.
            is_attached: Returns whether an attachment still has its record, and no operation on it has begun.
        """
        self._timeout = timeout
        self._lock_path = os.path.join(lock_directory, "repair")
        self._lease_dir = lease_dir
        self._is_attached = is_attached
        self._dry_run = dry_run

    def compare_and_repair(self, records: t.Iterable[tuple[Record, frozenset[Resource]]]) -> list[Repair]:
        """Compare attachments with the kernel, then repair them.

        Args:
            records: The attachments, and what may be repaired of each.
        """
        view = NodeView(self._lease_dir)
        compared = [_compare(record, resources, view) for record, resources in records]
        repaired = iter(self.repair([target for target in compared if isinstance(target, Target)]))
        return [each if isinstance(each, Repair) else next(repaired) for each in compared]

    def repair(self, targets: t.Sequence[Target]) -> list[Repair]:
        """Repair attachments; an error of one is part of its result, such as ``TRY_AGAIN`` if another repair does not end."""
        if self._dry_run or not any(target.changes for target in targets):
            return [_predict(target) for target in targets]
        with contextlib.ExitStack() as stack:
            try:
                lock = hold_lock(
                    self._lock_path, exclusive=True, timeout=self._timeout, what="the repair of attachments"
                )
                stack.enter_context(lock)
            except CniError as exc:
                return [_defer(target, exc) for target in targets]
            now = NodeView(self._lease_dir)  # another repair may have ended
            found = [_compare_again(target, now) for target in targets]
            items = [each if isinstance(each, Repair) else _Item(each) for each in found]
            written = self._write_missing([item for item in items if isinstance(item, _Item) and item.target.changes])
            foreign = [item for item in written if item.target.lost_parts and not item.record.is_own]
            if foreign:
                time.sleep(_BETWEEN_PLUGINS)
                self._undo_repairs(foreign)
            after = NodeView(self._lease_dir)
            return [item if isinstance(item, Repair) else _result(item, after) for item in items]

    def _write_missing(self, items: t.Sequence[_Item]) -> list[_Item]:
        """Write what the attachments lack, and return those on which no operation has begun meanwhile."""
        from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_repair

        busy = _busy_containers()
        for item in items:
            item.reason = _reason_to_leave(item.target)
            if not item.reason:
                self._note_operation(item, busy)
        items = [item for item in items if not item.reason]
        for item in items:
            _repair_interfaces(item)
        lost = {id(part.part): (part.part, item) for item in items for part in item.target.lost_parts}
        for part, error in firewall_repair.write_missing([part for part, dummy in lost.values()]):
            item = lost[id(part)][1]
            item.errors.append(error)
            item.rules_error = error
        return self._undo_repairs(items)

    def _undo_repairs(self, items: t.Sequence[_Item]) -> list[_Item]:
        """Remove rules and leases again if an operation has begun; return the other attachments."""
        from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_repair

        busy = _busy_containers()
        for item in items:
            self._note_operation(item, busy)
        for item in items:
            if item.reason:
                try:
                    firewall_repair.remove_own([part.part for part in item.target.lost_parts])
                    _free_leases(item)
                except Exception as exc:
                    item.not_undone = as_error(exc).within("the repair could not be undone")
        return [item for item in items if not item.reason]

    def _note_operation(self, item: _Item, busy: t.Container[str]) -> None:
        """Note the operation of any runtime, because of which the attachment is left alone."""
        if not self._is_attached(item.record):
            item.reason = "an operation on it has begun"
        elif item.record.attachment.container_id in busy:
            item.reason, item.is_busy = "a plugin is running for its container", True


def _compare(record: Record, resources: frozenset[Resource], view: NodeView) -> Target | Repair:
    """Return an attachment with its drift, or a result if it cannot be compared."""
    reason = reason_to_skip(record)
    if reason:
        return Repair(record, reason=reason)
    try:
        drift = compare(record, view)
    except Exception as exc:
        return Repair(record, error=as_error(exc))
    return Target(record, resources, drift) if drift.rules.is_readable else Repair(record, reason=drift.rules.unlisted)


def _reason_to_leave(target: Target) -> str:
    """Return why nothing of an attachment's drift may be repaired, or an empty string."""
    if not target.drift.messages:
        return ""
    try:
        return reason_to_skip(target.record) or reason_by_interface(target.record)
    except Exception as exc:
        return str(as_error(exc))


def _repair_interfaces(item: _Item) -> None:
    if item.target.differences:
        from ansible_collections.cni.node.plugins.module_utils._reference import interface_repair

        try:
            item.errors += interface_repair.repair(item.record, item.target.differences)
        except Exception as exc:
            item.errors.append(as_error(exc))


def _free_leases(item: _Item) -> None:
    if item.target.differences:
        from ansible_collections.cni.node.plugins.module_utils._reference import interface_repair

        interface_repair.free_leases(item.record, item.target.differences)


def _predict(target: Target) -> Repair:
    """Return the result that a repair of everything would have."""
    reason = _reason_to_leave(target)
    return _leave(target, reason) if reason else _result_of(target, target.predict(), target.changes)


def _leave(target: Target, reason: str) -> Repair:
    """Return the result of an attachment of which nothing is repaired."""
    return _result_of(target, target.drift, ())._replace(reason=reason or target.drift.rules.unlisted)


def _defer(target: Target, error: CniError) -> Repair:
    """Return the result of an attachment that could not be repaired now."""
    result = _predict(target)
    return _leave(target, "")._replace(error=error, is_deferred=True) if result.changes else result


def _result(item: _Item, after: NodeView) -> Repair:
    target = item.target
    if not target.changes:
        return _predict(target)
    if item.reason:
        is_deferred = item.is_busy and not item.record.is_own
        return _leave(target, item.reason)._replace(error=item.not_undone, is_deferred=is_deferred)
    now = _compare_again(target, after)
    if isinstance(now, Repair):
        return now
    changes = tuple(change for change in target.changes if change not in now.changes)
    error = item.errors[0] if item.errors and now.drift.messages else None
    rules_error = item.rules_error if now.lost_parts else None
    return _result_of(target, now.drift, changes)._replace(error=error, rules_error=rules_error)


def _result_of(target: Target, after: AttachmentDrift, changes: tuple[Change, ...]) -> Repair:
    return Repair(
        target.record,
        target.drift.messages,
        after.messages,
        tuple(change.text for change in changes),
        frozenset(change.resource for change in changes),
        target.lacks_library,
        target.drift.rules.unlisted,
        after=after,
    )


def _compare_again(target: Target, view: NodeView) -> Target | Repair:
    """Return an attachment with the drift that it has now, or a result if it cannot be compared any more.

    What is not repaired is not compared again.
    """
    drift = target.drift
    links, rules = bool(target.differences), bool(target.lost_parts)
    try:
        return target._replace(drift=compare_again(target.record, drift, view, links=links, rules=rules))
    except Exception as exc:  # its namespace may be gone by now
        return Repair(target.record, drift.messages, drift.messages, error=as_error(exc))


def _busy_containers() -> set[str]:
    """Return the containers for which a plugin is running ADD or DEL, of any runtime."""
    from ansible_collections.cni.node.plugins.module_utils._linux import process_table

    commands = ({"CNI_COMMAND": command} for command in ("ADD", "DEL"))
    return {name for command in commands for name in process_table.find_values(command, "CNI_CONTAINERID")}
