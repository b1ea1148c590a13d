# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Molecule scenarios of roles and playbooks on a fleet of nodes, each scenario in a sandbox of its own.

`python -m tools.check molecule` runs the scenario `default` and a third of the others, in the outer ring all but the one on a booted
machine; SCENARIO="default cni_plugins" selects some.
"""

from __future__ import annotations

import os
import time

from tools import pytests, report, sandbox
from tools.paths import ROOT, Unavailable, Words, run, tool

SCENARIOS = ROOT / "extensions" / "molecule"
# This scenario needs a virtual machine: tools/vm.py runs it.
BOOTED = "vm"
# Molecule's state lies in the sandbox's /run and disappears with the nodes. Error messages are not wrapped.
ENVIRONMENT = {
    "MOLECULE_EPHEMERAL_DIRECTORY": "/run/molecule",
    "MOLECULE_COMMAND_BORDERS": "false",
    "NO_COLOR": "1",
}
# Scenarios in which nodes differ. The others need one node in the inner ring; all have three in the outer one.
SEVERAL_NODES = {"default", "failure_lost_node", "runtimes"}


def suite(part: int, parts: int) -> report.SuiteResult:
    result = report.SuiteResult("molecule")
    reason = sandbox.unavailable("molecule")
    if reason:
        result.skip(reason)
        return result
    for name in select()[part::parts]:
        result.check(f"scenario {name}", play(name))
    return result


def select() -> list[str]:
    names = sorted(path.parent.name for path in SCENARIOS.glob("*/molecule.yml") if path.parent.name != BOOTED)
    selected = os.environ.get("SCENARIO", "").split()
    unknown = ", ".join(sorted({*selected} - {*names}))
    if unknown:
        raise Unavailable(f"no scenario is called {unknown}: choose from {', '.join(names)}")
    return selected or pytests.take_turns(names, ["default"])


def play(name: str, limit: float | None = None) -> bool:
    """Return whether a scenario passed within `limit` seconds; a sandbox that is killed ends all its processes."""
    start = time.monotonic()
    argv: Words = [sandbox.PROGRAM, *pytests.with_warm_playbooks(), tool("molecule"), "test", "--scenario-name", name]
    nodes = 3 if pytests.is_outer() else 2 if name in SEVERAL_NODES else 1
    status = run(argv, env={**ENVIRONMENT, "CNI_NODES": os.environ.get("CNI_NODES") or str(nodes)}, limit=limit)
    verdict = "passed" if status == 0 else f"FAILED with status {status}"
    print(f"scenario {name}: {verdict} after {time.monotonic() - start:.0f} s", flush=True)
    return status == 0
