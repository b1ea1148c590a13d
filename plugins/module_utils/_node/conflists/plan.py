# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decide which files of the conf dir to write and remove, and carry that out."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, lock
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._node.conflists.desired import DesiredFiles, FileToRemove
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import (
    ConflistDirectory,
    PlannedDirectory,
)
from ansible_collections.cni.node.plugins.module_utils._node.files import change as file_change
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, plan_change


class ConflistPlan(t.NamedTuple):
    """Decisions on all files of a directory.

    Attributes:
        changes: First the files to write, then those to remove.
        planned: The directory as it will be.
        is_needed: Whether carrying out the plan changes anything, the list of own files included.
    """

    directory: ConflistDirectory
    changes: list[FileChange]
    planned: PlannedDirectory
    is_needed: bool


def make_plan(directory: ConflistDirectory, desired: DesiredFiles, *, purge: bool, mode: int) -> ConflistPlan:
    """Decide on all files before any is changed.

    Args:
        purge: Remove unmodified files that this collection has written and the task does not list.
        mode: Permissions of the files that are written.

    Raises:
        CniError: ``INVALID_CONFIG`` if a file to remove defines another network; ``IO_FAILURE``.
    """
    written = {file.network.source for file in desired.present}
    removed = [path for path in dict.fromkeys(_paths_to_remove(directory, desired, purge)) if path not in written]
    changes = [
        *(
            plan_change(file.network.source, file.content, network=file.network.name, mode=mode)
            for file in desired.present
        ),
        *(FileChange(directory.network_of(path), path, "removed", durable.read(path), None) for path in removed),
    ]
    file_change.require_writable(changes)
    is_needed = any(change.changed for change in changes) or directory.ownership.differs(changes)
    replaced = written.union(removed)
    after = PlannedDirectory(
        path=directory.path,
        desired=tuple(file.network for file in desired.present),
        others=tuple(network for network in directory.all_networks if network.source not in replaced),
        before=directory.networks,
        broken=conf_dir.without(directory.broken, replaced),
        removed=frozenset(removed),
        own=frozenset(directory.own),
        refused=conf_dir.without(directory.refused, replaced),
        misnamed=conf_dir.without(directory.misnamed, replaced),
    )
    return ConflistPlan(directory, changes, after, is_needed)


def _paths_to_remove(directory: ConflistDirectory, desired: DesiredFiles, purge: bool) -> t.Iterator[str]:
    """Return the files that items name, then own files that are purged or whose network has another file now."""
    written = {file.network.source for file in desired.present}
    names = {absent.network for absent in desired.absent if absent.network and not absent.path}
    yield from (network.source for network in directory.all_networks if network.name in names)
    for absent in desired.absent:
        if os.path.lexists(absent.path):
            if absent.path not in written:
                _require_network(directory, absent)
            yield absent.path
    moved = {file.network.name for file in desired.present}
    for filename, network in directory.own.items():
        if (purge or network in moved) and directory.ownership.is_unaltered(filename):
            yield os.path.join(directory.path, filename)


def _require_network(directory: ConflistDirectory, absent: FileToRemove) -> None:
    """Refuse to remove a file that defines another network than the item names."""
    network = directory.network_of(absent.path)
    if absent.network and network not in ("", absent.network):
        raise CniError(
            Code.INVALID_CONFIG,
            f"{absent.where}: {absent.path} defines network {network!r}, not {absent.network!r}",
            "to remove the file whatever it defines, leave out the name",
        )


# In the directory itself, so that only users who may change the directory can hold the lock. Runtimes ignore the name.
_LOCK = ".cni.node.lock"


def hold_lock(directory: str, timeout: float) -> t.ContextManager[None]:
    """Keep other runs from changing a directory. Callers read and plan again under the lock.

    Args:
        timeout: Seconds to wait for another run.

    Raises:
        CniError: ``TRY_AGAIN``, ``IO_FAILURE``.
    """
    durable.make_directory(directory)
    return lock.hold_lock(os.path.join(directory, _LOCK), exclusive=True, timeout=timeout, what=directory)


def apply(plan: ConflistPlan) -> None:
    """Carry out a plan.

    If the run is killed, each file has its old or its new content, and the list of written files has both.
    """
    if not plan.is_needed:
        return
    durable.make_directory(plan.directory.path)
    plan.directory.ownership.claim(plan.changes)
    file_change.apply_all(plan.changes)
    plan.directory.ownership.settle(plan.changes)
