# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The members of tar and zip archives, read in bounded memory and time."""

from __future__ import annotations

import gzip
import io
import itertools
import lzma
import os
import stat
import struct
import tarfile
import typing as t
import zipfile
import zlib

_CHUNK = 1024 * 1024
# Bytes of a member.
MEMBER_LIMIT = 256 * _CHUNK
# Of a tar archive: the number of its headers, and the bytes of an extension header.
_HEADER_LIMIT = 1024
_EXTENSION_LIMIT = 64 * 1024
_SIZE_DIGITS = 20
# Bytes of the list of members of a zip archive, which is read as a whole.
_LIST_LIMIT = _CHUNK
# Bytes; `xz -9` asks for 65 MiB.
_XZ_MEMORY_LIMIT = 128 * _CHUNK
_XZ_CHUNK = 64 * 1024
# Number of consecutive xz streams; some compressors write one for each part of their input.
_STREAM_LIMIT = 65536

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\0"
_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_EXTENSIONS = (*_LONG, tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE)
_FILE_TYPES = {stat.S_IFREG: tarfile.REGTYPE, stat.S_IFDIR: tarfile.DIRTYPE, stat.S_IFLNK: tarfile.SYMTYPE}
# What the standard library and this file raise for an archive that is damaged or hostile.
DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, lzma.LZMAError, zlib.error, struct.error),
    *(EOFError, ValueError, IndexError, OverflowError, NotImplementedError, RuntimeError),
)

Members = t.Iterator[tuple[tarfile.TarInfo, bytes]]


class Refusal(Exception):
    """An archive that could be unpacked, but must not be.

    Its arguments are the problem and what was expected.
    """


def _check_size(member: tarfile.TarInfo) -> None:
    """Refuse a member that is too large before its content is read."""
    if member.size > MEMBER_LIMIT:
        raise Refusal(f"{member.name!r} has {member.size} bytes", f"at most {MEMBER_LIMIT}")


def read_tar(stream: t.IO[bytes], limit: int) -> Members:
    """Yield the members of a tar archive and their content, in bounded memory and time.

    `tarfile.TarFile` has no limits: it calls itself for each extension header, and reads each of them whole. It also takes a
    damaged header for the end of the archive. So only its reader of a single header is used.
    """
    blocks = _Blocks(stream, limit)
    keys: dict[str, str] = {}
    kinds: set[bytes] = set()
    for count in itertools.count():
        block = blocks.read(tarfile.BLOCKSIZE)
        if not any(block):
            break
        if count >= _HEADER_LIMIT:
            raise tarfile.ReadError(f"it has more than {_HEADER_LIMIT} headers")
        member = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if member.size < 0:
            raise tarfile.ReadError(f"it has a header with a negative size: {member.size}")
        if member.type in _EXTENSIONS:
            keys = {**_read_extension(member, kinds, blocks), **keys}
            continue
        _apply_keys(member, keys)
        _check_size(member)
        yield member, blocks.read(member.size) if member.isreg() else b""
        keys, kinds = {}, set()
    blocks.read_rest()


class _Blocks:
    """The blocks of a tar archive: at most as many bytes as the limit."""

    def __init__(self, stream: t.IO[bytes], limit: int) -> None:
        self._stream, self._limit = stream, limit
        self._size = 0

    def _read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._size += len(content)
        if self._size > self._limit:
            raise tarfile.ReadError(f"it unpacks to more than {self._limit} bytes")
        return content

    def read(self, size: int) -> bytes:
        """Return as many bytes, without the padding of the last block."""
        content, padding = self._read(size), -size % tarfile.BLOCKSIZE
        if len(content) < size or len(self._read(padding)) < padding:
            raise EOFError
        return content

    def read_rest(self) -> None:
        """Read what follows the end of the archive, because an error there is an error, too."""
        while self._read(_CHUNK):
            pass


def _read_extension(header: tarfile.TarInfo, kinds: set[bytes], blocks: _Blocks) -> dict[str, str]:
    """Return the keys that an extension header sets for the member after it, and add its kind to those of the member."""
    if header.type in kinds:
        raise tarfile.ReadError("it has two extension headers of the same type for one member")
    if header.size > _EXTENSION_LIMIT:
        problem = f"it has an extension header of {header.size} bytes"
        raise tarfile.ReadError(f"{problem}; expected: at most {_EXTENSION_LIMIT}")
    content = blocks.read(header.size)
    if header.type != tarfile.XGLTYPE:
        kinds.add(header.type)
    if header.type in _LONG:
        name = content.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        return {"path": name} if header.type == tarfile.GNUTYPE_LONGNAME else {}
    keys = dict(_parse_records(content))
    if header.type == tarfile.XGLTYPE and not keys.keys().isdisjoint(("size", "path")):
        raise tarfile.ReadError("it has a global header that sets a name or a size")
    return {} if header.type == tarfile.XGLTYPE else keys


