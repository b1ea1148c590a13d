# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a suite of tests came to, and how it is told."""

from __future__ import annotations

import dataclasses
import typing as t
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

# Characters of what a failed test said.
_WORDS_LIMIT: t.Final = 400


@dataclasses.dataclass
class Outcome:
    """The count of one suite, and a sentence for everything that did not simply pass."""

    suite: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def check(self, name: str, ok: bool) -> None:
        """Count one check."""
        if ok:
            self.passed += 1
        else:
            self.fail(name)

    def fail(self, note: str) -> None:
        self.failed += 1
        self.notes.append(f"failed: {note}")

    def skip(self, reason: str, count: int = 1) -> None:
        self.skipped += count
        self.notes.append(f"skipped: {reason}" if count == 1 else f"skipped: {reason} ({count} tests)")

    def add(self, other: Outcome) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.notes += other.notes


def from_junit(suite: str, paths: t.Iterable[Path], retell: t.Callable[[str], str] = str) -> Outcome:
    """Count JUnit files; failed tests are told by name and first words, skipped ones by reason.

    A reason retold as "" does not count.
    """
    outcome = Outcome(suite)
    reasons: Counter[str] = Counter()
    for case in (case for path in paths for case in ET.parse(path).getroot().iter("testcase")):
        skipped = case.find("skipped")
        failure = next((found for tag in ("failure", "error") if (found := case.find(tag)) is not None), None)
        if failure is not None:
            outcome.fail(f"{suite}: {case.get('classname')} {case.get('name')}{_first_words(failure)}")
        elif skipped is not None:
            reasons[retell(skipped.get("message") or skipped.text or "no reason given")] += 1
        else:
            outcome.passed += 1
    for reason, count in sorted(reasons.items()):
        if reason:
            outcome.skip(reason, count)
    return outcome


def _first_words(failure: ET.Element) -> str:
    lines = (failure.get("message") or "").splitlines()
    return f": {lines[0][:_WORDS_LIMIT]}" if lines else ""


def print_summary(outcomes: t.Sequence[Outcome]) -> None:
    """A line for each suite with its notes; the last line is the sum, alone."""
    print()
    for one in outcomes:
        print(f"{one.suite:<12} {_verdict(one):<8} {_counts(one)}  [{one.seconds:.0f} s]")
        for note in one.notes:
            print(f"{'':<12} - {note}")
    print()
    print(_counts(_total(outcomes)), flush=True)


def _verdict(outcome: Outcome) -> str:
    if outcome.failed:
        return "FAILED"
    return "passed" if outcome.passed else "skipped"


def _counts(outcome: Outcome) -> str:
    return f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"


def _total(outcomes: t.Sequence[Outcome]) -> Outcome:
    total = Outcome("all")
    for one in outcomes:
        total.add(one)
    return total
