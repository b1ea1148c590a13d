# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.known_flaw import missed_its_chain
from ansible_collections.cni.node.plugins.module_utils._node.masquerade import sweep


def detach(runtime: Runtime, record: Record, restoration: Restoration | None) -> None:
    """Run DEL, and once more where its own leftovers were in its way, or something that somebody has taken away.

    Args:
        restoration: As `Runtime.delete` has it.

    Raises:
        CniError: DEL failed, or a rule that it leaves cannot be removed.
    """
    try:
        runtime.delete(record, restoration)
    except CniError as exc:
        if not sweep(record, runtime.records) and not missed_its_chain(exc):
            raise
        runtime.delete(record, restoration)
    else:
        sweep(record, runtime.records)


__all__ = ("detach",)
