# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run ansible-test sanity on lines of ansible-core, as far as the Pythons of this machine can run them.

`python -m tools.check sanity` runs those that tools/cores.py marks; CORE="2.17 2.20" selects others.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from pathlib import Path

from tools import cores, envs, pip_bootstrap, pythons, report, tree
from tools.paths import CACHE, REPORTS, Words, run, tool

HOME = CACHE / "home"
BIN = CACHE / "bin"


def suite(part: int = 0, parts: int = 1) -> report.SuiteResult:
    result = report.SuiteResult("sanity")
    collection = tree.copy(tree.place_for("sanity"))
    ignores = sorted(collection.glob("tests/sanity/ignore-*.txt"))
    result.check("there is a sanity ignore file: " + ", ".join(path.name for path in ignores), not ignores)
    _provide_programs()
    for core in cores.select_for_sanity():
        python = core.python()
        if python:
            result.add(_run(core, python, collection))
        else:
            result.skip(f"sanity on ansible-core {core.line}: no Python {core.span} on this machine")
    return result


def _provide_programs() -> None:
    """Link the Pythons and linters that ansible-test looks for along PATH into one directory."""
    shutil.rmtree(BIN, ignore_errors=True)
    BIN.mkdir(parents=True)
    (BIN / "shellcheck").symlink_to(tool("shellcheck"))
    for version in pythons.list_supported():
        python = pythons.find(version)
        if python:
            (BIN / f"python{pythons.text(version)}").symlink_to(python)


def _run(core: cores.Core, python: Path, collection: Path) -> report.SuiteResult:
    name = f"sanity on ansible-core {core.line}"
    print(f"\n== {name}, {python}", flush=True)
    interpreter = envs.ensure(core.env, python, core.pins)
    pip_bootstrap.prepare(HOME, interpreter)
    shutil.rmtree(collection / "tests" / "output", ignore_errors=True)
    path = os.pathsep.join((str(core.env / "bin"), str(BIN), "/usr/local/bin", "/usr/bin", "/bin"))
    command: Words = [core.env / "bin" / "ansible-test", "sanity", "--color", "no", "--junit"]
    status = run(command, cwd=collection, env={"HOME": str(HOME), "PATH": path})
    return _count(name, status, collection / "tests" / "output" / "junit")


def _count(name: str, status: int, results: Path) -> report.SuiteResult:
    kept = REPORTS / name.replace(" ", "-")
    shutil.rmtree(kept, ignore_errors=True)
    if results.is_dir():
        shutil.copytree(results, kept)
    result = report.read_junit(name, sorted(kept.glob("*.xml")), functools.partial(_reword, name))
    if status != 0 and not result.failed:
        result.fail(f"{name}: ansible-test ended with status {status}")
    return result


def _reword(name: str, reason: str) -> str:
    """Return one reason for all tests that lack the same Python, and "" for tests that do not apply."""
    missing = re.search(r"on Python (\S+) because it could not be found", reason)
    if missing:
        return f"{name}: no Python {missing[1]} on this machine for the tests that need it"
    return "" if reason == "No tests applicable." else f"{name}: {reason}"
