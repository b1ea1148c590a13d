# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Unpack the archive in which the library goes to a node."""

from __future__ import annotations

import hashlib
import io
import typing as t
import zipfile

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

# Bytes, several times the size of a library.
_SIZE_LIMIT = 32 * 1024 * 1024


def digest_of(files: t.Mapping[str, bytes]) -> str:
    """Return the SHA-256 of files, which depends on nothing but their names and contents."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def unpack(content: bytes, digest: str) -> dict[str, bytes]:
    """Return the files of an archive, after comparing them with the digest.

    Raises:
        CniError: ``DECODE_FAILURE``: it is damaged, or has other files than those of the digest.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _SIZE_LIMIT:
                raise CniError(Code.DECODE_FAILURE, "the archive of the library is too large")
            files = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError, ValueError, OSError, RuntimeError) as exc:
        raise CniError(Code.DECODE_FAILURE, "the archive of the library is damaged", str(exc)) from exc
    received = digest_of(files)
    if received != digest:
        raise CniError(
            Code.DECODE_FAILURE, f"the library that arrived has the digest {received}", f"expected: {digest}"
        )
    return files
