# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command that repairs attachments whenever they lose something."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot.journal import write_line
from ansible_collections.cni.node.plugins.module_utils._node.watch.service import Service


def main(arguments: t.Sequence[str], paths: NodePaths) -> int:
    """Repair the attachments that options select as for ``repair``, and print a line for each repair, until a signal arrives.

    Returns:
        1 if the kernel does not notify this process.
    """

    def compare(held: t.Sequence[t.Any], begin: t.Callable[[], None]) -> JsonObject:
        # In a child process; the one that stays in memory does not need these modules.
        from ansible_collections.cni.node.plugins.module_utils._node.boot import repair_command
        from ansible_collections.cni.node.plugins.module_utils._node.watch import comparison

        selection, cache_dir = repair_command.parse(arguments)
        return comparison.compare_and_repair(paths, cache_dir, selection, held, begin)

    try:
        service = Service(paths.watch_state, compare, write_line)
    except CniError as exc:
        write_line(f"failed: {exc}")
        return 1
    return service.run()
