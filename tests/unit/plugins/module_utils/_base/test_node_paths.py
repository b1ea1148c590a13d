# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The paths of the node are one value, so that a test can move all of them."""

from __future__ import annotations

import pathlib
import re

from ansible_collections.cni.node.plugins.module_utils._base import node_paths
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths

MODULE_UTILS = pathlib.Path(node_paths.__file__).parent.parent
PATH_CONSTANT = re.compile(r'^_?[A-Z_]+(?:: [\w.]+)? = f?"/(?:etc|opt|run|var)\b', re.MULTILINE)


def test_every_path_is_moved_below_the_directory() -> None:
    assert NodePaths.below("/test") == tuple(f"/test{path}" for path in NODE_PATHS)
    assert all(path.startswith("/") for path in NODE_PATHS)


def test_no_other_file_has_a_constant_for_a_path_of_the_node() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in MODULE_UTILS.rglob("*.py")}
    del sources[MODULE_UTILS / "_node/runtimes/rows.py"]  # it has the paths of other programs
    assert len(sources) > 100
    assert [str(path) for path, source in sources.items() if PATH_CONSTANT.search(source)] == []
