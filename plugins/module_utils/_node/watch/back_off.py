# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Repair less and less often what is removed again and again."""

from __future__ import annotations

import typing as t

# What is repaired so many times within so many seconds is left alone for a while.
_TIMES, _WITHIN = 3, 60.0
# Seconds; they double each time.
_LONGEST_DELAY = 600.0

T = t.TypeVar("T", bound=t.Hashable)


class _History:
    """When something was repaired.

    Attributes:
        times: Of the last repairs.
        delay: For how long it is left alone; 0 as long as it is not.
        until: When that ends.
        is_released: Whether it has ended, and a comparison has begun since.
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.delay = 0.0
        self.until = 0.0
        self.is_released = True

    def is_calm(self, now: float) -> bool:
        """Return whether it has not been removed again for so long that nothing needs to be remembered."""
        return now >= max([self.until, *self.times]) + max(_WITHIN, self.delay)


class BackOff(t.Generic[T]):
    """Resources that are repaired again and again. Times are seconds of a monotonic clock.

    Attributes:
        FIRST_DELAY: Seconds for which it is left alone first.
    """

    FIRST_DELAY = 10.0

    def __init__(self) -> None:
        self._histories: dict[T, _History] = {}

    def note_repair(self, item: T, now: float) -> float:
        """Note a repair, and return for how many seconds the item is left alone from now on; 0 if it is not."""
        for calm in [each for each, history in self._histories.items() if history.is_calm(now)]:
            del self._histories[calm]
        history = self._histories.setdefault(item, _History())
        history.times = [*(time for time in history.times if now - time < _WITHIN), now][-_TIMES:]
        if history.delay or len(history.times) == _TIMES:
            history.delay = min(max(self.FIRST_DELAY, 2 * history.delay), _LONGEST_DELAY)
            history.until = now + history.delay
            history.is_released = False
        return history.delay

    def list_held(self) -> list[T]:
        """Return what is left alone."""
        return [item for item, history in self._histories.items() if not history.is_released]

    def next_release(self) -> float | None:
        """Return when something is no longer left alone; None if nothing is."""
        return min((each.until for each in self._histories.values() if not each.is_released), default=None)

    def release(self, now: float) -> None:
        """Note that a comparison begins, which covers what need not be left alone any more."""
        for history in self._histories.values():
            history.is_released = history.is_released or history.until <= now
