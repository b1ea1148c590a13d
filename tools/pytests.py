# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Suites run by pytest."""

from __future__ import annotations

import os
import random
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.cni.node.tests.uml.main import find_obstacle
from tools import cores, envs, pythons, report, sandbox
from tools.paths import CACHE, REPORTS, REQUIREMENTS, ROOT, Words, run, tool

# firewalld is installed only where the machine serves tests alone; elsewhere its tests skip themselves.
FIREWALLD = ("firewalld",) if os.environ.get("CI") else ()
ENGINE_TESTS = ("tests/integration/engine", "tests/integration/builtin")
MARK = "other_kernel"
UML = ROOT / "tests" / "uml" / "uml"
NEWEST = ROOT / "tests" / "interop" / "newest-plugins"
# Files of the suite `ansible` with what every node needs.
MAIN_JOBS = {
    f"test_{name}.py"
    for name in (
        "artifact",
        "attachments",
        "calls",
        "conflists",
        "gc",
        "kernel",
        "library",
        "netns",
        "node_info",
        "pages",
        "playbooks",
        "plugins",
        "remove",
        "secrets",
        "unsafe_text",
        "validate",
        "verify",
    )
}


def unit(part: int, parts: int) -> report.SuiteResult:
    return _pytest("unit", tool("python"), part, parts, "tests/unit")


def conformance(part: int, parts: int) -> report.SuiteResult:
    return _pytest("conformance", tool("python"), part, parts, "tests/conformance")


def integration(part: int, parts: int) -> report.SuiteResult:
    """Run the engine and the built-in plugins beside real plugins."""
    # The suite `uml` runs the others.
    return _in_sandbox("integration", part, parts, "tests/support", "tests/uml", *ENGINE_TESTS, mark=f"not {MARK}")


def newest(part: int, parts: int) -> report.SuiteResult:
    """Run the tests of the suite `integration` beside the reference plugins of a newer Debian."""
    return _in_sandbox("newest", part, parts, *ENGINE_TESTS, mark=f"not {MARK}", program=NEWEST)


def uml(part: int, parts: int) -> report.SuiteResult:
    """Run the tests of the suite `integration` that need another kernel, in a machine of User Mode Linux."""
    obstacle = find_obstacle()
    if obstacle:
        result = report.SuiteResult("uml")
        result.skip(obstacle)
        return result
    # A fork costs there what the process has in memory: only files that have such tests are collected.
    paths = [path for top in ENGINE_TESTS for path in sorted((ROOT / top).glob("test_*.py"))]
    files = [str(path.relative_to(ROOT)) for path in paths if MARK in path.read_text(encoding="utf-8")]
    return _in_sandbox("uml", part, parts, *files, mark=MARK, program=UML)


def ansible(part: int, parts: int) -> report.SuiteResult:
    """Run modules, roles and playbooks with real plugins, and the artifact on each line of ansible-core."""
    if is_outer() and part == 0:
        cores.prepare()
    paths = _find_tests(("tests/integration/ansible", "tests/integration/fleet"))
    return _in_sandbox(
        "ansible", part, parts, *take_turns(paths, [path for path in paths if Path(path).name in MAIN_JOBS])
    )


def browser(part: int, parts: int) -> report.SuiteResult:
    """Run the tests of pages in Chromium; they skip themselves where it is missing and cannot be installed."""
    return _pytest("browser", tool("python"), part, parts, "tests/browser", prefix=_apart("browser"))


def controller(part: int, parts: int) -> report.SuiteResult:
    """Run the tests of what the collection brings for automation controllers; rulebooks need Java."""
    return _pytest("controller", tool("python"), part, parts, "tests/controller", prefix=_apart("controller"))


def _apart(name: str) -> Words:
    """Return what ends all processes of a suite with it, such as a browser's when the suite is killed; needs root."""
    return [] if sandbox.unavailable(name) else sandbox.APART


def is_outer() -> bool:
    """Return whether tests of the outer ring run as well."""
    return os.environ.get("CNI_RING") == "outer"


