# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check what changed, in under a minute: python -m tools.quick [BASE].

These are the linters of sources, types, and the unit tests of the files that differ from BASE: a revision, by default
where the branch left origin/main, or HEAD in a clone without it.
"""

from __future__ import annotations

import subprocess
import sys
import time
import typing as t
from pathlib import Path

from tools import imports, lint, report, tree, typecheck
from tools.paths import ROOT, Unavailable, output, run, tool

UNITS = Path("tests/unit")
# Tests of the whole tree, which any change may break.
ALWAYS = (UNITS / "test_docs.py", UNITS / "test_floors.py")
# Files below these directories are data that tests read, and no file imports them.
DATA = {
    Path("plugins/plugin_utils/schemas"): UNITS / "plugins/plugin_utils/_validation",
    Path("tests/corpus"): UNITS / "plugins/plugin_utils/_validation",
}


def main(arguments: t.Sequence[str]) -> int:
    try:
        changed = read_changed(arguments[0] if arguments else _default_base())
    except (Unavailable, subprocess.SubprocessError) as exc:
        print(f"make quick: {exc}.", file=sys.stderr)
        return 1
    python = [file for file in tree.files() if file.suffix == ".py" and file.parts[0] in ("plugins", "tests", "tools")]
    tests = select_tests(changed, imports.read_graph(ROOT, python))
    start = time.monotonic()
    results = [lint.check_sources(), typecheck.suite(), _units(tests)]
    report.print_summary(results, time.monotonic() - start)
    return 1 if any(result.failed for result in results) else 0


def read_changed(base: str) -> set[Path]:
    """Return the files that differ from a revision, committed or not."""
    names = output(["git", "diff", "--name-only", "--diff-filter=d", "-z", base], cwd=ROOT).split("\0")
    new = output(["git", "ls-files", "--others", "--exclude-standard", "-z"], cwd=ROOT).split("\0")
    return {Path(name) for name in {*names, *new} - {""}}


def _default_base() -> str:
    try:
        return output(["git", "merge-base", "HEAD", "origin/main"]).strip()
    except subprocess.CalledProcessError:
        return "HEAD"


def select_tests(changed: t.Collection[Path], graph: t.Mapping[str, set[str]]) -> list[Path]:
    """Return the unit tests that changed, mirror a changed file, or import one themselves or through a helper."""
    affected = {imports.module_name(file) for file in changed}
    # A helper of tests passes a change on to the tests that import it.
    affected |= {name for name in graph if name.startswith("tests.") and graph[name] & affected}
    tests = [Path(*name.split(".")).with_suffix(".py") for name in sorted(graph) if name.startswith("tests.unit.")]
    return [
        test
        for test in tests
        if test.name.startswith("test_") and (test in ALWAYS or _is_affected(test, changed, affected, graph))
    ]


def _is_affected(
    test: Path, changed: t.Iterable[Path], affected: t.Collection[str], graph: t.Mapping[str, set[str]]
) -> bool:
    """Return whether a test is affected itself, imports an affected file or mirrors a changed one."""
    name = imports.module_name(test)
    return name in affected or not graph[name].isdisjoint(affected) or any(_mirrors(test, file) for file in changed)


def _mirrors(test: Path, file: Path) -> bool:
    """Return whether the test's path mirrors the path of the file or of its data directory."""
    for directory, mirror in DATA.items():
        if file.is_relative_to(directory):
            return test.is_relative_to(mirror)
    return test.parent == UNITS / file.parent and test.stem.startswith(f"test_{file.stem.lstrip('_')}")


def _units(tests: t.Sequence[Path]) -> report.SuiteResult:
    result = report.SuiteResult("unit")
    result.check(f"{len(tests)} files of tests", run([tool("python"), "-m", "pytest", "-q", "-x", *tests]) == 0)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
