# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection as users have it: installed from its artifact."""

from __future__ import annotations

import pathlib
import subprocess

from tools import build, tree
from tools.paths import COLLECTION, tool


def install(directory: pathlib.Path) -> pathlib.Path:
    """Build the artifact, install it below an empty directory, and return the path for ANSIBLE_COLLECTIONS_PATH."""
    artifact = build.artifact(directory, tree.copy(directory / "source"))
    assert artifact is not None
    collections = directory / "collections"
    command = [tool("ansible-galaxy"), "collection", "install", "--offline", "--force", artifact, "-p", collections]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return collections


def root(collections: pathlib.Path) -> pathlib.Path:
    """Return the directory of the installed collection."""
    return collections / COLLECTION