def take_turns(names: t.Sequence[str], always: t.Collection[str]) -> list[str]:
    """Return all names in the outer ring; in the inner one, those that are always run and a third of the others.

    CNI_SEED decides which third, so that all parts of a run take the same.
    """
    if is_outer():
        return list(names)
    others = [name for name in names if name not in always]
    chosen = random.Random(os.environ.get("CNI_SEED")).sample(others, len(others) // 3)
    return [name for name in names if name in always or name in chosen]


def with_warm_playbooks() -> Words:
    """Return what makes ansible-playbook start at once in the command that follows: nothing in the outer ring."""
    return [] if is_outer() else [tool("python"), ROOT / "tests" / "support" / "warm_python.py"]


def _in_sandbox(
    name: str, part: int, parts: int, *directories: str, mark: str = "", program: Path = sandbox.PROGRAM
) -> report.SuiteResult:
    """Run tests in what `program` makes, a throw-away sandbox; skip them with a reason if there is none."""
    reason = sandbox.unavailable(name)
    if reason:
        result = report.SuiteResult(name)
        result.skip(reason)
        return result
    return _pytest(name, tool("python"), part, parts, *directories, mark=mark, prefix=[program])


def other_pythons(part: int, parts: int) -> report.SuiteResult:
    """Run tests/unit on another Python in each part, with the newest ansible-core made for it.

    The tests are those of `unit`: the verdicts of all Pythons add up to one for each test.
    """
    version = pythons.list_supported()[part]
    name = pythons.text(version)
    result = report.SuiteResult("pythons")
    if version == pythons.probe(tool("python")):
        return result
    python = pythons.find(version)
    if python is None:
        result.notes.append(f"not run on Python {name}: no interpreter that can make environments")
        return result
    interpreter = envs.ensure(CACHE / "venvs" / f"unit-{name}", python, _pins(version))
    run_result = _pytest(f"unit-{name}", interpreter, 0, 1, "tests/unit", tests="unit")
    result.notes.append(f"Python {name}: {run_result.counts}")
    result.merge(run_result)
    return result


def _pytest(
    name: str,
    python: Path,
    part: int,
    parts: int,
    *arguments: str,
    mark: str = "",
    prefix: Words = (),
    tests: str | None = None,
) -> report.SuiteResult:
    label = f"{name}-{part + 1}"
    report_file = REPORTS / f"{label}.xml"
    report_file.unlink(missing_ok=True)
    # With a shared directory below /tmp, two runs remove the same old directories at their ends, and one of them fails.
    with tempfile.TemporaryDirectory(prefix="cni-", ignore_cleanup_errors=True) as temporary:
        # The sandbox keeps what is written to this directory.
        extra = {"CNI_SANDBOX_OUT": str(REPORTS), "PYTEST_DEBUG_TEMPROOT": temporary}
        options = [f"--junit-xml={report_file}", f"-ocache_dir={CACHE / 'pytest' / label}", "-q"]
        marks = [mark, "" if is_outer() else "not outer"]
        options += ["-m", " and ".join(filter(None, marks))]
        files = _share(arguments, part, parts) if parts > 1 else arguments
        status = run([*prefix, python, "-m", "pytest", *options, *files], env=extra)
    result = report.read_junit(name, [report_file] if report_file.is_file() else [], tests=tests)
    if status != 0 and not result.failed:
        result.fail(f"{label}: pytest ended with status {status} and no failed test; the log is {label}.log")
    return result


def _share(paths: t.Sequence[str], part: int, parts: int) -> list[str]:
    """Return the test files of a part: each gets files of every size, as their time is not known beforehand."""
    files = sorted(_find_tests(paths), key=lambda path: (-(ROOT / path).stat().st_size, path))
    return files[part::parts]


def _find_tests(paths: t.Iterable[str]) -> list[str]:
    """Return the test files among paths and below them, relative to the root directory."""
    tops = [ROOT / path for path in paths]
    found = [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("test_*.py")))]
    return [str(path.relative_to(ROOT)) for path in found]


def _pins(version: pythons.Version) -> Path:
    """Return the pins for this Python, or those of the newest older Python that has pins."""
    older = [supported for supported in pythons.list_supported() if supported <= version]
    pins = [REQUIREMENTS / f"unit-{pythons.text(supported)}.txt" for supported in older]
    return [path for path in pins if path.is_file()][-1]
