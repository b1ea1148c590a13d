# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import functools
import os
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.files import list_directory
from ansible_collections.cni.node.plugins.module_utils._cni import json_text
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key
from ansible_collections.cni.node.plugins.module_utils._cni.record import RESTORE_KEY, Record, decode, decode_attachment

# Below libcni's cache directory, for what only this collection knows of.
OWN_DIRECTORY: t.Final = "cni.node"

_NAME_LIMIT: t.Final = 255
# Bytes. The largest configuration that is read and the largest result of a plugin make up a record of less.
_SIZE_LIMIT: t.Final = 8 * 1024 * 1024
# How a record that has this key is written.
_LASTING: t.Final = f'"{RESTORE_KEY}":'.encode()


class RecordStore:
    """The records of a directory, one file each, named as libcni names them."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._occupants: dict[str, Key] = {}
        self._occupying = threading.Lock()

    @classmethod
    def of_records(cls, cache_dir: str) -> RecordStore:
        """Return the records of a cache directory, at libcni's place."""
        return cls(os.path.join(cache_dir, "results"))

    @classmethod
    def of_intents(cls, cache_dir: str) -> RecordStore:
        """Return what was begun below a cache directory, where no other runtime looks."""
        return cls(os.path.join(cache_dir, OWN_DIRECTORY, "intents"))

    def read(self, key: Key) -> Record | None:
        """Return the record of an attachment, or nothing where there is none.

        Raises:
            CniError: ``DECODE_FAILURE`` when the file that would be its own cannot be understood.
        """
        if not self.may_have(key):
            return None
        try:
            record = self._read_file(self._usual_path(key))
        except CniError:
            # It may be another attachment's file that is broken.
            record = self._read_file(self._other_path(key))
            if record is None:
                raise
        if record is None or record.attachment.key != key:
            record = self._read_file(self._other_path(key))
        return record

    def may_have(self, key: Key) -> bool:
        """Tell whether there is a file that may be an attachment's, without reading it."""
        return any(map(os.path.lexists, self._paths(key)))

    def write(self, record: Record, *, flush: bool = True) -> None:
        """Keep a record, on disk when this returns; another attachment's file of the same name is left alone.

        Args:
            flush: False for what is needed only while the machine is up.

        Raises:
            CniError: ``IO_FAILURE``; ``INVALID_CONFIG`` for one that is too large.
        """
        durable.make_directory(self.directory, mode=0o700)
        content = record.encode()
        if len(content) > _SIZE_LIMIT:
            what = f"{record.attachment}: its record would have {len(content)} bytes and could never be read again"
            advice = f"expected: {_SIZE_LIMIT} at most; the network's configuration is in it, and longer by a third"
            raise CniError(Code.INVALID_CONFIG, what, advice)
        durable.write(self._occupied(record.attachment.key), content, flush=flush)

    def path_of(self, key: Key) -> str:
        """Return where the attachment's file is, or where it is to be."""
        usual, other = self._usual_path(key), self._other_path(key)
        if os.path.exists(other):
            return other
        return usual if self._key_of(usual) in (None, key) else other

    def remove(self, key: Key, *, flush: bool = False) -> None:
        """Forget an attachment; its file may be broken or gone.

        Args:
            flush: Else a loss of power may bring the file back; its namespace is another one then, and DEL is run once
                more.
        """
        path = self.path_of(key)
        durable.remove(path, flush=flush)
        self._occupants.pop(path, None)

    def read_container(self, attachment: Attachment) -> list[Record]:
        """Return the records of a container's attachments to the same network; broken ones are left out."""
        records, dummy = self._read(self._beginning_with(f"{attachment.network}-{attachment.container_id}-"))
        wanted = attachment.key[:2]
        return [record for record in records if record.attachment.key[:2] == wanted]

    def read_interface(self, attachment: Attachment, networks: t.Iterable[str]) -> list[Record]:
        """Return the records of a container's interface, to whatever network; broken ones are left out.

        Args:
            networks: Those of which even what has come since this was first asked for is seen.
        """
        wanted = attachment.key[1:]
        names = set(self._by_interface.get("-".join(wanted), ()))
        paths = (path for network in networks for path in self._paths((network, *wanted)))
        names.update(os.path.basename(path) for path in paths if os.path.lexists(path))
        records, dummy = self._read(sorted(names))
        return [record for record in records if record.attachment.key[1:] == wanted]

    def read_network(self, name: str) -> tuple[list[Record], dict[str, CniError]]:
        """Return the records of a network's attachments, and what is wrong with each file that may be one, by path."""
        records, broken = self._read(self._beginning_with(f"{name}-"))
        return [record for record in records if record.attachment.network == name], broken

    def read_all(self) -> tuple[list[Record], dict[str, CniError]]:
        """Return every record, and what is wrong with each file that is none, by path."""
        return self._read(self._names())

    def read_lasting(self) -> tuple[list[Record], dict[str, CniError]]:
        """Return the records of what is restored after a reboot, as `read_all`, hardly looking at the others."""
        records, broken = self._read(self._names(), _LASTING)
        return [record for record in records if record.restoration is not None], broken

    def read_containing(self, text: str) -> tuple[list[Record], dict[str, CniError]]:
        """Return what `read_all` returns of the files that have a text of ASCII, hardly looking at the others."""
        return self._read(self._names(), text.encode("ascii"))

    def _read(self, names: t.Iterable[str], containing: bytes = b"") -> tuple[list[Record], dict[str, CniError]]:
        records, broken = [], {}
        for name in names:
            path = os.path.join(self.directory, name)
            try:
                record = self._read_file(path, containing)
            except CniError as exc:
                broken[path] = exc
                continue
            if record is not None:
                records.append(record)
        return records, broken

    def check_key(self, key: Key) -> None:
        """Refuse identifiers that are valid each by itself and together too long for a file name.

        Raises:
            CniError: ``INVALID_ENVIRONMENT``.
        """
        longest = os.path.basename(self._other_path(key))
        if len(os.fsencode(longest)) > _NAME_LIMIT:
            room = _NAME_LIMIT - len(longest) + len("-".join(key))
            raise CniError(
                Code.INVALID_ENVIRONMENT,
                f"network name, container id and interface name are too long together: {len('-'.join(key))} characters",
                f"expected: {room} at most; they make up a file name",
            )

    @functools.cached_property
    def _by_interface(self) -> dict[str, list[str]]:
        """The names of all files, by each ending that may be a container id and an interface name."""
        found: dict[str, list[str]] = {}
        for name in self._names():
            parts = name.partition(":")[0].split("-")
            for start in range(1, len(parts)):
                found.setdefault("-".join(parts[start:]), []).append(name)
        return found

    def _beginning_with(self, beginning: str) -> list[str]:
        return [name for name in self._names() if name.startswith(beginning)]

    def _names(self) -> list[str]:
        return [name for name in list_directory(self.directory) if not durable.is_temporary(name)]

    def _read_file(self, path: str, containing: bytes = b"") -> Record | None:
        content = durable.read(path, limit=_SIZE_LIMIT)
        if content is None or containing not in content:
            return None
        record = decode(content, path)
        if path not in self._paths(record.attachment.key):
            what = f"{path} is not a record: its name is not that of the {record.attachment}, which it tells of"
            raise CniError(Code.DECODE_FAILURE, what, "did somebody copy or rename it?")
        self._occupants[path] = record.attachment.key
        return record

    def _paths(self, key: Key) -> tuple[str, str]:
        """Return both places where an attachment's file may be."""
        return self._usual_path(key), self._other_path(key)

    def _usual_path(self, key: Key) -> str:
        return f"{self.directory}/{'-'.join(key)}"

    def _other_path(self, key: Key) -> str:
        """Return the name for the case that another attachment's names join to the same: it tells where they end."""
        return f"{self._usual_path(key)}:{len(key[0])}.{len(key[1])}"

    def _occupied(self, key: Key) -> str:
        """Return `path_of`, and have it so before there is a file: another thread may write one of the same name."""
        with self._occupying:
            path = self.path_of(key)
            self._occupants[path] = key
        return path

    def _key_of(self, path: str) -> Key | None:
        """Return whose file it is, or is about to be; nothing for one that is not there or does not tell."""
        if path in self._occupants:
            return self._occupants[path]
        if not os.path.lexists(path):
            return None
        try:
            content = durable.read(path, limit=_SIZE_LIMIT) or b""
            return decode_attachment(json_text.as_object(json_text.decode(content, path, recorded=True), path)).key
        except (CniError, KeyError, TypeError, ValueError):
            return None


__all__ = ("OWN_DIRECTORY", "RecordStore")
