# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find drift of an attachment: compare the kernel with its record, then run CHECK."""

from __future__ import annotations

import contextlib
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.decision import CheckReport
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Check, OnDrift, Policy

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import AttachmentDrift
    from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView


class Checker:
    """Finds drift: compares the kernel with an attachment's record, then runs the plugins' CHECK."""

    def __init__(self, runtime: Runtime, policy: Policy) -> None:
        self._runtime = runtime
        self._policy = policy

    def forget_node(self) -> None:
        """Read the node's links and firewall again for the next comparison."""
        self.__dict__.pop("_view", None)

    def compare(self, record: Record, *, rules: bool = True) -> AttachmentDrift:
        """Compare the kernel with an attachment's record.

        Args:
            rules: Whether the node's firewall rules are compared as well.

        Raises:
            CniError: The kernel cannot be read, or the record cannot be used.
        """
        # A run that checks no attachment does not load it.
        from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import compare

        return compare(record, self._view, self._runtime.records, rules=rules)

    def check_existing(self, record: Record, drift: AttachmentDrift) -> CheckReport:
        """Check an attachment that existed before this run, and was compared with the kernel."""
        error = drift.error(record.attachment.netns)
        if error is not None:
            return CheckReport(error=error, reason=str(error))
        try:
            return self._check(record, drift)
        except CniError as exc:
            return CheckReport(error=exc, reason=f"CHECK failed: {exc}")

    def check_new(self, attachment: Attachment, *, rules: bool) -> CheckReport:
        """Check an attachment that this run has just added.

        Args:
            rules: As for `compare`.

        Raises:
            CniError: Drift, unless the policy only reports it. Recreating the attachment would not help.
        """
        record = self._runtime.records.read(attachment.key)
        if record is None:
            what = f"{attachment}: its record is gone right after ADD"
            raise CniError(Code.INTERNAL, what, "expected: a cache_dir that no other program changes")
        try:
            drift = self.compare(record, rules=rules)
            error = drift.error(attachment.netns)
            if error is not None:
                raise error
            return self._check(record, drift)
        except CniError as exc:
            # Without it, the next run would recreate the attachment, and fail in the same way.
            with contextlib.suppress(CniError):
                self._runtime.records.write(record._replace(failed_check=exc.msg))
            if self._policy.on_drift == OnDrift.REPORT:
                return CheckReport(error=exc)
            advice = (
                "the attachment exists; if the plugin is wrong, turn off CHECK with the option check or disableCheck"
            )
            where = "CHECK fails right after ADD, so recreating the attachment will not help"
            raise exc.within(where).with_detail(advice) from exc

    @functools.cached_property
    def _view(self) -> NodeView:
        from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView

        return NodeView(self._runtime.paths.lease_dir)

    def _check(self, record: Record, drift: AttachmentDrift) -> CheckReport:
        """Run CHECK of the plugins, unless the comparison is enough."""
        if self._policy.check == Check.DRIFT:
            return CheckReport(drift.is_compared)
        # Only a run that calls plugins needs the list of their quirks.
        from ansible_collections.cni.node.plugins.module_utils._reference.quirks import is_false_alarm

        checked = self._runtime.check(record, is_false_alarm, skips_builtin=drift.is_whole)
        return CheckReport(drift.is_compared or checked.was_run, false_alarms=checked.ignored_errors)
