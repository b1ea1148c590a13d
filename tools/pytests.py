# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Suites run by pytest."""

from __future__ import annotations

import concurrent.futures
import os
import tempfile
import typing as t
from pathlib import Path

from tools import cores, envs, pythons, report, sandbox
from tools.paths import CACHE, REPORTS, REQUIREMENTS, ROOT, run, tool

ENGINE_TESTS = ("tests/integration/engine", "tests/integration/builtin")
MARK = "other_kernel"
UML = ROOT / "tests" / "uml" / "uml"


def unit() -> report.SuiteResult:
    return _pytest("unit", tool("python"), "tests/unit")


def conformance() -> report.SuiteResult:
    # A Go compiler and libcni's source: tests that need them skip themselves without.
    _install("interop")
    return _pytest("conformance", tool("python"), "tests/conformance")


def integration() -> report.SuiteResult:
    """Run the engine and the built-in plugins beside real plugins."""
    # firewalld is installed only where the machine serves tests alone; elsewhere its tests skip themselves.
    groups = ["interop", *(["firewalld"] if os.environ.get("CI") else [])]
    # The suite `uml` runs the others.
    arguments = ("-m", f"not {MARK}", "tests/support", "tests/uml", *ENGINE_TESTS)
    return _in_sandbox("integration", groups, *arguments)


def uml() -> report.SuiteResult:
    """Run the tests of the suite `integration` that need another kernel, in a machine of User Mode Linux."""
    # A fork costs there what the process has in memory: only files that have such tests are collected.
    files = [
        path
        for top in ENGINE_TESTS
        for path in sorted((ROOT / top).glob("test_*.py"))
        if MARK in path.read_text(encoding="utf-8")
    ]
    arguments = ("-m", MARK, *(str(path.relative_to(ROOT)) for path in files))
    return _in_sandbox("uml", [], *arguments, needed=("node", "uml"), program=UML)


def ansible() -> report.SuiteResult:
    """Run modules, roles and playbooks with real plugins, and the artifact on each line of ansible-core."""
    # Without an SSH server the tests of the fleet skip themselves, and without GnuPG those of signatures.
    groups = ["interop", "fleet", "release"]
    return _in_sandbox("ansible", groups, "tests/integration/ansible", "tests/integration/fleet", prepare=cores.prepare)


def _in_sandbox(
    name: str,
    groups: t.Iterable[str],
    *arguments: str,
    prepare: t.Callable[[], None] | None = None,
    needed: t.Iterable[str] = ("node",),
    program: Path = sandbox.PROGRAM,
) -> report.SuiteResult:
    """Run tests in a throw-away sandbox; skip them with a reason if there is none.

    Args:
        name: The suite.
        groups: Groups of packages without which some tests skip themselves.
        arguments: Those of pytest.
        prepare: What to do before.
        needed: Groups of packages without which no test runs.
        program: What makes the sandbox.
    """
    reason = sandbox.unavailable(name, *needed)
    if reason:
        result = report.SuiteResult(name)
        result.skip(reason)
        return result
    _install(*groups)
    if prepare:
        prepare()
    return _pytest(name, tool("python"), *arguments, prefix=[program])


def browser() -> report.SuiteResult:
    """Run the tests of pages in Chromium; they skip themselves where it is missing and cannot be installed."""
    _install("browser")
    return _pytest("browser", tool("python"), "tests/browser")


def controller() -> report.SuiteResult:
    """Run the tests of what the collection brings for automation controllers; rulebooks need Java."""
    _install("rulebook")
    return _pytest("controller", tool("python"), "tests/controller")


def other_pythons() -> report.SuiteResult:
    """Run tests/unit on every other Python, each with the newest ansible-core made for it.

    The tests are those of `unit`: the verdicts of all Pythons add up to one for each test.
    """
    result = report.SuiteResult("pythons")
    found = {version: pythons.find(version) for version in pythons.list_supported() if version != _own_version()}
    for version in (version for version, python in found.items() if python is None):
        result.notes.append(f"not run on Python {pythons.text(version)}: no interpreter that can make environments")
    interpreters = {
        version: envs.ensure(CACHE / "venvs" / f"unit-{pythons.text(version)}", python, _pins(version))
        for version, python in found.items()
        if python
    }
    # Each run takes one processor.
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for version, run_result in zip(interpreters, pool.map(_run_units, interpreters, interpreters.values())):
            result.notes.append(f"Python {pythons.text(version)}: {run_result.counts}")
            result.add(run_result)
    return result


def _run_units(version: pythons.Version, interpreter: Path) -> report.SuiteResult:
    name = f"unit-{pythons.text(version)}"
    log = REPORTS / f"{name}.log"
    result = _pytest(name, interpreter, "tests/unit", "-q", log=log, tests="unit")
    print(f"===== {name}\n{log.read_text(encoding='utf-8', errors='replace')}", end="", flush=True)
    return result


def _pytest(
    name: str,
    python: Path,
    *arguments: str,
    prefix: t.Sequence[Path] = (),
    log: Path | None = None,
    tests: str | None = None,
) -> report.SuiteResult:
    report_file = REPORTS / f"{name}.xml"
    report_file.parent.mkdir(parents=True, exist_ok=True)
    report_file.unlink(missing_ok=True)
    # With a shared directory below /tmp, two runs remove the same old directories at their ends, and one of them fails.
    with tempfile.TemporaryDirectory(prefix="cni-", ignore_cleanup_errors=True) as temporary:
        # The sandbox keeps what is written to this directory.
        extra = {"CNI_SANDBOX_OUT": str(REPORTS), "PYTEST_DEBUG_TEMPROOT": temporary}
        options = [f"--junit-xml={report_file}", f"-ocache_dir={CACHE / 'pytest' / name}"]
        status = run([*prefix, python, "-m", "pytest", *options, *arguments], env=extra, log=log)
    result = report.read_junit(name, [report_file] if report_file.is_file() else [], tests=tests)
    if status != 0 and not result.failed:
        result.fail(f"{name}: pytest ended with status {status} and no failed test{_last_line(log)}")
    return result


def _last_line(log: Path | None) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log else []
    return next((f": {line}" for line in reversed(lines) if line.strip()), "")


def _install(*groups: str) -> None:
    for group in groups:
        run([ROOT / "tools" / "system-packages", group])


def _own_version() -> pythons.Version | None:
    return pythons.probe(tool("python"))


def _pins(version: pythons.Version) -> Path:
    """Return the pins for this Python, or those of the newest older Python that has pins."""
    older = [supported for supported in pythons.list_supported() if supported <= version]
    pins = [REQUIREMENTS / f"unit-{pythons.text(supported)}.txt" for supported in older]
    return [path for path in pins if path.is_file()][-1]
