# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The file on the controller that stores which host has which part of a range."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text, lock
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

# Seconds.
_LOCK_TIMEOUT = 30.0
_MODE = 0o644

Assignments = dict[str, str]


class AssignmentsFile:
    """A file on the controller that stores which host has which part of a range.

    It is a JSON object that maps each range to an object of host names and parts. People may read it, edit it and keep it
    under version control.
    """

    def __init__(self, path: str) -> None:
        """
        Args:
            path: An absolute path. The file need not exist.

        Raises:
            CniError: ``INVALID_CONFIG``: the path is relative, so it would depend on the working directory.
        """
        if not os.path.isabs(path):
            raise CniError(
                Code.INVALID_CONFIG,
                f"file: {path!r} is not absolute",
                "expected: a path such as inventory_dir ~ '/cni_node_subnets.json'",
            )
        # A symbolic link stays a link when the file is replaced.
        self._path = os.path.realpath(path)

    def update(self, name: str, assign: t.Callable[[Assignments], Assignments], *, save: bool) -> Assignments:
        """Return the parts of a range that hosts get, and add them to the file.

        Args:
            name: The range.
            assign: Takes the stored parts of the range and returns the parts that hosts get.
            save: Whether to write the file. It is not written if nothing is new.

        Raises:
            CniError: ``IO_FAILURE``, ``DECODE_FAILURE`` or ``INVALID_CONFIG``, with the file's name; or an error of ``assign``.
        """
        kept = self._read().get(name, {})
        result = self._assign(assign, kept)
        if not save or {**kept, **result} == kept:
            return result
        directory, base = os.path.split(self._path)
        if not os.path.isdir(directory):
            raise CniError(
                Code.IO_FAILURE, f"file: there is no directory {directory}", "create it, or set another path"
            )
        guard = os.path.join(directory, f".{base}.lock")
        with lock.hold_lock(guard, exclusive=True, timeout=_LOCK_TIMEOUT, what=f"the file {self._path}"):
            content = self._read()
            kept = content.get(name, {})
            result = self._assign(assign, kept)
            self._write({**content, name: {**kept, **result}})
        return result

    def _assign(self, assign: t.Callable[[Assignments], Assignments], kept: Assignments) -> Assignments:
        try:
            return assign(kept)
        except CniError as exc:
            raise exc.with_detail(f"assignments are read from {self._path}") from None

    def _read(self) -> dict[str, Assignments]:
        text = durable.read(self._path)
        content = json_text.decode(text, self._path, unique_keys=True) if text is not None else {}
        if not isinstance(content, dict) or not all(map(_is_assignments, content.values())):
            raise CniError(
                Code.INVALID_CONFIG,
                f"{self._path}: not an assignments file",
                'expected: {"RANGE": {"HOST": "SUBNET", ...}, ...}, all of them strings',
            )
        return content

    def _write(self, content: dict[str, Assignments]) -> None:
        text = json.dumps(content, indent=2, sort_keys=True) + "\n"
        mode = os.stat(self._path).st_mode & 0o777 if os.path.exists(self._path) else _MODE
        durable.write(self._path, text.encode("utf-8", "surrogatepass"), mode=mode)


def _is_assignments(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())
