# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Decompress gzip and xz in bounded memory."""

from __future__ import annotations

import lzma
import typing as t
import zlib

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\0"
MAGICS: t.Final = (_GZIP, _XZ)

_CHUNK: t.Final = 64 * 1024
# Bytes; `xz -9` asks for 65 MiB.
_MEMORY_LIMIT: t.Final = 128 * 1024 * 1024
# Number of consecutive streams; some compressors write one for each part of their input.
_STREAM_LIMIT: t.Final = 65536
_GZIP_WINDOW: t.Final = 16 + zlib.MAX_WBITS


class _Gzip:
    """A gzip stream, its header and checksum included."""

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(_GZIP_WINDOW)

    def decompress(self, content: bytes, size: int) -> bytes:
        return self._engine.decompress(self._engine.unconsumed_tail + content, size)

    @property
    def eof(self) -> bool:
        return self._engine.eof

    @property
    def needs_input(self) -> bool:
        return not self._engine.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._engine.unused_data


def _xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY_LIMIT)


class _Decompressed:
    """The content of consecutive compressed streams, read in bounded memory."""

    def __init__(self, stream: t.IO[bytes], engine: t.Callable[[], t.Any]) -> None:
        self._stream = stream
        self._new = engine
        self._engine = engine()
        self._streams = 1

    def read(self, size: int) -> bytes:
        while True:
            if self._engine.eof and not self._begin():
                return b""
            piece = self._stream.read(_CHUNK) if self._engine.needs_input else b""
            is_last = self._engine.needs_input and not piece
            content = t.cast(bytes, self._engine.decompress(piece, size))
            if content:
                return content
            if is_last and not self._engine.eof:
                raise EOFError("it is incomplete")

    def _begin(self) -> bool:
        """Return whether there is another stream, and begin it. Zeros between streams are skipped."""
        rest = self._engine.unused_data.lstrip(b"\0")
        while not rest:
            piece = self._stream.read(_CHUNK)
            if not piece:
                return False
            rest = piece.lstrip(b"\0")
        self._streams += 1
        if self._streams > _STREAM_LIMIT:
            raise EOFError(f"it has more than {_STREAM_LIMIT} compressed streams")
        self._stream.seek(-len(rest), 1)
        self._engine = self._new()
        return True


def decompress_stream(stream: t.IO[bytes]) -> t.Any:
    """Return a stream of a file's content, decompressed if it is compressed with gzip or xz.

    Reading it raises `zlib.error`, `lzma.LZMAError` or `EOFError` if the file is damaged or incomplete.
    """
    stream.seek(0)
    head = stream.read(len(_XZ))
    stream.seek(0)
    if head.startswith(_GZIP):
        return _Decompressed(stream, _Gzip)
    return _Decompressed(stream, _xz) if head.startswith(_XZ) else stream


__all__ = ("MAGICS", "decompress_stream")
