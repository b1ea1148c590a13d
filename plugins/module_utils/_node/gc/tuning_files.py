# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak, Scope
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Claims
from ansible_collections.cni.node.plugins.module_utils._reference import saved_values
from ansible_collections.cni.node.plugins.module_utils._reference.saved_values import SavedValues


class SavedValueLeaks:
    """Finds files in which the plugin tuning keeps what interfaces of lost containers had before."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def collect(
        self, networks: t.Iterable[NetworkConfiguration], claims: Claims, read_again: t.Callable[[], Claims]
    ) -> t.Iterator[Leak]:
        """Collect them.

        Args:
            networks: Those whose directories are looked at, beside the usual one.
            claims: Of all networks of the node, for the files do not tell theirs.
            read_again: Reads the claims anew, for a file may be younger than them.
        """
        places = {saved_values.DATA_DIR}.union(*map(saved_values.directories, networks))
        found = _unclaimed((file for place in sorted(places) for file in saved_values.listing(place)), claims)
        if not found:
            return
        from ansible_collections.cni.node.plugins.module_utils._node.gc.adds_in_progress import birth

        making, claims = birth(), read_again()
        yield from (self._file(file, claims, making) for file in _unclaimed(found, claims))

    def _file(self, file: SavedValues, claims: Claims, making: str) -> Leak:
        evidence = f"no runtime has a record of {file.owner}, the container and interface that its name tells"
        leak = Leak("saved values", "", file.path, evidence)
        named = (claims.doubt(container_id, ()) for container_id in file.container_ids)
        doubt = self._scope.young(file.changed) or next(filter(None, named), "") or making
        return self._scope.settle(leak, doubt, file.remove)


def _unclaimed(files: t.Iterable[SavedValues], claims: Claims) -> list[SavedValues]:
    """Return the files of no attachment; those that a dry run has found to be deleted have theirs."""
    claimed = {saved_values.owner(*names) for names in claims.names()}
    return [file for file in files if file.owner not in claimed]


__all__ = ("SavedValueLeaks",)
