# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The types of the room: desired attachments, policies, states and results."""

from __future__ import annotations

import enum
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
    from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
    from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
    from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration


class Check(str, enum.Enum):
    """The option ``check``: which attachments are checked, and how."""

    ALWAYS = "always"
    DRIFT = "drift"
    CHANGED = "changed"
    NEVER = "never"


class OnDrift(str, enum.Enum):
    """The option ``on_drift``: the reaction to drift."""

    REPAIR = "repair"
    RECREATE = "recreate"
    FAIL = "fail"
    REPORT = "report"


class Action(str, enum.Enum):
    """The change that a run made to an attachment, as results name it."""

    ADDED = "added"
    CHECKED = "checked"
    RECREATED = "recreated"
    REPAIRED = "repaired"
    REMOVED = "removed"
    UNCHANGED = "unchanged"
    FAILED = "failed"


class DesiredAttachment(t.NamedTuple):
    """An attachment that a task lists, with what its ADD requires on the node.

    Attributes:
        present: Whether the attachment should exist.
        problem: An error of the request itself, independent of the record.
        restoration: How the attachment is restored at boot; None if it is not.
        network: The network's current configuration; None until it is looked up, and if something is missing.
        missing: An error that another task may still resolve: the network's file or the network namespace is missing.
    """

    attachment: Attachment
    present: bool = True
    problem: CniError | None = None
    restoration: Restoration | None = None
    network: NetworkConfiguration | None = None
    missing: CniError | None = None


class Policy(t.NamedTuple):
    """The checks of a run, its reaction to drift, and what it may change.

    Attributes:
        dry_run: Predict changes instead of making them (check mode).
        allow_ports_in_use: Map host ports even if a process listens on them.
        planned_netns: Paths of network namespaces that an earlier task would create in a dry run.
    """

    check: Check = Check.ALWAYS
    on_drift: OnDrift = OnDrift.REPAIR
    dry_run: bool = False
    allow_ports_in_use: bool = False
    planned_netns: frozenset[str] = frozenset()

    @property
    def repairs(self) -> bool:
        """Return whether drift of existing attachments is repaired in place."""
        return self.checks_existing and self.on_drift == OnDrift.REPAIR

    @property
    def checks_existing(self) -> bool:
        """Return whether attachments that existed before this run are checked."""
        return self.check in (Check.ALWAYS, Check.DRIFT)


class AttachmentState(t.NamedTuple):
    """State of an existing attachment.

    Attributes:
        restoration: How the attachment is restored at boot, as recorded; None if it is not.
    """

    restoration: Restoration | None = None


class AttachmentResult(t.NamedTuple):
    """Result of one attachment.

    Attributes:
        reason: Why the action was required.
        result: The attachment's CNI result.
        false_alarms: Errors of CHECK that are known to be wrong.
        missing_prerequisite: In check mode, an error that another task may still resolve.
        tolerated: An error about ports in use that the policy allows to map.
        before, after: The attachment before the run and after it, or as predicted; None if there is no attachment.
        touched: Whether an ADD was completed or a DEL begun, even if the item failed later.
        repairs: What was repaired in place, as commands.
        lacks_library: Whether something of it could be repaired if pyroute2 were installed.
        interrupted: The record of a complete attachment, in an existing network namespace, that is recreated or removed.
        seconds: Time spent on this attachment.
    """

    attachment: Attachment
    action: Action = Action.UNCHANGED
    reason: str = ""
    result: t.Mapping[str, t.Any] | None = None
    error: CniError | None = None
    false_alarms: tuple[CniError, ...] = ()
    missing_prerequisite: CniError | None = None
    tolerated: CniError | None = None
    before: AttachmentState | None = None
    after: AttachmentState | None = None
    touched: bool = False
    repairs: tuple[str, ...] = ()
    lacks_library: bool = False
    interrupted: Record | None = None
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        return bool(self.touched or self.repairs) or self.action is Action.RECREATED or self.before != self.after

    @property
    def removed_record(self) -> Record | None:
        """The record of a complete attachment that was removed."""
        return self.interrupted if self.action is Action.REMOVED else None
