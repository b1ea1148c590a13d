# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run test suites to the end, some of them in parallel, and sum up: python -m tools.check SUITE..."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from tools import lint, molecule, pytests, report, sanity, typecheck, vm
from tools.paths import CACHE, Unavailable

SUITES = {
    "lint": lint.suite,
    "types": typecheck.suite,
    "unit": pytests.unit,
    "pythons": pytests.other_pythons,
    "conformance": pytests.conformance,
    "integration": pytests.integration,
    "molecule": molecule.suite,
    "browser": pytests.browser,
    "controller": pytests.controller,
    "sanity": sanity.suite,
    "vm": vm.suite,
}

# These two lists run in parallel, and take about the same time. Each suite of the second has a sandbox of its own, uses one
# processor, or waits for an emulated machine.
LANES = (("integration",), ("browser", "controller", "sanity", "molecule", "vm"))


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


def run_all(names: t.Iterable[str]) -> list[report.SuiteResult]:
    return [run(name) for name in names]


def run_lanes(names: t.Sequence[str], beside: t.Sequence[str]) -> list[report.SuiteResult]:
    """Run two lists of suites in parallel; print the output of the second after the first."""
    log = CACHE / "beside.log"
    log.parent.mkdir(exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(1, initializer=_redirect_output, initargs=(log,)) as background:
        others = background.submit(run_all, beside)
        results = [*run_all(names), *others.result()]
    print(log.read_text(encoding="utf-8", errors="replace"), flush=True)
    return results


def _redirect_output(log: Path) -> None:
    with open(log, "wb") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)


def main(names: list[str]) -> int:
    lanes = [[name for name in lane if name in names] for lane in LANES]
    in_lanes = list(itertools.chain(*lanes))
    results = run_all(name for name in names if name not in in_lanes)
    results += run_lanes(*lanes) if all(lanes) else run_all(in_lanes)
    report.print_summary(results)
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(SUITES)))
