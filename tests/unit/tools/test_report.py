# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How test results add up, and the last line of a run."""

from __future__ import annotations

import pathlib

import pytest

from tools import report

HEAD = '<testsuites><testsuite name="pytest">'
TAIL = "</testsuite></testsuites>"


def case(name: str, inside: str = "", seconds: float = 0) -> str:
    return f'<testcase classname="tests.unit.test_x" name="{name}" time="{seconds}">{inside}</testcase>'


FAILURE = '<failure message="assert 1 == 2&#10;more">text</failure>'
SKIPPED = '<skipped message="no root">text</skipped>'


def read(tmp_path: pathlib.Path, suite: str, *cases: str, tests: str | None = None) -> report.SuiteResult:
    path = tmp_path / f"{suite}.xml"
    path.write_text(HEAD + "".join(cases) + TAIL, encoding="utf-8")
    return report.read_junit(suite, [path], tests=tests)


def test_a_test_of_several_runs_counts_once(tmp_path: pathlib.Path) -> None:
    unit = read(tmp_path, "unit", case("a"), case("b"))
    other = read(tmp_path, "unit-3.9", case("a"), case("b"), case("c"), tests="unit")
    assert report.sum_up([unit, other]).counts == "3 passed, 0 failed, 0 skipped"


def test_parameters_may_be_written_in_another_way_by_another_python(tmp_path: pathlib.Path) -> None:
    unit = read(tmp_path, "unit", case("a[1-1]"), case("a[2-2]"))
    other = read(tmp_path, "unit-3.9", case("a[1-Code.A]"), case("a[2-Code.B]", FAILURE), tests="unit")
    total = report.sum_up([unit, other])
    assert total.counts == "1 passed, 1 failed, 0 skipped"
    assert total.notes == ["failed: unit-3.9: tests.unit.test_x a[2-Code.B]: assert 1 == 2"]


def test_a_failure_in_any_run_counts_and_is_named(tmp_path: pathlib.Path) -> None:
    unit = read(tmp_path, "unit", case("a"), case("b"))
    other = read(tmp_path, "unit-3.9", case("a", FAILURE), case("b"), tests="unit")
    for results in ([unit, other], [other, unit]):
        total = report.sum_up(results)
        assert total.counts == "1 passed, 1 failed, 0 skipped"
        assert total.notes == ["failed: unit-3.9: tests.unit.test_x a: assert 1 == 2"]


def test_a_test_that_ran_somewhere_is_not_skipped(tmp_path: pathlib.Path) -> None:
    unit = read(tmp_path, "unit", case("a", SKIPPED), case("b", SKIPPED))
    other = read(tmp_path, "unit-3.9", case("a"), case("b", SKIPPED), tests="unit")
    total = report.sum_up([unit, other])
    assert total.counts == "1 passed, 0 failed, 1 skipped"
    assert "skipped: no root (2 tests)" in total.notes


def test_tests_of_two_suites_are_different_tests(tmp_path: pathlib.Path) -> None:
    results = [read(tmp_path, "unit", case("a")), read(tmp_path, "sanity", case("a"))]
    assert report.sum_up(results).counts == "2 passed, 0 failed, 0 skipped"


def test_cases_of_the_same_name_in_one_file_are_different_tests(tmp_path: pathlib.Path) -> None:
    assert read(tmp_path, "unit", case("a"), case("a", FAILURE)).counts == "1 passed, 1 failed, 0 skipped"


def test_an_error_in_a_fixture_is_a_failure(tmp_path: pathlib.Path) -> None:
    assert read(tmp_path, "unit", case("a", '<error message="in setup"/>')).failed == 1


def test_a_reason_that_is_reworded_to_an_empty_string_does_not_count(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text(HEAD + case("a", SKIPPED) + TAIL, encoding="utf-8")
    result = report.read_junit("sanity", [path], lambda reason: "")
    assert (result.counts, result.notes) == ("0 passed, 0 failed, 0 skipped", [])


def test_the_last_line_is_the_sum_of_distinct_tests(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    unit = read(tmp_path, "unit", case("a"), case("b"))
    matrix = report.SuiteResult("pythons")
    matrix.add(read(tmp_path, "unit-3.9", case("a"), case("b", FAILURE), tests="unit"))
    lint = report.SuiteResult("lint")
    lint.check("ruff", True)
    lint.check("style", False)
    report.print_summary([lint, unit, matrix], 90.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "2 passed, 2 failed, 0 skipped"
    assert "pythons      FAILED   1 passed, 1 failed, 0 skipped  [0.0 min]" in lines
    assert f"{'':<12} - failed: unit-3.9: tests.unit.test_x b: assert 1 == 2" in lines


def test_the_summary_names_the_slowest_tests_and_the_minutes_of_each_suite(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = report.SuiteResult("unit")
    for number in range(2):
        part = read(tmp_path, "unit", *(case(f"test_{number}_{seconds}", seconds=seconds) for seconds in range(8)))
        part.seconds = 45.0
        unit.merge(part)
    report.print_summary([unit], 60.0)
    lines = capsys.readouterr().out.splitlines()
    assert "unit         passed   16 passed, 0 failed, 0 skipped  [1.5 min]" in lines
    start = lines.index("1.0 min in all, 1.5 min of suites. The slowest tests:") + 1
    slowest = lines[start : lines.index("", start)]
    assert slowest[0] == "    7.0 s  tests.unit.test_x test_1_7"
    assert [line.split()[0] for line in slowest] == [
        "7.0",
        "7.0",
        "6.0",
        "6.0",
        "5.0",
        "5.0",
        "4.0",
        "4.0",
        "3.0",
        "3.0",
    ]
