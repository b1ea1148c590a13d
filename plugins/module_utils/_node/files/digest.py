# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""SHA-256 digests of files, which are read again only after a change."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import file_identity
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors

_CHUNK = 1024 * 1024


@contextlib.contextmanager
def open_regular(path: str, *, follow: bool = True) -> t.Iterator[t.IO[bytes]]:
    """Open a regular file for reading; refuse pipes and devices without waiting for them.

    Args:
        follow: Whether it may be a symbolic link.

    Raises:
        CniError: ``IO_FAILURE``, also for errors that the caller gets while reading.
    """
    flags = os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)

    def opener(name: str, mode: int) -> int:
        return os.open(name, mode | flags)

    with io_errors("read", path), open(path, "rb", buffering=0, opener=opener) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise CniError(Code.IO_FAILURE, f"cannot read {path}: it is not a regular file")
        yield t.cast("t.IO[bytes]", stream)


def digest_of(path: str, algorithm: str = "sha256", *, follow: bool = True) -> str:
    """Return the digest of a file's content in hexadecimal digits.

    Raises:
        CniError: As `open_regular`.
    """
    with open_regular(path, follow=follow) as stream:
        return digest_of_stream(stream, algorithm)


def digest_of_stream(stream: t.IO[bytes], algorithm: str = "sha256") -> str:
    """Return the digest of an open file, from its beginning."""
    digest = hashlib.new(algorithm)
    stream.seek(0)
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Digests:
    """SHA-256 digests of files. A file is read again only if it was replaced or changed since its last digest.

    Attributes:
        by_path: Device, inode, size, mtime, ctime and digest of each requested file.
    """

    def __init__(self, previous: t.Mapping[str, t.Sequence[t.Any]]) -> None:
        self._previous = previous
        self.by_path: dict[str, list[t.Any]] = {}

    def sha256(self, path: str) -> str:
        """Return the digest of a file.

        Raises:
            CniError: ``IO_FAILURE``, also for a file that is changed while it is read.
        """
        with io_errors("read", path):
            identity = file_identity(os.stat(path))
        entry = list(self._previous.get(path, ()))
        if entry[:-1] != [*identity]:
            entry = _read_digest(path)
        self.by_path[path] = entry
        return str(entry[-1])


def _read_digest(path: str) -> list[t.Any]:
    """Read a file and return its identity with its digest."""
    with open_regular(path) as stream:
        before = file_identity(os.fstat(stream.fileno()))
        digest = digest_of_stream(stream)
        if before != file_identity(os.fstat(stream.fileno())):
            raise concurrent_change_error(path)
    return [*before, digest]


def concurrent_change_error(path: str) -> CniError:
    """Return the error for a file that changed while it was read."""
    advice = "its content was not used; find out which program writes to it, and run the task again"
    return CniError(Code.IO_FAILURE, f"{path} was changed while it was read", advice)
