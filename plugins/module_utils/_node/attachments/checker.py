# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import AttachmentResult, Policy
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import is_false_alarm

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.firewall_drift import RuleDrift

# What is looked at of an attachment that was there before.
_LOOKS: t.Final = ("always", "drift")
# What could not be found out, or not now, is nothing that making it anew would mend.
_NO_EVIDENCE: t.Final = (Code.INCOMPATIBLE_VERSION, Code.IO_FAILURE, Code.TRY_AGAIN)


class Checker:
    """Finds out whether an attachment is as its record has it: by a look at the kernel, and then by the plugins' CHECK."""

    def __init__(self, runtime: Runtime, policy: Policy) -> None:
        self._runtime = runtime
        self._policy = policy

    def kernel_matches(self, record: Record) -> bool:
        """Return whether something was to be looked at in the kernel; all of it is there.

        Raises:
            CniError: ``LIMITED_CONNECTIVITY`` for what is not; what kept us from looking.
        """
        return self._policy.check in _LOOKS and self._kernel_drift(record)

    def of_existing(self, record: Record, outcome: AttachmentResult) -> None:
        """Examine what was there before; the outcome's reason says why it is to be made anew.

        Raises:
            CniError: It stays as it is, and the item fails.
        """
        if self._policy.check not in _LOOKS:
            return
        who = ""
        try:
            looked = self._kernel_drift(record)
            who = "CHECK failed: "
            self._check(record, outcome, looked)
        except CniError as exc:
            outcome.reason = f"{who}{exc}"
            if self._policy.on_drift == "report":
                outcome.action, outcome.error = "checked", exc
            elif exc.code in _NO_EVIDENCE:
                raise exc.with_detail("it was left as it is, for this does not tell how it is") from exc
            elif self._policy.on_drift == "fail":
                raise

    def of_new(self, outcome: AttachmentResult, *, rules: bool) -> None:
        """Examine what has just been added.

        Args:
            rules: Whether the node's rules are looked at as well.

        Raises:
            CniError: It is not as it should be, and making it anew would not help.
        """
        record = self._runtime.records.read(outcome.attachment.key)
        if record is None:
            what = f"{outcome.attachment}: its record is gone right after ADD"
            raise CniError(Code.INTERNAL, what, "does another runtime share the cache?")
        try:
            self._check(record, outcome, self._kernel_drift(record, rules=rules))
        except CniError as exc:
            if self._policy.on_drift != "report":
                advice = "it is attached; if the plugin is wrong, forbid CHECK by the option check or by disableCheck"
                raise exc.within("CHECK fails right after ADD, so making it anew will not help").with_detail(
                    advice
                ) from exc
            outcome.error = exc

    def _kernel_drift(self, record: Record, *, rules: bool = True) -> bool:
        """Return whether there was something to look at."""
        # This and what comes below is not loaded by a run that finds all as wanted, and looks no closer.
        from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import compare

        found = compare(record, self._rules if rules else None)
        if found and found.faults:
            where = f"looked for {found.places(record.attachment.netns)}"
            raise CniError(Code.LIMITED_CONNECTIVITY, "; ".join(found.faults), where)
        return found is not None

    @functools.cached_property
    def _rules(self) -> RuleDrift:
        from ansible_collections.cni.node.plugins.module_utils._reference.firewall_drift import RuleDrift

        return RuleDrift(self._runtime.records)

    def _check(self, record: Record, outcome: AttachmentResult, looked: bool) -> None:
        asked = False
        if self._policy.check != "drift":
            checked = self._runtime.check(record, is_false_alarm)
            asked, outcome.false_alarms = checked.asked, checked.excused
        if looked or asked:
            outcome.action = "checked"


__all__ = ("Checker",)
