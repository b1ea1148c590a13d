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

    def clean_up(error: CniError | None) -> bool:
        found = sweep(record, runtime.records)
        return bool(found) or (error is not None and missed_its_chain(error))

    runtime.delete(record, restoration, clean_up)


__all__ = ("detach",)
