# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The scenarios of roles and playbooks on a fleet of nodes, each scenario in a sandbox of its own.

python -m tools.check molecule runs all but those on a booted machine; SCENARIO="default cni_plugins" names some.
"""

from __future__ import annotations

import os
import time

from tools import report, sandbox
from tools.paths import ROOT, Unavailable, run, tool

SCENARIOS = ROOT / "extensions" / "molecule"
# Needs a machine of its own: tools/vm.py runs it.
BOOTED = "vm"
# In the sandbox's own /run, so that molecule remembers no node that went with its sandbox. Errors are told unwrapped.
ENVIRONMENT = {
    "MOLECULE_EPHEMERAL_DIRECTORY": "/run/molecule",
    "MOLECULE_COMMAND_BORDERS": "false",
    "NO_COLOR": "1",
}


def suite() -> report.Outcome:
    outcome = report.Outcome("molecule")
    reason = sandbox.unavailable("molecule", "node", "fleet")
    if reason:
        outcome.skip(reason)
        return outcome
    for name in chosen():
        outcome.check(f"scenario {name}", play(name))
    return outcome


def chosen() -> list[str]:
    there = sorted(path.parent.name for path in SCENARIOS.glob("*/molecule.yml") if path.parent.name != BOOTED)
    asked = os.environ.get("SCENARIO", "").split()
    unknown = ", ".join(sorted({*asked} - {*there}))
    if unknown:
        raise Unavailable(f"no scenario is called {unknown}: there are {', '.join(there)}")
    return asked or there


def play(name: str, limit: float | None = None) -> bool:
    """Whether it passed, within `limit` seconds; the sandbox takes all that runs in it along when it is killed."""
    start = time.monotonic()
    status = run([sandbox.PROGRAM, tool("molecule"), "test", "--scenario-name", name], env=ENVIRONMENT, limit=limit)
    verdict = "passed" if status == 0 else f"FAILED with status {status}"
    print(f"scenario {name}: {verdict} after {time.monotonic() - start:.0f} s", flush=True)
    return status == 0
