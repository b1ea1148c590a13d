# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import planned_networks
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.planned_networks import PlannedFile


@dataclasses.dataclass(frozen=True)
class Removal:
    """Networks and attachments that earlier tasks have removed, or would have in check mode.

    Attributes:
        files: Files of networks.
        attachments: Only for check mode, in which they still exist. Otherwise an existing one has been made since.
    """

    files: tuple[PlannedFile, ...] = ()
    attachments: frozenset[Key] = frozenset()

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)

    def networks(self) -> list[NetworkConfiguration]:
        """Return the removed networks. An invalid file has none, because no plugin could have been run with it."""
        networks = []
        for file in self.files:
            with contextlib.suppress(CniError):
                networks.append(planned_networks.parse_planned_file(file))
        return networks


NOTHING_REMOVED: t.Final = Removal()

__all__ = ("NOTHING_REMOVED", "Removal")