def _parse_records(content: bytes) -> t.Iterator[tuple[str, str]]:
    """Yield the keys and values of a pax header, which has lines of the form ``LENGTH KEY=VALUE``."""
    offset = 0
    while offset < len(content) and content[offset]:
        digits = content[offset : content.find(b" ", offset, offset + _SIZE_DIGITS)]
        end = offset + (int(digits) if digits.isdigit() else 0)
        key, equals, value = content[offset + len(digits) + 1 : end].partition(b"=")
        if end > len(content) or not equals or not value.endswith(b"\n"):
            raise tarfile.ReadError("it has an invalid pax header")
        yield key.decode("utf-8", "surrogateescape"), value[:-1].decode("utf-8", "surrogateescape")
        offset = end


def _apply_keys(member: tarfile.TarInfo, keys: t.Mapping[str, str]) -> None:
    """Set the name and size of a member that extension headers give."""
    member.name = keys.get("path", member.name)
    if member.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse.") for key in keys):
        raise tarfile.ReadError(f"{member.name!r} is a sparse file; expected: files that are stored completely")
    size = keys.get("size", "0")
    if not (size.isascii() and size.isdigit() and len(size) <= _SIZE_DIGITS):
        raise tarfile.ReadError(f"{size[:60]!r} in a pax header is not a valid size")
    member.size = int(size) if "size" in keys else member.size


def decompress(file: t.IO[bytes], head: bytes) -> t.IO[bytes]:
    """Return the content of a file, decompressed if it is compressed with gzip or xz."""
    if head.startswith(GZIP):
        return t.cast("t.IO[bytes]", gzip.GzipFile(fileobj=file))
    return t.cast("t.IO[bytes]", io.BufferedReader(_Xz(file))) if head.startswith(XZ) else file


class _Xz(io.RawIOBase):
    """The content of consecutive xz streams. `lzma.LZMAFile` does not limit the memory that a stream requests."""

    def __init__(self, file: t.IO[bytes]) -> None:
        self._file = file
        self._streams = 0
        self._begin()

    def _begin(self) -> None:
        self._streams += 1
        if self._streams > _STREAM_LIMIT:
            raise lzma.LZMAError(f"it has more than {_STREAM_LIMIT} compressed streams")
        self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY_LIMIT)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: t.Any) -> int:
        content = b""
        while not content:
            is_at_end = bool(self._stream.eof)
            piece = self._file.read(_XZ_CHUNK) if self._stream.needs_input or is_at_end else b""
            if is_at_end:
                if not piece:
                    return 0
                piece = piece.lstrip(b"\0")  # padding between streams
                if not piece:
                    continue
                self._begin()
            elif self._stream.needs_input and not piece:
                raise EOFError
            content = self._stream.decompress(piece, len(buffer))
            self._file.seek(-len(self._stream.unused_data), os.SEEK_CUR)
        buffer[: len(content)] = content
        return len(content)


def read_zip(file: t.IO[bytes], limit: int) -> Members:
    """Yield the members of a zip archive and their content, described as members of a tar archive."""
    _check_end(file)
    archive = zipfile.ZipFile(file)
    if sum(info.file_size for info in archive.infolist()) > limit:
        raise zipfile.BadZipFile(f"it unpacks to more than {limit} bytes")
    for info in archive.infolist():
        if info.flag_bits & (0x1 | 0x40 | 0x2000):
            raise zipfile.BadZipFile(f"{info.filename!r} is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            method = f"compressed with method {info.compress_type}; expected: deflate"
            raise zipfile.BadZipFile(f"{info.filename!r} is {method}")
        # An archive that was not made on Unix or macOS has no modes, so that none of its files is executable.
        mode = info.external_attr >> 16 if info.create_system in (3, 19) else 0
        member = tarfile.TarInfo(info.orig_filename)
        member.size, member.mode = info.file_size, stat.S_IMODE(mode)
        usual = tarfile.DIRTYPE if info.filename.endswith("/") else tarfile.REGTYPE
        member.type = _FILE_TYPES.get(stat.S_IFMT(mode), tarfile.CHRTYPE) if stat.S_IFMT(mode) else usual
        _check_size(member)
        content = archive.read(info)
        if len(content) != member.size:
            raise zipfile.BadZipFile(f"{member.name!r} has {len(content)} bytes instead of {member.size}")
        yield member, content


def _check_end(file: t.IO[bytes]) -> None:
    """Refuse a zip file whose list of members is too large to read, or not where every reader looks for it."""
    # The end has 22 bytes, and a comment after them. Before it, an archive of more than 4 GiB has 20 bytes more.
    file.seek(max(0, file.seek(0, os.SEEK_END) - 42))
    tail = file.read()
    end = tail[-22:]
    if not end.startswith(b"PK\5\6") or not end.endswith(b"\0\0"):
        raise zipfile.BadZipFile("it is incomplete, or has a comment")
    if tail[:-22].startswith(b"PK\6\7"):
        raise zipfile.BadZipFile("it has the format of archives of more than 4 GiB")
    length = int.from_bytes(end[12:16], "little")
    if length > _LIST_LIMIT:
        raise zipfile.BadZipFile(f"its list of members has {length} bytes; expected: at most {_LIST_LIMIT}")
