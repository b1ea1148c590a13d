# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find files in which the plugin tuning keeps the earlier values of a lost container's interface."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import GcRun, Items, NodeSnapshot, Scope, Suspect
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference import saved_values
from ansible_collections.cni.node.plugins.module_utils._reference.saved_values import TuningFile


class SavedValueFinder:
    """Finds files in which the plugin tuning keeps the earlier values of lost containers' interfaces."""

    scope = Scope.ALL_NETWORKS

    def __init__(self, run: GcRun) -> None:
        self._policy = run.policy
        default = run.paths.tuning_dir
        self._directories = {default}.union(
            *(saved_values.directories(each, default, is_trusted=each in run.current) for each in run.configurations)
        )

    def snapshot(self, node: NodeSnapshot) -> Items[TuningFile]:
        del node  # these are files
        return {file: file for path in sorted(self._directories) for file in saved_values.listing(path)}

    def find(self, items: Items[TuningFile], owners: Owners) -> t.Iterator[Suspect[TuningFile]]:
        owned = {saved_values.owner(*names) for names in owners.names()} if items else set()
        for file in items.values():
            if file.owner not in owned:
                evidence = f"no runtime has a record of {file.owner}, the container and interface in its name"
                yield Suspect(Leak(Kind.SAVED_VALUES, "", file.path, evidence), (file,))

    def reason_to_keep(self, suspect: Suspect[TuningFile], owners: Owners) -> str:
        file = suspect.items[0]
        reasons = (owners.reason_to_keep(container_id, ()) for container_id in file.container_ids)
        return self._policy.reason_for_age(file.changed) or next(filter(None, reasons), "") or owners.add_in_progress

    def remove(self, suspect: Suspect[TuningFile]) -> None:
        for file in suspect.items:
            file.remove()


__all__ = ("SavedValueFinder",)
