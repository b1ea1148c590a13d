# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run suites of tests to the end, some side by side, and sum up: python -m tools.check SUITE..."""

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
    "units-all": pytests.units_all,
    "conformance": pytests.conformance,
    "integration": pytests.integration,
    "molecule": molecule.suite,
    "sanity": sanity.suite,
    "vm": vm.suite,
}

# These run side by side. The second ones read sources with one processor, and wait for an emulated machine: they do
# not mind how long that takes.
LANES = (("integration", "molecule"), ("sanity", "vm"))


def run(name: str) -> report.Outcome:
    """One suite's outcome; one that cannot run at all is a failure, and the suites after it still run."""
    print(f"\n===== {name}", flush=True)
    start = time.monotonic()
    try:
        outcome = SUITES[name]()
    except (Unavailable, OSError, subprocess.SubprocessError) as exc:
        outcome = report.Outcome(name)
        outcome.fail(str(exc))
    outcome.seconds = time.monotonic() - start
    return outcome


def run_all(names: t.Iterable[str]) -> list[report.Outcome]:
    return [run(name) for name in names]


def run_lanes(names: t.Sequence[str], beside: t.Sequence[str]) -> list[report.Outcome]:
    """Run two lists of suites at a time; what the second says is told after the first."""
    told = CACHE / "beside.log"
    told.parent.mkdir(exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(1, initializer=_tell, initargs=(told,)) as background:
        others = background.submit(run_all, beside)
        outcomes = [*run_all(names), *others.result()]
    print(told.read_text(encoding="utf-8", errors="replace"), flush=True)
    return outcomes


def _tell(log: Path) -> None:
    with open(log, "wb") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)


def main(names: list[str]) -> int:
    lanes = [[name for name in lane if name in names] for lane in LANES]
    in_lanes = list(itertools.chain(*lanes))
    outcomes = run_all(name for name in names if name not in in_lanes)
    outcomes += run_lanes(*lanes) if all(lanes) else run_all(in_lanes)
    report.print_summary(outcomes)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(SUITES)))
