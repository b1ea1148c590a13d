# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

_SIZE_LIMIT: t.Final = 1024 * 1024


@dataclasses.dataclass(frozen=True)
class SavedValue:
    """A kernel setting that was changed here.

    Attributes:
        before: What it was.
        ours: What it was set to.
        had: What it had been set to here before that, as long as a run has not ended that sets it to another value.
    """

    before: str
    ours: str
    had: str | None = None


class KernelMemory:
    """Which kernel settings were changed here, so that they can be put back; kept durably."""

    def __init__(self, cache_dir: str) -> None:
        """Raises `CniError` ``DECODE_FAILURE`` or ``IO_FAILURE``: putting back by a guess is none of our business."""
        self._path = os.path.join(cache_dir, "cni.node", "kernel.json")
        self.settings = self._load()

    def save(self, settings: dict[str, SavedValue]) -> None:
        if settings == self.settings:
            return
        if settings:
            durable.make_directory(os.path.dirname(self._path), mode=0o700)
            content = {key: _content(taken) for key, taken in sorted(settings.items())}
            durable.write(self._path, json_text.encode({"settings": content}) + b"\n")
        else:
            durable.remove(self._path)
        self.settings = settings

    def _load(self) -> dict[str, SavedValue]:
        content = durable.read(self._path, limit=_SIZE_LIMIT)
        if content is None:
            return {}
        document = json_text.as_object(json_text.decode(content, self._path), self._path)
        try:
            return {
                key: SavedValue(str(taken["before"]), str(taken["ours"]), taken.get("had"))
                for key, taken in document["settings"].items()
            }
        except (KeyError, TypeError, AttributeError) as exc:
            raise CniError(
                Code.DECODE_FAILURE,
                f"{self._path}: /settings: expected objects with before and ours",
                "remove the file; kernel settings stay as they are then",
            ) from exc


def _content(taken: SavedValue) -> dict[str, str]:
    return {key: value for key, value in dataclasses.asdict(taken).items() if value is not None}


__all__ = ("KernelMemory", "SavedValue")
