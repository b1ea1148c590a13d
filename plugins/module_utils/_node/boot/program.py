# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The program that the units of systemd run: `python3 -I LIBRARY [repair] ...`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.library import hold_current
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot import main as restore_command
from ansible_collections.cni.node.plugins.module_utils._node.boot import repair_command
from ansible_collections.cni.node.plugins.module_utils._node.boot.journal import write_line
from ansible_collections.cni.node.plugins.module_utils._node.boot.repair_units import REPAIR


def main(arguments: t.Sequence[str], paths: NodePaths = NODE_PATHS) -> int:
    """Run a command of the program, and return its exit status.

    The command ``repair`` has options; without a command, the arguments are cache directories to restore from.
    """
    try:
        hold_current()
    except CniError as exc:
        write_line(f"failed: {exc}")
        return 1
    if arguments and arguments[0] == REPAIR:
        return repair_command.main(arguments[1:], paths)
    return restore_command.main(arguments, paths)
