# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The suites that pytest runs: unit, conformance, integration, and unit again on every Python at hand."""

from __future__ import annotations

import concurrent.futures
import os
import tempfile
import typing as t
from pathlib import Path

from tools import envs, pythons, report, sandbox
from tools.paths import CACHE, REPORTS, REQUIREMENTS, ROOT, run, tool


def unit() -> report.Outcome:
    return _pytest("unit", tool("python"), "tests/unit")


def conformance() -> report.Outcome:
    _fetch_libcni()
    return _pytest("conformance", tool("python"), "tests/conformance")


def integration() -> report.Outcome:
    """The real plugins, and what the tests stand on, in a throw-away sandbox; else the reason why not."""
    reason = sandbox.unavailable("integration", "node")
    if reason:
        outcome = report.Outcome("integration")
        outcome.skip(reason)
        return outcome
    _fetch_libcni()
    # The fleet's tests say so themselves where there is no SSH server.
    run([ROOT / "tools" / "system-packages", "fleet"])
    return _pytest("integration", tool("python"), "tests/support", "tests/integration", prefix=[sandbox.PROGRAM])


def units_all() -> report.Outcome:
    """tests/unit on every other Python, each with the newest ansible-core made for it."""
    outcome = report.Outcome("units-all")
    found = {version: pythons.find(version) for version in pythons.wanted()}
    at_hand = {version: path for version, path in found.items() if path and version != _own_version()}
    print("Pythons at hand besides .venv's:", ", ".join(map(pythons.text, at_hand)) or "none", flush=True)
    for version, path in found.items():
        if path is None:
            outcome.skip(f"units on Python {pythons.text(version)}: none at hand that can make environments")
    interpreters = {
        name: envs.ensure(CACHE / "venvs" / name, python, _pins(version))
        for version, python in at_hand.items()
        for name in [f"unit-{pythons.text(version)}"]
    }
    # They take one processor each.
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for one in pool.map(_units_of, interpreters.items()):
            outcome.add(one)
    return outcome


def _units_of(named: tuple[str, Path]) -> report.Outcome:
    name, interpreter = named
    log = REPORTS / f"{name}.log"
    outcome = _pytest(name, interpreter, "tests/unit", "-q", f"-ocache_dir={CACHE / 'pytest' / name}", log=log)
    print(f"===== {name}\n{log.read_text(encoding='utf-8', errors='replace')}", end="", flush=True)
    return outcome


def _pytest(
    name: str, python: Path, *arguments: str, prefix: t.Sequence[Path] = (), log: Path | None = None
) -> report.Outcome:
    results = REPORTS / f"{name}.xml"
    results.parent.mkdir(parents=True, exist_ok=True)
    results.unlink(missing_ok=True)
    # Runs that share pytest's own directory below /tmp take away the same old runs in the end, and one of two that
    # meet there fails after its last test.
    with tempfile.TemporaryDirectory(prefix="cni-", ignore_cleanup_errors=True) as temporary:
        # What the sandbox is to keep, wherever this tree lies.
        extra = {"CNI_SANDBOX_OUT": str(REPORTS), "PYTEST_DEBUG_TEMPROOT": temporary}
        status = run([*prefix, python, "-m", "pytest", f"--junit-xml={results}", *arguments], env=extra, log=log)
    outcome = report.from_junit(name, [results] if results.is_file() else [])
    if status != 0 and not outcome.failed:
        outcome.fail(f"{name}: pytest ended with status {status} and no failed test{_last_line(log)}")
    return outcome


def _last_line(log: Path | None) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log else []
    return next((f": {line}" for line in reversed(lines) if line.strip()), "")


def _fetch_libcni() -> None:
    """Get a Go compiler and libcni's source; where they cannot be had, the tests that want them say so themselves."""
    run([ROOT / "tools" / "system-packages", "interop"])


def _own_version() -> pythons.Version | None:
    return pythons.probe(tool("python"))


def _pins(version: pythons.Version) -> Path:
    """The pins for this Python; one too new to have its own gets the newest there are."""
    own = REQUIREMENTS / f"unit-{pythons.text(version)}.txt"
    pinned = [REQUIREMENTS / f"unit-{pythons.text(known)}.txt" for known in pythons.wanted() if known <= version]
    return own if own.is_file() else [path for path in pinned if path.is_file()][-1]
