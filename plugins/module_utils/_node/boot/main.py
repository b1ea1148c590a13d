# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The program that the units of systemd run: `python3 -I LIBRARY CACHE_DIR...` restores attachments, `repair` repairs them.

`watch` repairs them whenever they lose something. It stays in memory, so each command is imported only if it runs.
"""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.current_library import hold_current
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot.journal import write_line

# The commands of the program.
REPAIR, WATCH = "repair", "watch"


def main(arguments: t.Sequence[str], paths: NodePaths = NODE_PATHS) -> int:
    """Run a command, print a line for each attachment that it changes, and return 0 if nothing failed.

    The commands ``repair`` and ``watch`` have options; without a command, the arguments are cache directories to restore from.
    """
    try:
        hold_current()
    except CniError as exc:
        write_line(f"failed: {exc}")
        return 1
    command = arguments[0] if arguments else ""
    if command == WATCH:
        from ansible_collections.cni.node.plugins.module_utils._node.boot import watch_command

        return watch_command.main(arguments[1:], paths)
    if command == REPAIR:
        from ansible_collections.cni.node.plugins.module_utils._node.boot import repair_command

        return repair_command.main(arguments[1:], paths)
    from ansible_collections.cni.node.plugins.module_utils._node.boot import restore_command

    return restore_command.main(arguments, paths)
