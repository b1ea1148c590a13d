# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the directories of a task with those of its container runtime."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime


def check(planned: PlannedDirectory, found: FoundRuntime, plugin_dirs: t.Iterable[str]) -> t.Iterator[Finding]:
    """Find contradictions between the directories of a task and those of the runtime that the networks are for."""
    title = found.runtime.title
    if not found.reads(planned.path):
        message = f"{title} reads networks in {found.conf_path}, {found.conf_dir.origin}, and not here"
        yield Finding("unread-directory", planned.path, "", message, f"set conf_dir to {found.conf_path}")
    if not any(map(found.searches, plugin_dirs)):
        where = f"{', '.join(found.searched_dirs)}, {found.plugin_dirs.origin}"
        message = f"{title} looks for plugins in {where}, and in none of plugin_dirs"
        yield Finding("unsearched-plugins", planned.path, "", message, "install them there, and set plugin_dirs to it")
