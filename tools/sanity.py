# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ansible-test sanity on every ansible-core of tools/cores.py that a Python at hand can run."""

from __future__ import annotations

import functools
import os
import re
import shutil
import typing as t
from pathlib import Path

from tools import cores, envs, pip_bootstrap, pythons, report, tree
from tools.paths import CACHE, REPORTS, Words, run, tool

HOME = CACHE / "home"
BIN = CACHE / "bin"


def suite() -> report.Outcome:
    outcome = report.Outcome("sanity")
    collection = tree.copy()
    ignores = sorted(collection.glob("tests/sanity/ignore-*.txt"))
    outcome.check("there is a sanity ignore file: " + ", ".join(path.name for path in ignores), not ignores)
    _provide_programs()
    for core, python in _plan(outcome):
        outcome.add(_run(core, python, collection))
    return outcome


def _plan(outcome: report.Outcome) -> t.Iterator[tuple[cores.Core, Path]]:
    """Each core with its interpreter; what is left out is told."""
    for core in cores.ALL:
        python = core.python()
        if python:
            yield core, python
        else:
            span = f"{pythons.text(core.oldest)} to {pythons.text(core.newest)}"
            outcome.skip(f"sanity on ansible-core {core.line}: no Python {span} at hand")


def _provide_programs() -> None:
    """One directory with the Pythons and linters that ansible-test looks for along PATH."""
    shutil.rmtree(BIN, ignore_errors=True)
    BIN.mkdir(parents=True)
    (BIN / "shellcheck").symlink_to(tool("shellcheck"))
    for version in pythons.wanted():
        python = pythons.find(version)
        if python:
            (BIN / f"python{pythons.text(version)}").symlink_to(python)


def _run(core: cores.Core, python: Path, collection: Path) -> report.Outcome:
    name = f"sanity on ansible-core {core.line}"
    print(f"\n== {name}, {python}", flush=True)
    interpreter = envs.ensure(core.env, python, core.pins)
    pip_bootstrap.prepare(HOME, interpreter)
    shutil.rmtree(collection / "tests" / "output", ignore_errors=True)
    path = os.pathsep.join((str(core.env / "bin"), str(BIN), "/usr/local/bin", "/usr/bin", "/bin"))
    command: Words = [core.env / "bin" / "ansible-test", "sanity", "--color", "no", "--junit"]
    status = run(command, cwd=collection, env={"HOME": str(HOME), "PATH": path})
    return _count(name, status, collection / "tests" / "output" / "junit")


def _count(name: str, status: int, results: Path) -> report.Outcome:
    kept = REPORTS / name.replace(" ", "-")
    shutil.rmtree(kept, ignore_errors=True)
    if results.is_dir():
        shutil.copytree(results, kept)
    outcome = report.from_junit(name, sorted(kept.glob("*.xml")), functools.partial(_retold, name))
    if status != 0 and not outcome.failed:
        outcome.fail(f"{name}: ansible-test ended with status {status}")
    return outcome


def _retold(name: str, reason: str) -> str:
    """Say once for all tests that a Python is not at hand; say nothing of tests for what the collection has not."""
    missing = re.search(r"on Python (\S+) because it could not be found", reason)
    if missing:
        return f"{name}: no Python {missing[1]} at hand for the tests that run on it"
    return "" if reason == "No tests applicable." else f"{name}: {reason}"
