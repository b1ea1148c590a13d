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
    REPAIRED,
    Repair,
    Resource,
    Target,
)
from ansible_collections.cni.node.plugins.module_utils._reference import interface_drift
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.recorded_state import (
    UnreadableRules,
    firewall_state,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_drift import (
    PartDrift,
    compare,
    missing_program,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference

# Seconds. No plugin runs between two plugins of another runtime's DEL, for as long as a process needs to start.
_BETWEEN_PLUGINS = 0.5

_BUSY = "a plugin is running for its container"

IsAttached = t.Callable[[Record], bool]


class _Item:
    """An attachment and its drift.

    Attributes:
        reason: Why it is left alone, or an empty string.
        unlisted: Why some of its rules could not be compared, or an empty string.
        not_undone: Why a repair of rules or leases could not be undone after a DEL had begun.
    """

    def __init__(self, target: Target, parts: list[PartDrift], links: LinkDrift | None, unlisted: str = "") -> None:
        self.record = target.record
        self.resources = target.resources
        self.parts = parts
        self.links = links or LinkDrift((), ())
        self.errors: list[CniError] = []
        self.rules_error: CniError | None = None
        self.reason = ""
        self.unlisted = unlisted
        self.not_undone: CniError | None = None

    @property
    def drift(self) -> tuple[str, ...]:
        rules = dict.fromkeys(message for part in self.parts for message in part.messages)
        return (*self.links.messages, *rules)

    @property
    def lost_parts(self) -> list[PartDrift]:
        """The parts of the firewall rules that are repaired."""
        return [part for part in self.parts if part.missing] if Resource.RULES in self.resources else []

    @property
    def differences(self) -> list[Difference]:
        """The differences of the interfaces that are repaired."""
        if Resource.INTERFACES not in self.resources:
            return []
        return [each for each in self.links.differences if each.is_repairable and _can_write(each)]

    @property
    def lacks_library(self) -> bool:
        if Resource.INTERFACES not in self.resources:
            return False
        return any(each.is_repairable and not _can_write(each) for each in self.links.differences)

    @property
    def commands(self) -> tuple[str, ...]:
        """The changes, as results show them."""
        rules = dict.fromkeys(command for part in self.lost_parts for command in part.commands)
        return (*(f"{REPAIRED}{each.message}" for each in self.differences if not each.follows), *rules)


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

    def repair(self, targets: t.Sequence[Target]) -> list[Repair]:
        """Repair attachments; an error of one is part of its result, such as ``TRY_AGAIN`` if another repair does not end."""
        found = _compare_all(targets, NodeView(self._lease_dir))
        if self._dry_run or not any(isinstance(item, _Item) and item.commands for item in found):
            return [item if isinstance(item, Repair) else _predict(item) for item in found]
        with contextlib.ExitStack() as stack:
            try:
                lock = hold_lock(
                    self._lock_path, exclusive=True, timeout=self._timeout, what="the repair of attachments"
                )
                stack.enter_context(lock)
            except CniError as exc:
                return [item if isinstance(item, Repair) else _leave(item, exc) for item in found]
            now = NodeView(self._lease_dir)  # another repair may have ended
            found = [_look_again(item, now) if isinstance(item, _Item) else item for item in found]
            written = self._put_back([item for item in found if isinstance(item, _Item) and item.commands])
            foreign = [item for item in written if item.lost_parts and not item.record.is_own]
            if foreign:
                time.sleep(_BETWEEN_PLUGINS)
                self._undo_repairs(foreign)
            after = NodeView(self._lease_dir)
            return [item if isinstance(item, Repair) else _result(item, after) for item in found]

    def _put_back(self, items: t.Sequence[_Item]) -> list[_Item]:
        """Write what the attachments lack, and return those on which no operation has begun meanwhile."""
        from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_repair

        busy = _busy_containers()
        for item in items:
            item.reason = _reason_by_interface(item) or self._reason_by_operation(item.record, busy)
        items = [item for item in items if not item.reason]
        for item in items:
            _put_back_interfaces(item)
        lost = {id(part.part): (part.part, item) for item in items for part in item.lost_parts}
        for part, error in firewall_repair.put_back([part for part, dummy in lost.values()]):
            item = lost[id(part)][1]
            item.errors.append(error)
            item.rules_error = error
        return self._undo_repairs(items)

    def _undo_repairs(self, items: t.Sequence[_Item]) -> list[_Item]:
        """Remove rules and leases again if an operation has begun; return the other attachments."""
        from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_repair

        busy = _busy_containers()
        for item in items:
            item.reason = self._reason_by_operation(item.record, busy)
        for item in items:
            if item.reason:
                try:
                    firewall_repair.take_back([part.part for part in item.lost_parts])
                    _take_back_leases(item)
                except Exception as exc:
                    item.not_undone = as_error(exc).within("the repair could not be undone")
        return [item for item in items if not item.reason]

    def _reason_by_operation(self, record: Record, busy: t.Container[str]) -> str:
        if not self._is_attached(record):
            return "an operation on it has begun"
        return _BUSY if record.attachment.container_id in busy else ""


def _reason_by_interface(item: _Item) -> str:
    try:
        return reason_by_interface(item.record)
    except Exception as exc:
        item.errors.append(as_error(exc))
        return str(as_error(exc))


def _put_back_interfaces(item: _Item) -> None:
    if item.differences:
        from ansible_collections.cni.node.plugins.module_utils._reference import interface_repair

        try:
            item.errors += interface_repair.repair(item.record, item.differences).errors
        except Exception as exc:
            item.errors.append(as_error(exc))


def _take_back_leases(item: _Item) -> None:
    if item.differences:
        from ansible_collections.cni.node.plugins.module_utils._reference import interface_repair

        interface_repair.take_back_leases(item.record, item.differences)


def _compare_all(targets: t.Iterable[Target], view: NodeView) -> list[_Item | Repair]:
    """Return each attachment with its drift, or a result if it is left alone."""
    return [_compare(target, view) for target in targets]


def _compare(target: Target, view: NodeView) -> _Item | Repair:
    record = target.record
    reason = reason_to_skip(record)
    if reason:
        return Repair(record, reason=reason)
    try:
        network = record.network()
        parts = firewall_state(record, network)
        drifts = [compare(part, view) for part in parts]
        errors = [view.find_error(part) or missing_program(part) for part, drift in zip(parts, drifts) if drift is None]
        unlisted = next((f"its rules cannot be compared: {error}" for error in errors), "")
        links = interface_drift.find_drift(record, network, view)
        return _Item(target, [drift for drift in drifts if drift is not None], links, unlisted)
    except UnreadableRules as exc:
        return Repair(record, reason=f"its rules cannot be compared: {exc}")
    except Exception as exc:
        return Repair(record, error=as_error(exc))


def _can_write(difference: Difference) -> bool:
    # A run that finds no difference does not load it.
    from ansible_collections.cni.node.plugins.module_utils._reference import interface_repair

    return interface_repair.can_write(difference)


def _predict(item: _Item) -> Repair:
    """Return the result that putting everything back would have."""
    if not item.drift:
        return Repair(item.record, reason=item.unlisted)
    reason = _reason_by_interface(item)
    if reason or not item.commands:
        reason = reason or item.unlisted
        return Repair(item.record, item.drift, item.drift, lacks_library=item.lacks_library, reason=reason)
    kept = {message for part in item.parts if part not in item.lost_parts for message in part.messages}
    kept |= {each.message for each in item.links.differences if each not in item.differences}
    left = tuple(message for message in item.drift if message in kept)
    return Repair(item.record, item.drift, left, item.commands, item.lacks_library, item.unlisted)


def _leave(item: _Item, error: CniError) -> Repair:
    """Return the result of an attachment for which nothing was tried; it has an error if something had to be repaired."""
    reason = _reason_by_interface(item) if item.commands else ""
    if not item.commands or reason:
        return Repair(item.record, item.drift, item.drift, (), item.lacks_library, reason or item.unlisted)
    return Repair(item.record, item.drift, item.drift, (), item.lacks_library, item.unlisted, error, is_deferred=True)


def _result(item: _Item, after: NodeView) -> Repair:
    if not item.commands or item.reason:
        reason = item.reason or item.unlisted
        library, is_deferred = item.lacks_library, reason == _BUSY and not item.record.is_own
        return Repair(item.record, item.drift, item.drift, (), library, reason, item.not_undone, is_deferred)
    now = _look_again(item, after)
    if isinstance(now, Repair):
        return now
    changes = tuple(command for command in item.commands if command not in now.commands)
    error = item.errors[0] if item.errors and now.drift else None
    rules_error = item.rules_error if now.lost_parts else None
    result = Repair(item.record, item.drift, now.drift, changes, item.lacks_library, item.unlisted, error)
    return result._replace(rules_error=rules_error)


def _look_again(item: _Item, after: NodeView) -> _Item | Repair:
    """Return an attachment with the drift that remains, or a result if it cannot be compared any more.

    What was not written is not compared again.
    """
    parts, links = item.parts, item.links
    try:
        if item.lost_parts:
            # What cannot be listed any more may still be missing.
            parts = [compare(part.part, after) or part for part in parts]
        if item.differences:
            links = interface_drift.find_drift(item.record, item.record.network(), after) or links
    except Exception as exc:  # its namespace may be gone by now
        return Repair(item.record, item.drift, item.drift, error=as_error(exc))
    return _Item(Target(item.record, item.resources), parts, links, item.unlisted)


def _busy_containers() -> set[str]:
    """Return the containers for which a plugin is running ADD or DEL, of any runtime."""
    from ansible_collections.cni.node.plugins.module_utils._linux import process_table

    commands = ({"CNI_COMMAND": command} for command in ("ADD", "DEL"))
    return {name for command in commands for name in process_table.find_values(command, "CNI_CONTAINERID")}
