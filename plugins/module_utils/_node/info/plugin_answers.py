# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The answers of plugins about themselves, kept until their files change or the node is booted."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.state_file import EVERY, read_cache
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import open_regular
from ansible_collections.cni.node.plugins.module_utils._node.plugins.label import Description

_FORMAT = 1
_ELF = b"\x7fELF"


class PluginAnswers:
    """The answers of plugins, so that a plugin is not run again until its file is replaced or changed.

    Only those of ELF files are kept: what a script says may depend on other files.
    """

    def __init__(self, path: str) -> None:
        """
        Args:
            path: Where the answers are kept, below /run.
        """
        self._path = path
        self._kept = _read(path)
        self._new: dict[str, tuple[list[int], Description]] = {}

    def ask(self, plugin: str, run: t.Callable[[], Description]) -> Description:
        """Return what a plugin has answered, or run it. This can be called by several threads at once.

        Args:
            plugin: The path of the executable.
            run: Runs the plugin; its errors are the caller's.
        """
        identity = _identity(plugin)
        known_identity, known = self._kept.get(plugin, ([], Description()))
        if identity and known_identity == identity:
            return known
        answer = run()
        if identity and _identity(plugin) == identity:
            self._new[plugin] = identity, answer
        return answer

    def save(self) -> None:
        """Keep the new answers. Without access to the file, plugins are run again the next time."""
        if not self._new:
            return
        kept = {path: entry for path, entry in {**self._kept, **self._new}.items() if os.path.exists(path)}
        with contextlib.suppress(CniError):
            durable.write(self._path, json_text.encode({"format": _FORMAT, "answers": kept}), flush=False)


def _identity(plugin: str) -> list[int]:
    """Return the identity of an ELF file, or an empty list."""
    with contextlib.suppress(CniError), open_regular(plugin) as stream:
        return [*durable.file_identity(os.fstat(stream.fileno()))] if stream.read(len(_ELF)) == _ELF else []
    return []


def _read(path: str) -> dict[str, tuple[list[int], Description]]:
    """Read the file. Without a readable one, no plugin has answered."""
    document = read_cache(path, {"format": int, "answers": {EVERY: list}})
    if document is None or document["format"] != _FORMAT:
        return {}
    with contextlib.suppress(ValueError, TypeError):
        return {
            plugin: ([*map(int, identity)], Description(str(release), tuple(map(str, versions))))
            for plugin, (identity, (release, versions)) in document["answers"].items()
        }
    return {}
