# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths

REPAIR: t.Final = "repair"


def build() -> bytes:
    """Build the file that runs this program: one file for any Python."""
    from ansible_collections.cni.node.plugins.module_utils._node.files import zipapp

    return zipapp.build(__name__, "sys.argv[1:]")


def main(arguments: t.Sequence[str], paths: NodePaths = NODE_PATHS) -> int:
    """Run a command of the program, and return its exit status.

    The command ``repair`` has options; without a command, the arguments are cache directories to restore from.
    """
    # The program has no compiled modules, so each command loads only its own.
    if arguments and arguments[0] == REPAIR:
        from ansible_collections.cni.node.plugins.module_utils._node.boot import repair_command

        return repair_command.main(arguments[1:], paths)
    from ansible_collections.cni.node.plugins.module_utils._node.boot import main as restore_command

    return restore_command.main(arguments, paths)


__all__ = ("REPAIR", "build", "main")
