# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Files of JSON in which this collection keeps what a later run needs: damage is an error, and never counts as an empty file."""

from __future__ import annotations

import contextlib
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

# What a value has to be: a type; a list with the shape of its entries; an object with the shape of each key, or with that of
# all its values under `EVERY`.
Shape = t.Any
EVERY = "*"
_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
}
_LIMIT = 4 * 1024 * 1024


class Optional(t.NamedTuple):
    """The shape of a key that may be missing."""

    shape: Shape


class StateFile(t.NamedTuple):
    """A file that this collection writes and reads, and that has one JSON object.

    Attributes:
        what: What it is, as errors name it.
        advice: What to do if it is damaged.
    """

    path: str
    what: str
    advice: str

    def read(self, shape: Shape, *, limit: int = _LIMIT) -> JsonObject | None:
        """Return its object, or None if there is no such file.

        Args:
            limit: Bytes; a longer file is an error.

        Raises:
            CniError: ``DECODE_FAILURE``: it is damaged, or not a regular file; ``IO_FAILURE``.
        """
        problem = _find_oddity(self.path, limit)
        if problem:
            raise self.error(problem)
        content = durable.read(self.path, limit=limit)
        if content is None:
            return None
        try:
            value = json_text.decode(content, "it", recorded=True)
        except CniError as exc:
            raise self.error(exc.msg) from exc
        try:
            require_shape(value, shape)
        except ValueError as exc:
            raise self.error(str(exc)) from exc
        return json_text.as_object(value, self.path)

    def error(self, problem: str) -> CniError:
        """Return the error for a damaged file."""
        return CniError(Code.DECODE_FAILURE, f"{self.path} is damaged ({self.what}): {problem}", self.advice)


def read_cache(path: str, shape: Shape) -> JsonObject | None:
    """Return the object of a file that can be made again, or None if it is missing or damaged."""
    with contextlib.suppress(CniError):
        return StateFile(path, "a cache", "").read(shape)
    return None


def _find_oddity(path: str, limit: int) -> str:
    """Return why a file is not one that this collection has written, or an empty string, also for a missing file.

    This collection writes regular files only. A symbolic link may lead to a file system that is not mounted yet, so that its
    missing target does not mean that nothing was kept.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with io_errors("read", path):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return ""
    if stat.S_ISREG(status.st_mode):
        return f"it has {status.st_size} bytes; expected: at most {limit}" if status.st_size > limit else ""
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe"}
    return f"it is {kinds.get(stat.S_IFMT(status.st_mode), 'not a regular file')}; expected: a regular file"


def require_shape(value: t.Any, shape: Shape, place: str = "") -> None:
    """Refuse a value of another shape. Other keys of objects are allowed.

    Raises:
        ValueError: The text names the place, what was expected and what was found.
    """
    shape = shape.shape if isinstance(shape, Optional) else shape
    kind = dict if isinstance(shape, dict) else list if isinstance(shape, list) else shape
    if not _has_type(value, kind):
        raise ValueError(f"{place or '/'}: expected {_TYPES[kind]}, found {json_text.kind(value)}")
    if isinstance(shape, list):
        for position, entry in enumerate(value):
            require_shape(entry, shape[0], f"{place}/{position}")
    elif isinstance(shape, dict):
        for key, inner in (dict.fromkeys(value, shape[EVERY]) if EVERY in shape else shape).items():
            if key in value:
                require_shape(value[key], inner, f"{place}/{key}")
            elif not isinstance(inner, Optional):
                raise ValueError(f"{place or '/'}: the key '{key}' is missing")


def _has_type(value: t.Any, kind: type) -> bool:
    """Return whether a value has a type; a boolean is no integer, and an integer is a number, too."""
    return isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) is (kind is bool)
