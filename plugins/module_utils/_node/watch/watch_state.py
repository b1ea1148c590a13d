# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The file in which the service notes what it has repaired, for metrics and reports."""

from __future__ import annotations

import contextlib
import json
import os

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.state_file import EVERY, Shape, read_cache

_FORMAT = 1
# Repairs that are listed; all are counted.
_RECENT = 20
_OWN, _OTHER = "cni.node", "other"
_SHAPE: Shape = {
    "format": int,
    "counts": {EVERY: {_OWN: int, _OTHER: int}},
    "recent": [{"network": str}],
    "held": [{"network": str, "container_id": str, "ifname": str, "resource": str}],
}


class WatchState:
    """The repairs of the service since the node was booted.

    Attributes:
        counts: The number of repairs by network, and there by owner.
        recent: The last repairs, each with time, attachment, what was lost, and who removed it.
        held: What is left alone because it is removed again and again.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.counts: dict[str, dict[str, int]] = {}
        self.recent: list[JsonObject] = []
        self.held: list[JsonObject] = []
        self._read()

    def note_repair(self, repaired: JsonObject, *, is_own: bool) -> None:
        """Note the repair of an attachment.

        Args:
            repaired: What is shown of it.
        """
        counts = self.counts.setdefault(repaired["network"], {_OWN: 0, _OTHER: 0})
        counts[_OWN if is_own else _OTHER] += 1
        self.recent = [*self.recent, repaired][-_RECENT:]

    def write(self) -> None:
        """Replace the file; errors as `durable.write`."""
        content = {"format": _FORMAT, "counts": self.counts, "recent": self.recent, "held": self.held}
        durable.make_directory(os.path.dirname(self._path))
        durable.write(self._path, json.dumps(content, indent=1).encode(), mode=0o644, flush=False)

    def _read(self) -> None:
        """Read the file. Without a readable one, nothing has been repaired."""
        document = read_cache(self._path, _SHAPE)
        if document and document["format"] == _FORMAT:
            self.counts, self.recent, self.held = document["counts"], document["recent"], document["held"]


def read_if_present(path: str) -> WatchState | None:
    """Return what the service has noted; None on a node without it."""
    with contextlib.suppress(CniError):
        return WatchState(path) if durable.read(path) is not None else None
    return None
