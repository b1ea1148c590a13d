# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the collection's artifact into dist: python -m tools.build."""

from __future__ import annotations

import sys
from pathlib import Path

from tools import tree
from tools.paths import ROOT, run, tool

DIST = ROOT / "dist"


def artifact(directory: Path, source: Path) -> Path | None:
    """Build the artifact from a copy of the collection; return its path, or None when ansible-galaxy fails."""
    for old in directory.glob("*.tar.gz"):
        old.unlink()
    status = run([tool("ansible-galaxy"), "collection", "build", "--output-path", directory], cwd=source)
    return next(directory.glob("*.tar.gz"), None) if status == 0 else None


if __name__ == "__main__":
    sys.exit(0 if artifact(DIST, tree.copy(tree.place_for("build"))) else 1)
