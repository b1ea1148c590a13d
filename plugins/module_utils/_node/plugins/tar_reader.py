# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read tar archives in bounded memory and time."""

from __future__ import annotations

import io
import tarfile
import typing as t

_BLOCK: t.Final = tarfile.BLOCKSIZE
_CHUNK: t.Final = 1024 * 1024
# Number of headers of an archive, and bytes of an extension header. Python's own reader has no such limits: it calls itself
# for each extension header, and reads each of them whole.
_HEADER_LIMIT: t.Final = 1024
_EXTENSION_LIMIT: t.Final = 64 * 1024
_SIZE_DIGITS: t.Final = 20

_LONG: t.Final = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_PAX: t.Final = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_EXTENSIONS: t.Final = (*_LONG, *_PAX, tarfile.XGLTYPE)


class Stream(t.Protocol):
    """A source of bytes."""

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes, or an empty bytes object at the end."""


class TarReader:
    """An iterator over the members of a tar archive, in bounded memory and time.

    Its methods raise `tarfile.TarError` for a stream that is not an archive, is incomplete, or exceeds the limits.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._headers = 0
        # Bytes of the current member's content, with the padding of its last block.
        self._unread = 0

    def __iter__(self) -> t.Iterator[tarfile.TarInfo]:
        keys: dict[str, str] = {}
        kinds: set[bytes] = set()
        while (header := self._read_header()) is not None:
            if header.type not in _EXTENSIONS:
                yield self._complete(header, keys)
                keys, kinds = {}, set()
                continue
            if header.type in kinds:
                raise tarfile.ReadError("it has two extension headers of the same type for one member")
            if header.type != tarfile.XGLTYPE:
                kinds.add(header.type)
            keys = {**self._read_extension(header), **keys}

    def content(self, member: tarfile.TarInfo) -> bytes:
        """Return the content of the current member; it can be read once."""
        content = self._read(member.size)
        self._unread -= member.size
        return content

    def _read_header(self) -> tarfile.TarInfo | None:
        """Return the next header, or None at the end of the archive."""
        self._skip()
        block = self._stream.read(_BLOCK)
        if not block:
            raise tarfile.ReadError("it is incomplete: its end is missing" if self._headers else "it is empty")
        block += self._read(_BLOCK - len(block))
        if not any(block):
            return None
        self._headers += 1
        if self._headers > _HEADER_LIMIT:
            raise tarfile.ReadError(f"it has more than {_HEADER_LIMIT} headers")
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (ValueError, IndexError, OverflowError) as exc:
            raise tarfile.ReadError(f"it has an invalid header: {exc}") from exc
        if header.size < 0:
            raise tarfile.ReadError(f"it has a header with a negative size: {header.size}")
        return header

    def _complete(self, header: tarfile.TarInfo, keys: t.Mapping[str, str]) -> tarfile.TarInfo:
        header.name = keys.get("path", header.name)
        header.size = _parse_size(keys["size"]) if "size" in keys else header.size
        if header.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse.") for key in keys):
            raise tarfile.ReadError(f"{header.name!r} is a sparse file; expected: files that are stored completely")
        self._unread = _pad(header.size) if header.isreg() else 0
        return header

    def _read_extension(self, header: tarfile.TarInfo) -> dict[str, str]:
        """Return the keys that an extension header sets for the member after it."""
        if header.size > _EXTENSION_LIMIT:
            what = f"it has an extension header of {header.size} bytes"
            raise tarfile.ReadError(f"{what}; expected: at most {_EXTENSION_LIMIT}")
        content = self._read(_pad(header.size))[: header.size]
        if header.type in _LONG:
            name = content.partition(b"\0")[0].decode("utf-8", "surrogateescape")
            return {"path": name} if header.type == tarfile.GNUTYPE_LONGNAME else {}
        keys = dict(_parse_records(content))
        if header.type == tarfile.XGLTYPE:
            if "size" in keys or "path" in keys:
                raise tarfile.ReadError("it has a global header that sets a name or a size")
            return {}
        return keys

    def _skip(self) -> None:
        while self._unread > 0:
            self._unread -= len(self._read(min(self._unread, _CHUNK)))

    def _read(self, size: int) -> bytes:
        content = io.BytesIO()
        while size > 0:
            chunk = self._stream.read(min(size, _CHUNK))
            if not chunk:
                raise tarfile.ReadError("it is incomplete")
            size -= content.write(chunk)
        return content.getvalue()


def _pad(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _parse_size(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _SIZE_DIGITS):
        raise tarfile.ReadError(f"{text[:60]!r} in a pax header is not a valid size")
    return int(text)


def _parse_records(content: bytes) -> t.Iterator[tuple[str, str]]:
    """Yield the keys and values of a pax header, which has lines of the form ``LENGTH KEY=VALUE``."""
    offset = 0
    while offset < len(content) and content[offset]:
        digits = content[offset : content.find(b" ", offset, offset + _SIZE_DIGITS)]
        length = int(digits) if digits.isdigit() else 0
        record = content[offset + len(digits) + 1 : offset + length]
        key, equals, value = record[:-1].partition(b"=")
        if offset + length > len(content) or not record.endswith(b"\n") or not equals:
            raise tarfile.ReadError("it has an invalid pax header")
        yield key.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")
        offset += length


__all__ = ("Stream", "TarReader")
