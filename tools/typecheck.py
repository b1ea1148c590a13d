# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run mypy, strict, over all Python code: python -m tools.check types."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tools import report, tree
from tools.paths import COLLECTION, ROOT, VENV, tool

# Modules import each other as ansible_collections.cni.node..., which is their name below this link.
COLLECTIONS = VENV / "collections"
LINK = COLLECTIONS / COLLECTION
PACKAGES = ("plugins", "tests")


def suite(part: int = 0, parts: int = 1) -> report.SuiteResult:
    result = report.SuiteResult("types")
    packages = [LINK / name for name in PACKAGES if (ROOT / name).is_dir()]
    result.check("mypy over plugins and tests", _mypy(*packages))
    result.check("mypy over tools", _mypy(ROOT / "tools"))
    for script in tree.scripts("python"):
        if script.suffix != ".py":
            result.check(f"mypy over {script}", _mypy("--scripts-are-modules", ROOT / script))
    return result


def _mypy(*arguments: str | Path) -> bool:
    command = [str(tool("mypy")), "--config-file", str(ROOT / ".mypy.ini"), *map(str, arguments)]
    print("+ mypy", *(word.replace(f"{ROOT}{os.sep}", "") for word in map(str, arguments)), flush=True)
    env = {**os.environ, "MYPYPATH": os.pathsep.join((str(COLLECTIONS), str(ROOT)))}
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    for prefix in (LINK, LINK.relative_to(ROOT)):
        done.stdout = done.stdout.replace(f"{prefix}{os.sep}", "")
    print(done.stdout, end="", flush=True)
    return done.returncode == 0
