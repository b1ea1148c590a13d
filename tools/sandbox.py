# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requirements of the suites that run in the sandbox."""

from __future__ import annotations

import os

from tools.paths import ROOT, run

PROGRAM = ROOT / "tests" / "support" / "sandbox"
# The command that follows has mounts and processes of its own, which end with it.
APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def unavailable(target: str) -> str:
    """Return why `make TARGET` cannot run here, or an empty string."""
    if os.geteuid() != 0:
        return f"{target} needs root for namespaces and links: run `sudo make {target}`"
    if run(["unshare", "--mount", "--net", "--pid", "--fork", "true"]) != 0:
        return "root may not make namespaces here: run on a machine, or in a container with more privileges"
    return ""
