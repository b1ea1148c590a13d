# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Files without a name, which no other process can change."""

from __future__ import annotations

import contextlib
import tempfile
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import write_all
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import open_regular

_CHUNK = 1024 * 1024
# Bytes; the limit for an archive of plugins, and for its unpacked files.
SIZE_LIMIT = 512 * 1024 * 1024


def create(directory: str) -> t.IO[bytes]:
    """Return an unnamed file of mode 0600, which only this process can read or change and which disappears with it.

    Args:
        directory: The directory whose file system holds it; other users may write there.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with io_errors("write to", directory):
        return t.cast("t.IO[bytes]", tempfile.TemporaryFile(dir=directory, buffering=0))


def copy_of(path: str, directory: str, what: str) -> t.IO[bytes]:
    """Return a private copy of a regular file. Later changes of the file do not affect it.

    Args:
        what: The name of the file in errors.

    Raises:
        CniError: ``IO_FAILURE``; ``DECODE_FAILURE`` for a file that is too large for an archive of plugins.
    """
    with contextlib.ExitStack() as on_error, open_regular(path) as stream:
        copy = on_error.enter_context(create(directory))
        while chunk := stream.read(_CHUNK):
            append(copy, chunk, directory)
            if copy.tell() > SIZE_LIMIT:
                problem = f"{what} is not unpacked: it has more than {SIZE_LIMIT} bytes"
                raise CniError(Code.DECODE_FAILURE, problem, "expected: an archive of plugins")
        on_error.pop_all()
    return copy


def append(file: t.IO[bytes], content: bytes, directory: str) -> None:
    """Write to a private file.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with io_errors("write to", directory):
        write_all(file, content)
