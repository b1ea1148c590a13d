# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run suites of tests one after the other, to the end, and sum up: python -m tools.check SUITE..."""

from __future__ import annotations

import subprocess
import sys
import time

from tools import lint, molecule, pytests, report, sanity, typecheck, vm
from tools.paths import Unavailable

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


def main(names: list[str]) -> int:
    outcomes = [run(name) for name in names]
    report.print_summary(outcomes)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(SUITES)))
