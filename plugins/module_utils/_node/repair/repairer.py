# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Put back what is missing of attachments, without running a plugin and without touching what works."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, as_error
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.repair.eligibility import (
    reason_by_interface,
    reason_to_skip,
)
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair, Resource, Target
from ansible_collections.cni.node.plugins.module_utils._reference.firewall_drift import (
    FirewallSnapshot,
    PartDrift,
    compare,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall import FirewallPart
from ansible_collections.cni.node.plugins.module_utils._reference.state.firewall_state import firewall_state

IsAttached = t.Callable[[Record], bool]


class _Item:
    """An attachment and its drift."""

    def __init__(self, target: Target, parts: list[PartDrift]) -> None:
        self.record = target.record
        self.resources = target.resources
        self.parts = parts
        self.errors: list[CniError] = []
        self.reason = ""

    @property
    def drift(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(message for part in self.parts for message in part.messages))

    @property
    def is_repairable(self) -> bool:
        return not self.reason and Resource.RULES in self.resources and bool(self.drift)

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(command for part in self.parts for command in part.commands))


class Repairer:
    """Repairs attachments: compares all of them with the kernel, then writes the difference in a few transactions.

    A DEL may run at the same time, of any runtime. An attachment whose DEL has begun is left alone, and what was put back
    is taken away again if its DEL was found only afterwards.
    """

    def __init__(self, timeout: float, lock_directory: str, is_attached: IsAttached, *, dry_run: bool = False) -> None:
        """
        Args:
            timeout: Seconds to wait for another repair.
            is_attached: Returns whether an attachment still has its record, and no operation on it has begun.
        """
        self._timeout = timeout
        self._lock_path = os.path.join(lock_directory, "repair")
        self._is_attached = is_attached
        self._dry_run = dry_run

    def repair(self, targets: t.Sequence[Target]) -> list[Repair]:
        """Repair attachments; an error of one is part of its result.

        Raises:
            CniError: ``TRY_AGAIN`` if another repair does not end.
        """
        found = self._compare(targets)
        if self._dry_run or not any(isinstance(item, _Item) and item.drift for item in found):
            return [item if isinstance(item, Repair) else _predict(item) for item in found]
        with hold_lock(self._lock_path, exclusive=True, timeout=self._timeout, what="the repair of attachments"):
            found = self._compare(targets)  # another repair may have ended
            items = [item for item in found if isinstance(item, _Item)]
            self._put_back([item for item in items if item.is_repairable])
            after = FirewallSnapshot()
            return [item if isinstance(item, Repair) else _result(item, after) for item in found]

    def _compare(self, targets: t.Sequence[Target]) -> list[_Item | Repair]:
        snapshot = FirewallSnapshot()
        return [_compare(target, snapshot) for target in targets]

    def _put_back(self, items: t.Sequence[_Item]) -> None:
        busy = _busy_containers()
        for item in items:
            item.reason = reason_by_interface(item.record) or self._reason_by_operation(item.record, busy)
        items = [item for item in items if not item.reason]
        owners = {id(part.part): item for item in items for part in item.parts}
        from ansible_collections.cni.node.plugins.module_utils._reference import firewall_repair

        for part, error in firewall_repair.put_back(
            [part.part for item in items for part in item.parts if part.missing]
        ):
            owners[id(part)].errors.append(error)
        busy = _busy_containers()
        for item in items:
            item.reason = self._reason_by_operation(item.record, busy)
        gone = [part.part for item in items if item.reason for part in item.parts]
        if gone:
            with contextlib.suppress(CniError):  # then gc finds the leak
                firewall_repair.take_back(gone)

    def _reason_by_operation(self, record: Record, busy: t.Container[str]) -> str:
        if not self._is_attached(record):
            return "an operation on it has begun"
        return "a plugin is running for its container" if record.attachment.container_id in busy else ""


def _compare(target: Target, snapshot: FirewallSnapshot) -> _Item | Repair:
    """Return an attachment with its drift, or a result if it is left alone."""
    record = target.record
    reason = reason_to_skip(record)
    if reason:
        return Repair(record, reason=reason)
    try:
        parts = _parts(record)
    except Exception as exc:
        return Repair(record, error=as_error(exc))
    found = (compare(part, snapshot) for part in parts)
    return _Item(target, [drift for drift in found if drift is not None])


def _parts(record: Record) -> list[FirewallPart]:
    return firewall_state(record, record.network())


def _predict(item: _Item) -> Repair:
    """Return the result that putting everything back would have."""
    if not item.drift:
        return Repair(item.record)
    reason = reason_by_interface(item.record)
    if reason or not item.is_repairable:
        return Repair(item.record, item.drift, item.drift, reason=reason)
    return Repair(item.record, item.drift, (), item.commands)


def _result(item: _Item, after: FirewallSnapshot) -> Repair:
    if not item.drift or not item.is_repairable:
        return Repair(item.record, item.drift, item.drift, reason=item.reason)
    found = [compare(part.part, after) for part in item.parts]
    left = tuple(dict.fromkeys(message for part in found if part for message in part.messages))
    missing = {command for part in found if part for command in part.commands}
    changes = tuple(command for command in item.commands if command not in missing)
    error = item.errors[0] if item.errors else None
    return Repair(item.record, item.drift, left, changes, error=error if left else None)


def _busy_containers() -> set[str]:
    """Return the containers for which a plugin is running ADD or DEL, of any runtime."""
    from ansible_collections.cni.node.plugins.module_utils._linux import process_table

    commands = ({"CNI_COMMAND": command} for command in ("ADD", "DEL"))
    return {name for command in commands for name in process_table.find_values(command, "CNI_CONTAINERID")}


__all__ = ("IsAttached", "Repairer")
