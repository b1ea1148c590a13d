# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of test suites and the summary at the end of a run."""

from __future__ import annotations

import dataclasses
import enum
import typing as t
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

# Characters of the message of a failed test.
_MESSAGE_LIMIT = 400
_SLOWEST = 10


class Verdict(enum.IntEnum):
    """Verdict on one test; of several runs of the same test the highest counts."""

    SKIPPED = 0
    PASSED = 1
    FAILED = 2


@dataclasses.dataclass
class SuiteResult:
    """Verdicts of one suite by test, and notes, for example on failed and skipped tests."""

    suite: str
    verdicts: dict[str, Verdict] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    # Seconds and name of each test that JUnit files have.
    durations: list[tuple[float, str]] = dataclasses.field(default_factory=list)

    @property
    def passed(self) -> int:
        return self._count(Verdict.PASSED)

    @property
    def failed(self) -> int:
        return self._count(Verdict.FAILED)

    @property
    def skipped(self) -> int:
        return self._count(Verdict.SKIPPED)

    @property
    def counts(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def check(self, name: str, ok: bool) -> None:
        """Count one check."""
        if ok:
            self._judge(f"{self.suite}: {name}", Verdict.PASSED)
        else:
            self.fail(name)

    def fail(self, note: str) -> None:
        """Count a failure that the note names."""
        self._judge(f"{self.suite}: {note}", Verdict.FAILED)
        self.notes.append(f"failed: {note}")

    def skip(self, reason: str) -> None:
        """Count one skipped test, with the reason as its note."""
        self._judge(f"{self.suite}: {reason}", Verdict.SKIPPED)
        self.notes.append(f"skipped: {reason}")

    def add(self, other: SuiteResult) -> None:
        """Add the verdicts of another run; a test of both runs counts once, and as failed when either run failed."""
        for test, verdict in other.verdicts.items():
            self._judge(test, verdict)
        self.notes += [note for note in other.notes if note not in self.notes]

    def merge(self, part: SuiteResult) -> None:
        """Add what a part of this suite returned, and the time that it took."""
        self.add(part)
        self.seconds += part.seconds
        self.durations += part.durations

    def _judge(self, test: str, verdict: Verdict) -> None:
        self.verdicts[test] = max(verdict, self.verdicts.get(test, verdict))

    def _count(self, verdict: Verdict) -> int:
        return sum(1 for each in self.verdicts.values() if each is verdict)


def read_junit(
    suite: str, paths: t.Iterable[Path], reword: t.Callable[[str], str] = str, tests: str | None = None
) -> SuiteResult:
    """Read JUnit files; the notes name failed tests with their messages, and the reasons of skipped tests.

    `reword` changes a reason; a test is left out when it returns "". Suites with equal `tests` (by default the suite's
    name) run the same tests in different environments. Cases of a test function are matched by their order, because
    Python may write their parameters in another way.
    """
    result = SuiteResult(suite)
    reasons: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    for case in (case for path in paths for case in ET.parse(path).getroot().iter("testcase")):
        name = f"{case.get('classname')} {case.get('name')}"
        result.durations.append((float(case.get("time", 0)), name))
        function = name.partition("[")[0]
        cases[function] += 1
        verdict, message = _read_case(case)
        if verdict is Verdict.SKIPPED:
            message = reword(message)
            reasons[message] += 1
        elif verdict is Verdict.FAILED:
            result.notes.append(f"failed: {suite}: {name}{message}")
        if verdict is not Verdict.SKIPPED or message:
            result.verdicts[f"{tests or suite}: {function} #{cases[function]}"] = verdict
    result.notes += [_describe_skipped(reason, count) for reason, count in sorted(reasons.items()) if reason]
    return result


def _read_case(case: ET.Element) -> tuple[Verdict, str]:
    """Return the verdict on a test case, with the message of a failed or the reason of a skipped one."""
    for tag in ("failure", "error"):
        failure = case.find(tag)
        if failure is not None:
            lines = (failure.get("message") or "").splitlines()
            return Verdict.FAILED, f": {lines[0][:_MESSAGE_LIMIT]}" if lines else ""
    skipped = case.find("skipped")
    if skipped is not None:
        return Verdict.SKIPPED, skipped.get("message") or skipped.text or "no reason given"
    return Verdict.PASSED, ""


def _describe_skipped(reason: str, count: int) -> str:
    return f"skipped: {reason}" if count == 1 else f"skipped: {reason} ({count} tests)"


def print_summary(results: t.Sequence[SuiteResult], seconds: float) -> None:
    """Print a line for each suite with its notes, and the slowest tests; the last line has the sum of distinct tests.

    Args:
        results: One for each suite.
        seconds: How long all took.
    """
    print()
    for result in results:
        print(f"{result.suite:<12} {_describe_verdict(result):<8} {result.counts}  [{_minutes(result.seconds)}]")
        for note in result.notes:
            print(f"{'':<12} - {note}")
    slowest = sorted((duration for result in results for duration in result.durations), reverse=True)[:_SLOWEST]
    if slowest:
        print(
            f"\n{_minutes(seconds)} in all, {_minutes(sum(result.seconds for result in results))} of suites. The slowest tests:"
        )
    for duration, name in slowest:
        print(f"{duration:>7.1f} s  {name}")
    print()
    print(sum_up(results).counts, flush=True)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


def sum_up(results: t.Iterable[SuiteResult]) -> SuiteResult:
    """Return the verdicts of all suites together; a test that several suites ran counts once."""
    total = SuiteResult("all")
    for result in results:
        total.add(result)
    return total


def _describe_verdict(result: SuiteResult) -> str:
    if result.failed:
        return "FAILED"
    return "passed" if result.passed else "skipped"
