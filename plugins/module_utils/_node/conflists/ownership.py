# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import json_text
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256

# No runtime reads a file of this name: it has none of the endings.
_FILE: t.Final = ".cni.node.owned"


class Ownership:
    """Which files of a directory of network configurations were written by this collection.

    A file that somebody has changed since is not taken for ours any more.
    """

    def __init__(self, directory: str, files: dict[str, dict[str, str]]) -> None:
        self._directory = directory
        self._files = files

    @classmethod
    def load(cls, directory: str) -> Ownership:
        """Read the list; a list that cannot be read is an error, for purging by a guess is none of our business.

        Raises:
            CniError: ``DECODE_FAILURE``, ``IO_FAILURE``.
        """
        path = os.path.join(directory, _FILE)
        content = durable.read(path)
        if content is None:
            return cls(directory, {})
        files = json_text.as_object(json_text.decode(content, path), path).get("files")
        if not isinstance(files, dict) or not all(isinstance(file, dict) for file in files.values()):
            raise CniError(
                Code.DECODE_FAILURE,
                f"{path}: /files: expected an object of objects",
                "remove the file to disown what it lists",
            )
        return cls(directory, files)

    def files(self) -> list[tuple[str, str]]:
        """Return the name of each file of ours with its network's."""
        return [(filename, str(file.get("network"))) for filename, file in sorted(self._files.items())]

    def network_of(self, filename: str) -> str:
        return str(self._files.get(filename, {}).get("network", ""))

    def is_unaltered(self, filename: str) -> bool:
        """Tell whether a file is there and is as we wrote it."""
        content = durable.read(os.path.join(self._directory, filename))
        return content is not None and sha256(content) in self._files[filename].get("sha256", "").split()

    def differs(self, changes: t.Iterable[FileChange]) -> bool:
        """Tell whether carrying out changes would leave another list."""
        return self._settled(changes) != self._files

    def claim(self, changes: t.Iterable[FileChange]) -> None:
        """Note what is about to be written beside what is there, so that either is ours if we are killed."""
        claimed = dict(self._files)
        for filename, file in self._settled(changes).items():
            digests = {*self._files.get(filename, {}).get("sha256", "").split(), file["sha256"]}
            claimed[filename] = {**file, "sha256": " ".join(sorted(digests - {""}))}
        self._save(claimed)

    def settle(self, changes: t.Iterable[FileChange]) -> None:
        """Note what has been written and removed."""
        self._save(self._settled(changes))

    def _settled(self, changes: t.Iterable[FileChange]) -> dict[str, dict[str, str]]:
        files = {
            name: file for name, file in self._files.items() if os.path.lexists(os.path.join(self._directory, name))
        }
        for change in changes:
            filename = os.path.basename(change.path)
            if change.after is None:
                files.pop(filename, None)
            elif change.changed or filename in files:
                files[filename] = {"network": change.network, "sha256": sha256(change.after)}
        return files

    def _save(self, files: dict[str, dict[str, str]]) -> None:
        if files != self._files:
            path = os.path.join(self._directory, _FILE)
            if files:
                durable.write(path, json_text.encode({"files": files}) + b"\n", mode=0o644)
            else:
                durable.remove(path)
            self._files = files


__all__ = ("Ownership",)
