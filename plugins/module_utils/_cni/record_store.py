# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A directory of records or intents, one file for each attachment."""

from __future__ import annotations

import functools
import os
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text
from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment, Key
from ansible_collections.cni.node.plugins.module_utils._cni.record import RESTORE_KEY, Record, decode, decode_attachment

# Subdirectory of libcni's cache directory for the files of this collection.
OWN_DIRECTORY = "cni.node"

_NAME_LIMIT = 255
# Bytes. The largest accepted configuration and plugin result together give a smaller record.
RECORD_LIMIT = 8 * 1024 * 1024
# How `Record.encode` writes this key.
_RESTORE_MARKER = f'"{RESTORE_KEY}":'.encode()


class RecordStore:
    """The records of a directory, one file each, with libcni's file names."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._reserved: dict[str, Key] = {}
        self._reserving = threading.Lock()

    @classmethod
    def of_records(cls, cache_dir: str) -> RecordStore:
        """Return the store of the records of a cache directory, in libcni's subdirectory."""
        return cls(os.path.join(cache_dir, "results"))

    @classmethod
    def of_intents(cls, cache_dir: str) -> RecordStore:
        """Return the store of the intents of a cache directory, which other runtimes do not read."""
        return cls(os.path.join(cache_dir, OWN_DIRECTORY, "intents"))

    def read(self, key: Key) -> Record | None:
        """Return the record of an attachment, or None.

        Raises:
            CniError: ``DECODE_FAILURE`` if its file cannot be read.
        """
        if not self.may_have(key):
            return None
        try:
            record = self._read_file(self._usual_path(key))
        except CniError:
            # The broken file may belong to another attachment.
            record = self._read_file(self._other_path(key))
            if record is None:
                raise
        if record is None or record.attachment.key != key:
            record = self._read_file(self._other_path(key))
        return record

    def may_have(self, key: Key) -> bool:
        """Return whether a file exists that may be an attachment's record, without reading it."""
        return any(map(os.path.lexists, self._paths(key)))

    def write(self, record: Record, *, flush: bool = True) -> None:
        """Write a record durably, without replacing another attachment's file of the same name.

        Args:
            flush: False for a record that is needed only until the next reboot.

        Raises:
            CniError: ``IO_FAILURE``; ``INVALID_CONFIG`` if it is too large.
        """
        durable.make_directory(self.directory, mode=0o700)
        content = record.encode()
        if len(content) > RECORD_LIMIT:
            what = f"{record.attachment}: its record would have {len(content)} bytes, too many to be read back"
            advice = f"expected: at most {RECORD_LIMIT}; the record contains the network configuration in base64"
            raise CniError(Code.INVALID_CONFIG, what, advice)
        durable.write(self._reserve(record.attachment.key), content, flush=flush)

    def path_of(self, key: Key) -> str:
        """Return the path of the attachment's file, which need not exist yet."""
        usual, other = self._usual_path(key), self._other_path(key)
        if os.path.exists(other):
            return other
        return usual if self._key_of(usual) in (None, key) else other

    def remove(self, key: Key, *, flush: bool = False) -> None:
        """Remove the record of an attachment, even if its file is broken or missing.

        Args:
            flush: Wait for the disk. Without it, the file may reappear after a loss of power, and DEL is then run once
                more without a network namespace.
        """
        path = self.path_of(key)
        durable.remove(path, flush=flush)
        self._reserved.pop(path, None)

    def read_container(self, attachment: Attachment) -> list[Record]:
        """Return the readable records of a container's attachments to the same network."""
        records, dummy = self._read(self._names_with_prefix(f"{attachment.network}-{attachment.container_id}-"))
        network_and_container = attachment.key[:2]
        return [record for record in records if record.attachment.key[:2] == network_and_container]

    def read_interface(self, attachment: Attachment, networks: t.Iterable[str]) -> list[Record]:
        """Return the readable records of a container's interface, for all networks.

        Args:
            networks: Networks whose records are found even if written after the first call, which lists the directory.
        """
        interface = attachment.key[1:]
        names = set(self._by_interface.get("-".join(interface), ()))
        paths = (path for network in networks for path in self._paths((network, *interface)))
        names.update(os.path.basename(path) for path in paths if os.path.lexists(path))
        records, dummy = self._read(sorted(names))
        return [record for record in records if record.attachment.key[1:] == interface]

    def read_network(self, name: str) -> tuple[list[Record], dict[str, CniError]]:
        """Return the records of a network's attachments, and the error of each unreadable file that may be one, by path."""
        records, broken = self._read(self._names_with_prefix(f"{name}-"))
        return [record for record in records if record.attachment.network == name], broken

    def read_all(self) -> tuple[list[Record], dict[str, CniError]]:
        """Return every record, and the error of each unreadable file, by path."""
        return self._read(self._names())

    def read_to_restore(self) -> tuple[list[Record], dict[str, CniError]]:
        """Return the records to restore after a reboot, as `read_all`, without parsing the others.

        A file that is cut off may be such a record, and counts as unreadable.
        """
        records, broken = self._read(self._names(), _RESTORE_MARKER)
        return [record for record in records if record.restoration is not None], broken

    def read_containing(self, text: str) -> tuple[list[Record], dict[str, CniError]]:
        """Return the records whose file contains an ASCII text, as `read_all`, without parsing the others."""
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
        """Refuse identifiers that are valid but too long in total for a file name.

        Raises:
            CniError: ``INVALID_ENVIRONMENT``.
        """
        longest = os.path.basename(self._other_path(key))
        if len(os.fsencode(longest)) > _NAME_LIMIT:
            room = _NAME_LIMIT - len(longest) + len("-".join(key))
            raise CniError(
                Code.INVALID_ENVIRONMENT,
                f"network name, container id and interface name are too long in total: {len('-'.join(key))} characters",
                f"expected: {room} at most; they make up a file name",
            )

    @functools.cached_property
    def _by_interface(self) -> dict[str, list[str]]:
        """The names of all files, by each suffix that may be a container id and an interface name."""
        by_suffix: dict[str, list[str]] = {}
        for name in self._names():
            parts = name.partition(":")[0].split("-")
            for start in range(1, len(parts)):
                by_suffix.setdefault("-".join(parts[start:]), []).append(name)
        return by_suffix

    def _names_with_prefix(self, prefix: str) -> list[str]:
        return [name for name in self._names() if name.startswith(prefix)]

    def _names(self) -> list[str]:
        return [name for name in list_directory(self.directory) if not durable.is_temporary(name)]

    def _read_file(self, path: str, containing: bytes = b"") -> Record | None:
        content = durable.read(path, limit=RECORD_LIMIT)
        if content is None and os.path.islink(path):  # perhaps to a file system that is not mounted yet
            what = f"{path} is not a record: it is a symbolic link to a missing file"
            raise CniError(Code.DECODE_FAILURE, what, "mount its file system, or remove the link")
        if content is None or (containing not in content and content.rstrip().endswith(b"}")):
            return None
        record = decode(content, path)
        if path not in self._paths(record.attachment.key):
            what = f"{path} is not a record: its name does not match its content, the {record.attachment}"
            raise CniError(Code.DECODE_FAILURE, what, "rename it back, or remove it if it is a copy")
        self._reserved[path] = record.attachment.key
        return record

    def _paths(self, key: Key) -> tuple[str, str]:
        """Return both possible paths of an attachment's file."""
        return self._usual_path(key), self._other_path(key)

    def _usual_path(self, key: Key) -> str:
        return f"{self.directory}/{'-'.join(key)}"

    def _other_path(self, key: Key) -> str:
        """Return the path used if another attachment has the usual path; a suffix with the names' lengths makes it unique."""
        return f"{self._usual_path(key)}:{len(key[0])}.{len(key[1])}"

    def _reserve(self, key: Key) -> str:
        """Return `path_of` and reserve it, as another thread may write a file of the same name."""
        with self._reserving:
            path = self.path_of(key)
            self._reserved[path] = key
        return path

    def _key_of(self, path: str) -> Key | None:
        """Return the attachment key of a file or of a reserved path; None if it is missing or broken.

        Raises:
            CniError: ``IO_FAILURE``: the file may be that of another attachment.
        """
        if path in self._reserved:
            return self._reserved[path]
        if not os.path.lexists(path):
            return None
        content = durable.read(path, limit=RECORD_LIMIT) or b""
        try:
            return decode_attachment(json_text.as_object(json_text.decode(content, path, recorded=True), path)).key
        except (CniError, KeyError, TypeError, ValueError):
            return None
