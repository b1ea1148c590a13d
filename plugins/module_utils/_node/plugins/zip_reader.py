# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read zip archives in bounded memory."""

from __future__ import annotations

import os
import stat
import struct
import tarfile
import typing as t
import zipfile

# The end of a zip file without a comment. Only here do all readers look for it in the same place.
_END: t.Final = struct.Struct("<4s4H2LH")
_END_SIZE: t.Final = struct.calcsize("<4s4H2LH")
_END_MAGIC: t.Final = b"PK\5\6"
_ZIP64_MAGIC: t.Final = b"PK\6\7"
_ZIP64_SIZE: t.Final = 20
# Bytes of the list of members, which is read as a whole.
_LIST_LIMIT: t.Final = 1024 * 1024
_UNIX, _MACOS = 3, 19
_ENCRYPTED: t.Final = 0x1 | 0x40 | 0x2000
_METHODS: t.Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TYPES: t.Final = {stat.S_IFREG: tarfile.REGTYPE, stat.S_IFDIR: tarfile.DIRTYPE, stat.S_IFLNK: tarfile.SYMTYPE}


class ZipReader:
    """An iterator over the members of a zip archive, described as members of a tar archive, in bounded memory.

    Its methods raise `zipfile.BadZipFile` for a file that is not a zip archive, is damaged, or exceeds the limits.
    """

    def __init__(self, file: t.IO[bytes], total_limit: int) -> None:
        """
        Args:
            total_limit: Bytes that all members may have together.
        """
        _check_end(file)
        self._archive = t.cast(zipfile.ZipFile, _translate_errors(lambda: zipfile.ZipFile(file)))
        total = sum(info.file_size for info in self._archive.infolist())
        if total > total_limit:
            raise zipfile.BadZipFile(f"it unpacks to more than {total_limit} bytes")
        self._current = zipfile.ZipInfo()

    def __iter__(self) -> t.Iterator[tarfile.TarInfo]:
        for info in self._archive.infolist():
            self._current = info
            yield _describe_member(info)

    def content(self, member: tarfile.TarInfo) -> bytes:
        """Return the content of the current member, whose checksum is verified."""
        content = t.cast(bytes, _translate_errors(lambda: self._archive.read(self._current)))
        if len(content) != member.size:
            raise zipfile.BadZipFile(f"{member.name!r} has {len(content)} bytes instead of {member.size}")
        return content


def _check_end(file: t.IO[bytes]) -> None:
    """Refuse a zip file whose list of members is too large to read, or not where every reader looks for it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_SIZE - _ZIP64_SIZE))
    tail = file.read(_END_SIZE + _ZIP64_SIZE)
    end = tail[-_END_SIZE:]
    if not end.startswith(_END_MAGIC) or not end.endswith(b"\0\0"):
        raise zipfile.BadZipFile("it is incomplete, or has a comment")
    if tail[:-_END_SIZE].startswith(_ZIP64_MAGIC):
        raise zipfile.BadZipFile("it has the format of archives of more than 4 GiB")
    length = _END.unpack(end)[5]
    if length > _LIST_LIMIT:
        raise zipfile.BadZipFile(f"its list of members has {length} bytes; expected: at most {_LIST_LIMIT}")


def _describe_member(info: zipfile.ZipInfo) -> tarfile.TarInfo:
    if info.flag_bits & _ENCRYPTED:
        raise zipfile.BadZipFile(f"{info.filename!r} is encrypted")
    if info.compress_type not in _METHODS:
        raise zipfile.BadZipFile(f"{info.filename!r} is compressed with method {info.compress_type}; expected: deflate")
    # An archive made elsewhere has no modes, so that none of its files is executable.
    mode = info.external_attr >> 16 if info.create_system in (_UNIX, _MACOS) else 0
    member = tarfile.TarInfo(info.orig_filename)
    member.size, member.mode = info.file_size, stat.S_IMODE(mode)
    usual = tarfile.DIRTYPE if info.filename.endswith("/") else tarfile.REGTYPE
    member.type = _TYPES.get(stat.S_IFMT(mode), tarfile.CHRTYPE) if stat.S_IFMT(mode) else usual
    return member


def _translate_errors(action: t.Callable[[], object]) -> object:
    """Return what a call of `zipfile` returns; raise its own error for all that it raises for a hostile file."""
    try:
        return action()
    except (struct.error, ValueError, NotImplementedError, RuntimeError) as exc:
        raise zipfile.BadZipFile(str(exc) or type(exc).__name__) from exc


__all__ = ("ZipReader",)
