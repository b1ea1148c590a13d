# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the lists of containers that container runtimes keep on disk."""

from __future__ import annotations

import contextlib
import functools
import json
import os

from ansible_collections.cni.node.plugins.module_utils._base import durable, printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import runtime_settings
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import RecordOwner, Setting

# Bytes. A list of containers/storage has about 1 kB for each container.
_LIST_LIMIT = 64 * 1024 * 1024
# Seconds to wait while Podman writes to its database.
_LOCK_TIMEOUT = 5.0


class RuntimeState:
    """The lists of containers that a runtime keeps on the node. They are read for every question, because they change."""

    def __init__(self, runtime: RecordOwner, root: str = "/") -> None:
        """
        Args:
            root: All paths are below it; another directory in tests.
        """
        self._runtime = runtime
        self._root = root.rstrip("/")
        self._lists: dict[str, tuple[tuple[int, ...], frozenset[str]]] = {}

    @functools.cached_property
    def _directories(self) -> dict[str, tuple[str, ...]]:
        """The existing directories of each setting."""
        return {name: self._find_directories(setting) for name, setting in self._runtime.settings.items()}

    def exists(self) -> bool:
        """Return whether the runtime has run on this node, as its usual and its configured directories show.

        Raises:
            CniError: A configuration file of the runtime cannot be read.
        """
        listings = self._runtime.listings
        return bool(self._find(*(listings.markers or listings.required)))

    def find_container(self, container_id: str) -> str:
        """Return where the runtime lists a container, or an empty string.

        Raises:
            CniError: Not all lists of the runtime can be read.
        """
        listings, all_names = self._runtime.listings, self._names(container_id)
        if not self._find(*listings.required):
            expected = ", ".join(f"{self._usual_path(pattern)}" for pattern in listings.required)
            what = f"{self._runtime.name} has no list of containers on this node"
            raise CniError(Code.IO_FAILURE, what, f"expected: {expected}")
        entries = (pattern.format_map(names) for names in all_names for pattern in listings.entries)
        found = next((path for pattern in entries for path in self._find(pattern)), "")
        own_id = all_names[0]["id"]
        found = found or next((path for path in self._find(*listings.json) if own_id in self._list_ids(path)), "")
        found = found or next((path for path in self._find(*listings.sqlite) if _has_row(path, own_id)), "")
        return found or self._find_with_command(own_id)

    def _list_ids(self, path: str) -> frozenset[str]:
        """Return the IDs of a list, which is read again only when it has changed."""
        identity = _file_identity(path)
        if self._lists.get(path, (None,))[0] != identity:
            self._lists[path] = identity, _read_ids(path)
        return self._lists[path][1]

    def _names(self, container_id: str) -> list[dict[str, str]]:
        """Return the values of the placeholders in paths. The pattern of the ID admits no special character."""
        names = self._runtime.names(container_id)
        if not names:
            raise CniError(Code.INTERNAL, f"{container_id} is not a container ID of {self._runtime.name}")
        return names

    def _usual_path(self, pattern: str) -> str:
        name, slash, rest = pattern.partition("/")
        return f"{(*self._runtime.settings[name].defaults, name)[0]}{slash}{rest}"

    def _find_with_command(self, container_id: str) -> str:
        """Ask the runtime's program if it has a list that only the program can read."""
        listings = self._runtime.listings
        for path in self._find(*listings.unreadable):
            executable = program.find(listings.command[0])
            if executable is None:
                raise CniError(
                    Code.IO_FAILURE, f"{path} can be read only by {listings.command[0]}, which is not installed"
                )
            if container_id in program.output([executable, *listings.command[1:]]).split():
                return path
        return ""

    def _find(self, *patterns: str) -> list[str]:
        """Return the existing paths of patterns that begin with the name of a setting. Links count, even broken ones."""
        paths: list[str] = []
        for pattern in patterns:
            name, dummy, rest = pattern.partition("/")
            for directory in self._directories[name]:
                paths += durable.find_paths(directory, rest)
        return paths

    def _find_directories(self, setting: Setting) -> tuple[str, ...]:
        usual = [path for pattern in setting.defaults for path in durable.find_paths(self._root, pattern)]
        configured = [path for found in runtime_settings.find_configured(setting, self._root) for path in found.paths]
        return tuple(dict.fromkeys(map(os.path.realpath, (*usual, *configured))))


def _file_identity(path: str) -> tuple[int, ...]:
    """Return what changes with the content of a file.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with io_errors("examine", path):
        status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read_ids(path: str) -> frozenset[str]:
    """Return the IDs in a JSON list of objects.

    Raises:
        CniError: The file is not such a list.
    """
    content = durable.read(path, limit=_LIST_LIMIT)
    try:
        entries = json.loads(content or b"")  # a file that a loss of power emptied is not an empty list
        if not isinstance(entries, (list, type(None))):
            raise TypeError("it is another value")
        return frozenset(str(entry["id"]) for entry in entries or ())
    except (ValueError, TypeError, KeyError, RecursionError) as exc:
        what = f"{path} is not a list of containers: {printable.line(str(exc))}"
        raise CniError(Code.DECODE_FAILURE, what, "expected: a JSON list of objects with the key id") from exc


def _has_row(path: str, container_id: str) -> bool:
    """Return whether Podman's database has a container.

    Raises:
        CniError: It cannot be read, for example because an interrupted transaction has to be rolled back first.
    """
    try:
        return _query(path, container_id)
    except Exception as exc:  # the module may be missing, and its errors are its own
        raise CniError(Code.IO_FAILURE, f"cannot read the database {path}: {printable.line(str(exc))}") from exc


def _query(path: str, container_id: str) -> bool:
    import sqlite3
    import urllib.parse

    if not os.path.isfile(path):  # opening a pipe would block
        raise ValueError("it is not a regular file")
    connection = sqlite3.connect(f"file:{urllib.parse.quote(path)}?mode=ro", uri=True, timeout=_LOCK_TIMEOUT)
    with contextlib.closing(connection):
        rows = connection.execute("SELECT 1 FROM ContainerConfig WHERE ID = ?", (container_id,))
        return rows.fetchone() is not None
