# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""An archive of text files whose size is bounded."""

from __future__ import annotations

import gzip
import io
import tarfile
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity

SIZE_LIMIT = 5 * 1024 * 1024
# Bytes of one file before it is compressed.
_FILE_LIMIT = 2 * 1024 * 1024
_MODE = 0o600


class Packed(t.NamedTuple):
    """An archive.

    Attributes:
        sizes: Bytes of each file.
        cut: The names of the files of which a part was left out.
    """

    content: bytes
    sizes: t.Mapping[str, int]
    cut: list[str]


def pack(
    top: str,
    files: t.Mapping[str, str],
    now: float,
    first: t.Mapping[str, t.Callable[[t.Sequence[str]], str]] | None = None,
) -> Packed:
    """Return an archive of files in a directory. The middle of a file is left out if the archive would be too large.

    Args:
        top: The directory that holds the files.
        files: Texts by their paths below it.
        first: Files before these, whose texts depend on the names of files of which a part is left out.
    """
    limit = _FILE_LIMIT
    while True:
        parts = {name: _cut(text, limit) for name, text in files.items()}
        cut = [name for name, (dummy, is_cut) in parts.items() if is_cut]
        contents = {name: describe(cut).encode("utf-8", "backslashreplace") for name, describe in (first or {}).items()}
        contents.update((name, content) for name, (content, dummy) in parts.items())
        packed = _write(top, contents, now)
        if len(packed) <= SIZE_LIMIT:
            return Packed(packed, {name: len(content) for name, content in contents.items()}, cut)
        limit //= 2


def _cut(text: str, limit: int) -> tuple[bytes, bool]:
    content = text.encode("utf-8", "backslashreplace")
    if len(content) <= limit:
        return content, False
    head, tail = content[: limit // 2], content[-(limit // 2) :]
    # Whole lines, so that no character is split.
    head, tail = head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]
    note = f"\n[... {quantity(len(content) - len(head) - len(tail), 'byte')} are left out here ...]\n\n"
    return b"".join([head, note.encode(), tail]), True


def _write(top: str, files: t.Mapping[str, bytes], now: float) -> bytes:
    stream = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", mtime=now) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(now), _MODE
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()
