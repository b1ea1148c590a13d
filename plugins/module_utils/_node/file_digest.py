# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import hashlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error

_CHUNK: t.Final = 1024 * 1024


def digest_of(path: str, algorithm: str = "sha256") -> str:
    """Return the digest of a file's content in hexadecimal digits.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    digest = hashlib.new(algorithm)
    try:
        with open(path, "rb", buffering=0) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as exc:
        raise io_error("read", path, exc) from exc
    return digest.hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Digests:
    """SHA-256 of files, read again only where a file is not the one, or not as, it was when they were last taken.

    Attributes:
        seen: Of each file that was asked for: device, inode, size, times of change of content and inode, digest.
    """

    def __init__(self, known: t.Mapping[str, t.Sequence[t.Any]]) -> None:
        self._known = known
        self.seen: dict[str, list[t.Any]] = {}

    def of(self, path: str) -> str:
        identity = _identity(path)
        known = list(self._known.get(path, ()))
        if known[:-1] != identity:
            known = [*identity, digest_of(path)]
        self.seen[path] = known
        return str(known[-1])

    def note(self, path: str, digest: str) -> None:
        """Take in what is known of a file just written."""
        self.seen[path] = [*_identity(path), digest]


def _identity(path: str) -> list[int]:
    try:
        status = os.stat(path)
    except OSError as exc:
        raise io_error("read", path, exc) from exc
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


__all__ = ("Digests", "digest_of", "sha256")
