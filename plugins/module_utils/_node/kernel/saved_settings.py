# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The values that kernel settings had before this collection changed them."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.state_file import EVERY, Optional, Shape, StateFile
from ansible_collections.cni.node.plugins.module_utils._node.files.change import remove_empty

_SIZE_LIMIT = 1024 * 1024
_SHAPE: Shape = {"settings": {EVERY: {"before": str, "ours": str, "had": Optional(str)}}}


class SavedValue(t.NamedTuple):
    """The values of a kernel setting that this collection has changed.

    Attributes:
        before: The value before the first change.
        ours: The value that this collection has set last.
        had: While a run changes `ours`: the value that an earlier run has set, or None.
    """

    before: str
    ours: str
    had: str | None = None


class SavedValues:
    """The kernel settings that this collection has changed, kept on disk until they are restored."""

    def __init__(self, cache_dir: str) -> None:
        """Read the file. An unreadable one is an error, because a guess could restore a wrong value.

        Raises:
            CniError: ``DECODE_FAILURE``, ``IO_FAILURE``.
        """
        self._path = os.path.join(cache_dir, "cni.node", "kernel.json")
        self.settings = self._load()

    def save(self, settings: dict[str, SavedValue]) -> None:
        if settings == self.settings:
            return
        if settings:
            durable.make_directory(os.path.dirname(self._path), mode=0o700)
            content = {key: _content(saved) for key, saved in sorted(settings.items())}
            durable.write(self._path, json_text.encode({"settings": content}) + b"\n")
        else:
            durable.remove(self._path)
            remove_empty(os.path.dirname(self._path))
        self.settings = settings

    def _load(self) -> dict[str, SavedValue]:
        advice = "remove it; kernel settings then keep their current values"
        document = StateFile(self._path, "the saved kernel settings", advice).read(_SHAPE, limit=_SIZE_LIMIT)
        settings = document["settings"] if document else {}
        return {key: SavedValue(saved["before"], saved["ours"], saved.get("had")) for key, saved in settings.items()}


def _content(saved: SavedValue) -> dict[str, str]:
    return {key: value for key, value in saved._asdict().items() if value is not None}
