# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plan import ConflistPlan
from ansible_collections.cni.node.plugins.module_utils._node.files import change as file_change

# In the directory itself, so that only those who may change the directory can hold the lock. Runtimes ignore the name.
_LOCK: t.Final = ".cni.node.lock"


def hold_lock(directory: str, timeout: float) -> t.ContextManager[None]:
    """Keep other runs from changing a directory; read and plan again under the lock.

    Args:
        timeout: Seconds to wait for another run.

    Raises:
        CniError: ``TRY_AGAIN``, ``IO_FAILURE``.
    """
    # Most runs change nothing, and need neither the lock nor what it imports.
    from ansible_collections.cni.node.plugins.module_utils._base import lock

    durable.make_directory(directory)
    return lock.hold_lock(os.path.join(directory, _LOCK), exclusive=True, timeout=timeout, what=directory)


def apply(plan: ConflistPlan) -> None:
    """Carry out a plan.

    A run that is killed leaves each file old or new, and listed as this collection's.
    """
    if not plan.is_needed:
        return
    durable.make_directory(plan.directory.path)
    plan.directory.ownership.claim(plan.changes)
    for change in plan.changes:
        file_change.apply(change)
    plan.directory.ownership.settle(plan.changes)


__all__ = ("apply", "hold_lock")
