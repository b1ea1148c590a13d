# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decide when attachments are compared: after a change has settled, within a budget, and later after failures."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.watch.back_off import BackOff

# Seconds without a further change after which a change has settled, and seconds after which it counts as settled anyway.
_QUIET, _LONGEST_SETTLING = 0.3, 1.0
# Comparisons that find nothing may take so many seconds of processor time at once, or as much as so many of them took, before
# the next one waits until they have taken this share of a processor; but no loss waits for longer than so many seconds.
_BUDGET, _COMPARISONS, _SHARE, _LONGEST_WAIT = 0.8, 3, 0.05, 10.0
# Seconds until a failed repair is tried again; they double each time.
_FIRST_RETRY, _LONGEST_RETRY = 1.0, 600.0


class Schedule:
    """Times are seconds of a monotonic clock."""

    def __init__(self, back_off: BackOff[t.Any], now: float) -> None:
        self._back_off = back_off
        self._first: float | None = None
        self._last = 0.0
        self._budget, self._spent, self._spent_time = _BUDGET, 0.0, now
        self._retry: float | None = None
        self._retry_delay = 0.0

    def note_change(self, now: float) -> None:
        """Note that attachments may have lost something."""
        self._first = now if self._first is None else self._first
        self._last = now

    def due(self) -> float | None:
        """Return when to compare next; None to wait for the next change."""
        times = [self._retry, self._back_off.next_release()]
        if self._first is not None:
            settled = min(self._last + _QUIET, self._first + _LONGEST_SETTLING)
            times.append(max(settled, self._within_budget()))
        return min((time for time in times if time is not None), default=None)

    def start(self, now: float) -> None:
        """Note that a comparison starts. What need not be left alone any more is part of it."""
        self._back_off.release(now)
        self.begin()

    def begin(self) -> None:
        """Note that all attachments are being compared, so that no earlier change counts any more."""
        self._first = None
        self._retry = None

    def end(self, now: float, cost: float, *, has_repaired: bool, has_failed: bool) -> None:
        """Note the end of a comparison.

        Args:
            cost: Seconds of processor time.
        """
        if has_repaired:
            # What this program has written has caused notifications, among which may be those about others' changes.
            self.note_change(now)
        else:
            self._budget = max(_BUDGET, _COMPARISONS * cost)
            spent = max(0.0, self._spent - (now - self._spent_time) * _SHARE) + cost
            self._spent = min(spent, self._budget + _LONGEST_WAIT * _SHARE)
            self._spent_time = now
        self._retry_delay = min(max(_FIRST_RETRY, 2 * self._retry_delay), _LONGEST_RETRY) if has_failed else 0.0
        self._retry = now + self._retry_delay if has_failed else None

    def _within_budget(self) -> float:
        """Return from when on the budget allows a comparison."""
        return self._spent_time + max(0.0, self._spent - self._budget) / _SHARE
