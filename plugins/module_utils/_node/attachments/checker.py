# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find drift of an attachment: compare the kernel with its record, then run CHECK."""

from __future__ import annotations

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
    from ansible_collections.cni.node.plugins.module_utils._reference.rule_drift import RuleDrift


class Checker:
    """Finds drift: compares the kernel with an attachment's record, then runs the plugins' CHECK."""

    def __init__(self, runtime: Runtime, policy: Policy) -> None:
        self._runtime = runtime
        self._policy = policy

    def forget_node(self) -> None:
        """Read the node's links and firewall again for the next comparison."""
        for name in ("_rules", "_view"):
            self.__dict__.pop(name, None)

    def kernel_matches(self, record: Record) -> bool:
        """Return whether the kernel has everything that a record lists; False if nothing can be compared.

        Raises:
            CniError: ``LIMITED_CONNECTIVITY`` for drift, or an error that prevents the comparison.
        """
        return self._policy.checks_existing and self._compare(record) is not None

    def check_existing(self, record: Record) -> CheckReport:
        """Check an attachment that existed before this run."""
        source = ""
        try:
            compared = self._compare(record)
            source = "CHECK failed: "
            return self._check(record, compared)
        except CniError as exc:
            return CheckReport(error=exc, reason=f"{source}{exc}")

    def check_new(self, attachment: Attachment, *, rules: bool) -> CheckReport:
        """Check an attachment that this run has just added.

        Args:
            rules: Whether the node's firewall rules are compared as well.

        Raises:
            CniError: Drift, unless the policy only reports it. Recreating the attachment would not help.
        """
        record = self._runtime.records.read(attachment.key)
        if record is None:
            what = f"{attachment}: its record is gone right after ADD"
            raise CniError(Code.INTERNAL, what, "expected: a cache_dir that no other program changes")
        try:
            return self._check(record, self._compare(record, rules=rules))
        except CniError as exc:
            if self._policy.on_drift == OnDrift.REPORT:
                return CheckReport(error=exc)
            advice = (
                "the attachment exists; if the plugin is wrong, turn off CHECK with the option check or disableCheck"
            )
            where = "CHECK fails right after ADD, so recreating the attachment will not help"
            raise exc.within(where).with_detail(advice) from exc

    def _compare(self, record: Record, *, rules: bool = True) -> AttachmentDrift | None:
        """Compare the kernel with a record; return a comparison without faults, or None if there was nothing to compare.

        Raises:
            CniError: As `kernel_matches`.
        """
        # A run that checks no attachment does not load it.
        from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import compare

        drift = compare(record, self._rules if rules else None, self._view)
        if drift and drift.faults:
            where = f"looked for {drift.places(record.attachment.netns)}"
            raise CniError(Code.LIMITED_CONNECTIVITY, "; ".join(drift.faults), where)
        return drift

    @functools.cached_property
    def _rules(self) -> RuleDrift:
        from ansible_collections.cni.node.plugins.module_utils._reference.rule_drift import RuleDrift

        return RuleDrift(self._runtime.records, self._view)

    @functools.cached_property
    def _view(self) -> NodeView:
        from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView

        return NodeView(self._runtime.paths.lease_dir)

    def _check(self, record: Record, compared: AttachmentDrift | None) -> CheckReport:
        if self._policy.check == Check.DRIFT:
            return CheckReport(compared is not None)
        # Only a run that calls plugins needs the list of their quirks.
        from ansible_collections.cni.node.plugins.module_utils._reference.quirks import is_false_alarm

        is_whole = compared is not None and compared.is_whole
        checked = self._runtime.check(record, is_false_alarm, skips_builtin=is_whole)
        return CheckReport(compared is not None or checked.was_run, false_alarms=checked.ignored_errors)
