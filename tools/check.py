# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run test suites to the end, in parallel, and sum up: python -m tools.check SUITE..."""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from tools import lint, molecule, pytests, report, sanity, typecheck, vm
from tools.paths import REPORTS, Unavailable

# The longest first, so that no processor waits at the end: each suite takes about one.
SUITES = {
    "ansible": pytests.ansible,
    "vm": vm.suite,
    "integration": pytests.integration,
    "molecule": molecule.suite,
    "sanity": sanity.suite,
    "pythons": pytests.other_pythons,
    "unit": pytests.unit,
    "lint": lint.suite,
    "conformance": pytests.conformance,
    "uml": pytests.uml,
    "browser": pytests.browser,
    "controller": pytests.controller,
    "types": typecheck.suite,
}


def run(name: str) -> report.SuiteResult:
    """Run one suite; one that cannot start counts as a failure, so that the suites after it still run."""
    print(f"\n===== {name}", flush=True)
    start = time.monotonic()
    try:
        result = SUITES[name]()
    except (Unavailable, OSError, subprocess.SubprocessError) as exc:
        result = report.SuiteResult(name)
        result.fail(str(exc))
    result.seconds = time.monotonic() - start
    return result


def run_parallel(names: t.Iterable[str]) -> list[report.SuiteResult]:
    """Run as many suites at a time as there are processors; print the output of each at its end."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    ordered = [name for name in SUITES if name in names]
    results = []
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(_run_into_log, name): name for name in ordered}
        for done in concurrent.futures.as_completed(running):
            results.append(done.result())
            print(_log(running[done]).read_text(encoding="utf-8", errors="replace"), end="", flush=True)
    return sorted(results, key=lambda result: ordered.index(result.suite))


def _run_into_log(name: str) -> report.SuiteResult:
    with _log(name).open("wb") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    return run(name)


def _log(name: str) -> Path:
    return REPORTS / f"{name}.log"


def main(names: list[str]) -> int:
    results = run_parallel(names) if len(names) > 1 else [run(name) for name in names]
    report.print_summary(results)
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(SUITES)))
