# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._linux import process_table


def reason() -> str:
    """Return a reason to keep unowned items while any runtime has an ADD running, or an empty string.

    The kernel does not tell the age of its resources, and a runtime records an attachment after its last plugin has ended.
    """
    pids = process_table.find_by_environment({"CNI_COMMAND": "ADD"})
    return f"an ADD is in progress in process {pids[0]}" if pids else ""


__all__ = ("reason",)
