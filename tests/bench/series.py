# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Series of measurements, and their comparison."""

from __future__ import annotations

import dataclasses
import statistics
import typing as t

T = t.TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Series:
    """One value per round. Arithmetic works round by round, so that a slow round cancels out."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __truediv__(self, other: Series) -> Series:
        return Series(tuple(mine / theirs for mine, theirs in zip(self.values, other.values)))

    def __sub__(self, other: Series) -> Series:
        return Series(tuple(mine - theirs for mine, theirs in zip(self.values, other.values)))

    def __mul__(self, factor: float) -> Series:
        return Series(tuple(value * factor for value in self.values))

    def __str__(self) -> str:
        """Return the median, and if there are several values, the lowest and the highest."""
        digits = 0 if self.median >= 100 else 1 if self.median >= 10 else 2
        low, middle, high = (f"{value:.{digits}f}" for value in (min(self.values), self.median, max(self.values)))
        return middle if len(self.values) == 1 else f"{middle} ({low} to {high})"


def interleaved(rounds: int, contestants: t.Mapping[str, t.Callable[[], T]]) -> dict[str, list[T]]:
    """Return each contestant's values; in every round, each contestant has one turn."""
    given: dict[str, list[T]] = {name: [] for name in contestants}
    for dummy in range(rounds):
        for name, contestant in contestants.items():
            given[name].append(contestant())
    return given


def by_key(given: t.Mapping[str, t.Sequence[t.Mapping[str, float]]]) -> dict[str, dict[str, Series]]:
    """Return the series of turns with several values, by contestant and key."""
    return {
        name: {key: Series(tuple(turn[key] for turn in turns)) for key in turns[0]} for name, turns in given.items()
    }
