# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The list of files in the conf dir that this collection has written."""

from __future__ import annotations

import hashlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.state_file import EVERY, StateFile
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange

# No runtime reads a file of this name: it has none of the endings.
_FILE = ".cni.node.owned"


class Ownership:
    """The list of files that this collection has written to a directory of network configurations.

    A file whose content differs from the list was changed by another program, and is not removed.
    """

    def __init__(self, directory: str, files: dict[str, dict[str, str]]) -> None:
        self._directory = directory
        self._files = files

    @classmethod
    def load(cls, directory: str) -> Ownership:
        """Read the list. An unreadable list is an error, because a guess could remove files of other programs.

        Raises:
            CniError: ``DECODE_FAILURE``, ``IO_FAILURE``.
        """
        advice = "remove it; the configurations that it lists then count as written by other programs"
        file = StateFile(os.path.join(directory, _FILE), "the list of own configurations", advice)
        keys = file.read({"files": {EVERY: {"network": str, "sha256": str}}})
        return cls(directory, keys["files"] if keys else {})

    def networks_by_file(self) -> dict[str, str]:
        """Return the names of the listed files, each with the name of the network that it was written for."""
        return {filename: str(file.get("network", "")) for filename, file in sorted(self._files.items())}

    def is_unaltered(self, filename: str) -> bool:
        """Return whether a listed file exists with the content that was written."""
        content = durable.read(os.path.join(self._directory, filename))
        if content is None:
            return False
        return hashlib.sha256(content).hexdigest() in self._files[filename].get("sha256", "").split()

    def differs(self, changes: t.Iterable[FileChange]) -> bool:
        """Return whether changes would alter the list."""
        return self._after(changes) != self._files

    def claim(self, changes: t.Iterable[FileChange]) -> None:
        """List new content beside the old, so that both count as written by this collection if the run is killed."""
        claimed = dict(self._files)
        for filename, file in self._after(changes).items():
            digests = {*self._files.get(filename, {}).get("sha256", "").split(), file["sha256"]}
            claimed[filename] = {**file, "sha256": " ".join(sorted(digests - {""}))}
        self._save(claimed)

    def settle(self, changes: t.Iterable[FileChange]) -> None:
        """List the files that were written, and drop those that were removed."""
        self._save(self._after(changes))

    def _after(self, changes: t.Iterable[FileChange]) -> dict[str, dict[str, str]]:
        files = {
            name: file for name, file in self._files.items() if os.path.lexists(os.path.join(self._directory, name))
        }
        for change in changes:
            filename = os.path.basename(change.path)
            if change.after is None:
                files.pop(filename, None)
            elif change.changed or filename in files:
                files[filename] = {"network": change.network, "sha256": hashlib.sha256(change.after).hexdigest()}
        return files

    def _save(self, files: dict[str, dict[str, str]]) -> None:
        if files != self._files:
            path = os.path.join(self._directory, _FILE)
            if files:
                durable.write(path, json_text.encode({"files": files}) + b"\n", mode=0o644)
            else:
                durable.remove(path)
            self._files = files
