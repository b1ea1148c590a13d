# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange


def file_diff(change: FileChange) -> dict[str, t.Any]:
    """Return what Ansible shows of a changed file: its content, its mode where that is all that changes, or both.

    Of one that goes and has no content, be it empty or a link that leads nowhere, it is that it goes.
    """
    if change.after is None and not change.before:
        return {
            when: {"path": change.path, "state": state} for when, state in (("before", "file"), ("after", "absent"))
        }
    modes = {"before": change.before_mode, "after": change.after_mode}
    if change.before == change.after:
        return {when: {"path": change.path, "mode": f"{mode or 0:04o}"} for when, mode in modes.items()}
    has_other_mode = None not in modes.values() and change.before_mode != change.after_mode
    shown = {when: f" (mode {mode or 0:04o})" if has_other_mode else "" for when, mode in modes.items()}
    return {
        "before_header": f"{change.path}{shown['before']}",
        "before": (change.before or b"").decode("utf-8", "replace"),
        "after_header": f"{change.path}{shown['after']}",
        "after": (change.after or b"").decode("utf-8", "replace"),
    }


__all__ = ("file_diff",)
