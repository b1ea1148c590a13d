# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration


class DesiredAttachment(t.NamedTuple):
    """An attachment and whether there is to be one.

    Attributes:
        problem: What is wrong with how it was asked for.
        restoration: How it is made again after a reboot; None where it is not to be.
    """

    attachment: Attachment
    present: bool = True
    problem: CniError | None = None
    restoration: Restoration | None = None


class Policy(t.NamedTuple):
    """How far to trust what is recorded.

    Attributes:
        check: ``always``, ``drift`` (without running a plugin), ``changed`` (only what this run has made) or ``never``.
        on_drift: What a failed CHECK leads to: ``recreate``, ``fail`` or ``report``.
        dry_run: Run no ADD and no DEL, and say what they would do.
        allow_ports_in_use: Map ports of the node on which a process listens.
    """

    check: str = "always"
    on_drift: str = "recreate"
    dry_run: bool = False
    allow_ports_in_use: bool = False


class AttachmentState(t.NamedTuple):
    """That there is an attachment.

    Attributes:
        restoration: How it is made again after a reboot, by what is recorded; None where it is not to be.
    """

    restoration: Restoration | None = None


@dataclasses.dataclass
class AttachmentResult:
    """What became of one attachment.

    Attributes:
        action: ``added``, ``checked``, ``recreated``, ``removed``, ``unchanged`` or ``failed``.
        reason: Why there was something to do.
        result: The attachment's CNI result.
        false_alarms: Complaints of CHECK that are known to be wrong.
        before, after: What was recorded before, and is now or would be; None where there was no attachment, or is none.
        touched: Whether an ADD was completed or a DEL begun, whatever came of it.
        removed_record: The record of what was in place and has been removed.
        missing_prerequisite: What a dry run misses and another task may be about to make.
        tolerated: Ports in use that are mapped because that is allowed.
        seconds: Time from its start to its end.
    """

    attachment: Attachment
    action: str = "unchanged"
    reason: str = ""
    result: t.Mapping[str, t.Any] | None = None
    error: CniError | None = None
    false_alarms: tuple[CniError, ...] = ()
    missing_prerequisite: CniError | None = None
    tolerated: CniError | None = None
    before: AttachmentState | None = None
    after: AttachmentState | None = None
    touched: bool = False
    removed_record: Record | None = None
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        return self.touched or self.action == "recreated" or self.before != self.after


__all__ = ("AttachmentResult", "AttachmentState", "DesiredAttachment", "Policy")
