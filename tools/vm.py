# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the scenario on a booted machine: python -m tools.check vm."""

from __future__ import annotations

from tools import molecule, report, sandbox
from tools.paths import ROOT, run

PROGRAM = ROOT / "tests" / "vm" / "vm"
# Seconds: more than both take, emulated on two processors that are busy.
IMAGE_TIME, SCENARIO_TIME = 600, 4500


def suite(part: int = 0, parts: int = 1) -> report.SuiteResult:
    result = report.SuiteResult("vm")
    reason = sandbox.unavailable("vm")
    if not reason and run([*sandbox.APART, PROGRAM, "image"], limit=IMAGE_TIME) != 0:
        reason = "the machine's disk could not be made; the message is above"
    if reason:
        result.skip(reason)
    else:
        result.check(f"scenario {molecule.BOOTED}", molecule.play(molecule.BOOTED, limit=SCENARIO_TIME))
    return result
