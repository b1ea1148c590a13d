# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run test suites to the end, on all processors, and sum up: python -m tools.check SUITE..."""

from __future__ import annotations

import concurrent.futures
import os
import random
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from tools import lint, molecule, pytests, pythons, report, sanity, typecheck, vm
from tools.paths import REPORTS, ROOT, Unavailable, run


class Suite(t.NamedTuple):
    """A suite, in parts that run at the same time.

    Attributes:
        run: Runs a part, from its number and the number of parts.
        parts: The number of parts: a part shall take no more than two minutes.
        packages: Groups of `tools/system-packages` without which tests skip themselves.
    """

    run: t.Callable[[int, int], report.SuiteResult]
    parts: int = 1
    packages: tuple[str, ...] = ()


# The longest parts first, so that no processor waits at the end. What needs no packages begins while they are installed.
SUITES = {
    "vm": Suite(vm.suite, 1, ("node", "fleet", "vm")),
    "uml": Suite(pytests.uml, 1, ("node", "uml")),
    "ansible": Suite(pytests.ansible, 8, ("node", "interop", "fleet", "release")),
    "integration": Suite(pytests.integration, 6, ("node", "interop", *pytests.FIREWALLD)),
    "molecule": Suite(molecule.suite, len(molecule.select()), ("node", "fleet")),
    "newest": Suite(pytests.newest, 6, ("node", "interop")),
    "sanity": Suite(sanity.suite),
    "pythons": Suite(pytests.other_pythons, len(pythons.list_supported())),
    "controller": Suite(pytests.controller, 1, ("rulebook",)),
    "unit": Suite(pytests.unit, 3),
    "conformance": Suite(pytests.conformance, 1, ("interop",)),
    "lint": Suite(lint.suite),
    "browser": Suite(pytests.browser, 1, ("browser",)),
    "types": Suite(typecheck.suite),
}


def run_suites(names: t.Iterable[str]) -> list[report.SuiteResult]:
    """Run twice as many parts at a time as there are processors, because tests wait; print the output of each at its end."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    results = {name: report.SuiteResult(name) for name in SUITES if name in names}
    with concurrent.futures.ProcessPoolExecutor(2 * len(os.sched_getaffinity(0))) as pool:
        groups = sorted({group for name in results for group in SUITES[name].packages})
        installed = pool.submit(_install, groups)
        running = {}
        for name in sorted(results, key=lambda name: bool(SUITES[name].packages)):
            if SUITES[name].packages:
                installed.result()
            for part in range(SUITES[name].parts):
                running[pool.submit(_run_into_log, name, part)] = _log(name, part)
        for done in concurrent.futures.as_completed(running):
            result = done.result()
            results[result.suite].merge(result)
            print(running[done].read_text(encoding="utf-8", errors="replace"), end="", flush=True)
    return list(results.values())


def _install(groups: t.Sequence[str]) -> None:
    if groups:
        run([ROOT / "tools" / "system-packages", *groups])


def _run_into_log(name: str, part: int) -> report.SuiteResult:
    with _log(name, part).open("wb") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    return run_part(name, part)


def run_part(name: str, part: int) -> report.SuiteResult:
    """Run a part of a suite; one that cannot start counts as a failure, so that the others still run."""
    suite = SUITES[name]
    print(f"\n===== {name}, part {part + 1} of {suite.parts}" if suite.parts > 1 else f"\n===== {name}", flush=True)
    start = time.monotonic()
    try:
        result = suite.run(part, suite.parts)
    except (Unavailable, OSError, subprocess.SubprocessError) as exc:
        result = report.SuiteResult(name)
        result.fail(str(exc))
    result.seconds = time.monotonic() - start
    return result


def _log(name: str, part: int) -> Path:
    return REPORTS / f"{name}-{part + 1}.log"


def main(names: list[str]) -> int:
    start = time.monotonic()
    # All parts take their samples with it.
    os.environ.setdefault("CNI_SEED", str(random.randrange(1_000_000)))
    print(f"CNI_SEED={os.environ['CNI_SEED']} repeats the samples of this run.", flush=True)
    results = run_suites(names)
    report.print_summary(results, time.monotonic() - start)
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(SUITES)))
