# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the plugins in an archive, which may be hostile."""

from __future__ import annotations

import contextlib
import lzma
import os
import stat
import tarfile
import typing as t
import zipfile
import zlib

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_plugin_type
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import digest_of_stream
from ansible_collections.cni.node.plugins.module_utils._node.plugins.checksums import CHECKSUM_ADVICE
from ansible_collections.cni.node.plugins.module_utils._node.plugins.decompression import MAGICS, decompress_stream
from ansible_collections.cni.node.plugins.module_utils._node.plugins.listing import is_plugin_name
from ansible_collections.cni.node.plugins.module_utils._node.plugins.naming import (
    name_executable,
    without_architecture,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.tar_reader import Stream, TarReader
from ansible_collections.cni.node.plugins.module_utils._node.plugins.zip_reader import ZipReader

# Bytes. Releases of the reference plugins have less than a fifth of it.
_TOTAL_LIMIT: t.Final = 512 * 1024 * 1024
_MEMBER_LIMIT: t.Final = 256 * 1024 * 1024
_COUNT_LIMIT: t.Final = 256
_CHUNK: t.Final = 1024 * 1024
_EXPECTED_MEMBERS: t.Final = "regular files and directories with plain names, such as ./bridge"
_ZIP: t.Final = b"PK\3\4"
_EXECUTABLES: t.Final = (b"\x7fELF", b"#!")


class _Archive(t.Protocol):
    """The members of an archive in their order."""

    def __iter__(self) -> t.Iterator[tarfile.TarInfo]:
        """Yield each member."""

    def content(self, member: tarfile.TarInfo) -> bytes:
        """Return the content of the current member."""


def plugins(
    file: t.IO[bytes], what: str, only: t.Sequence[str] = (), *, total_limit: int = _TOTAL_LIMIT
) -> t.Iterator[tuple[str, bytes]]:
    """Yield the name and content of each plugin in a file. In an archive, plugins are the executable files of one directory.

    Args:
        file: A private copy of the file, so that its content still has the verified digest.
        what: The file's name in errors.
        only: The plugins that the task selects; for a single executable, its name.
        total_limit: Bytes that an archive may have when it is unpacked.

    Raises:
        CniError: ``DECODE_FAILURE``: the file is not an archive, is incomplete, or has members that are not allowed;
            ``INVALID_CONFIG``: a single executable has no name.
    """
    head = _head(file)
    if head.startswith(_EXECUTABLES):
        yield name_executable(what, only), _read_executable(file, what)
        return
    with _name_archive_in_errors(file, what):
        if head.startswith(_ZIP):
            yield from _read_plugins(ZipReader(file, total_limit), what)
            return
        stream = _BoundedStream(decompress_stream(file), total_limit)
        yield from _read_plugins(TarReader(stream), what)
        while stream.read(_CHUNK):  # an error at the end of the stream is an error too
            pass


def _head(file: t.IO[bytes]) -> bytes:
    file.seek(0)
    head = file.read(tarfile.BLOCKSIZE)
    file.seek(0)
    return head


def _read_executable(file: t.IO[bytes], what: str) -> bytes:
    content = file.read(_MEMBER_LIMIT + 1)
    if len(content) > _MEMBER_LIMIT:
        raise _refusal(what, f"it has more than {_MEMBER_LIMIT} bytes", "a plugin")
    return content


def _read_plugins(archive: _Archive, what: str) -> t.Iterator[tuple[str, bytes]]:
    paths: dict[str, str] = {}
    for count, member in enumerate(archive):
        directory, file_name = _check_member(member, what)
        if count >= _COUNT_LIMIT:
            raise _refusal(what, f"it has more than {_COUNT_LIMIT} members", "the plugins of one release")
        if not (file_name and member.mode & 0o111 and is_plugin_name(file_name)):
            continue
        name = without_architecture(file_name)
        _check_place(name, f"{directory}{file_name}", paths, what)
        paths[name] = f"{directory}{file_name}"
        yield name, _read_content(archive, member, what)
    if not paths:
        raise _refusal(what, "it has no executable file", "plugins with the mode of executables, such as ./bridge")


def _check_place(name: str, path: str, paths: t.Mapping[str, str], what: str) -> None:
    """Refuse a second plugin of the same name, and executables in more than one directory."""
    if name in paths:
        raise _refusal(what, f"it has {name!r} twice: {paths[name]}, {path}", "each plugin once")
    other = next(iter(paths.values()), path)
    if os.path.dirname(other) != os.path.dirname(path):
        raise _refusal(what, f"it has executables in several directories: {other}, {path}", "all plugins in one")


def verify(file: t.IO[bytes], checksum: str, what: str) -> None:
    """Verify the digest of an archive.

    Args:
        checksum: ``sha256:HEX`` or ``sha512:HEX``.

    Raises:
        CniError: ``DECODE_FAILURE`` with both digests, the size, and a description of the file.
    """
    algorithm, dummy, expected = checksum.partition(":")
    actual = digest_of_stream(file, algorithm)
    if actual != expected:
        raise CniError(
            Code.DECODE_FAILURE,
            f"{what} has the wrong digest: expected {checksum}, found {algorithm}:{actual}",
            f"it has {os.fstat(file.fileno()).st_size} bytes and {_describe(file)}; nothing was unpacked",
        )


def _describe(file: t.IO[bytes]) -> str:
    """Return a phrase that describes a file by its first bytes, such as "is empty"."""
    head = _head(file)
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not head:
        return "is empty"
    if head.startswith((*MAGICS, _ZIP)) or head[257:262] == b"ustar":
        kind = "looks like an archive: perhaps another release, a rebuilt one or an incomplete one"
        return f"{kind}; if it is the one that you want, {CHECKSUM_ADVICE}"
    excerpt = repr(text[:60])
    if text[:1] == "<":
        return f"looks like an HTML page, perhaps an error of a mirror or proxy: {excerpt}"
    if text[:1] in ("{", "["):
        return f"looks like JSON, perhaps an error of a mirror or proxy: {excerpt}"
    return f"is not a supported archive; it begins with {excerpt}"


@contextlib.contextmanager
def _name_archive_in_errors(file: t.IO[bytes], what: str) -> t.Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, UnicodeError) as exc:
        raise CniError(
            Code.DECODE_FAILURE,
            f"{what} cannot be unpacked: {exc or type(exc).__name__}",
            f"it has {os.fstat(file.fileno()).st_size} bytes and {_describe(file)}",
        ) from exc
    except OSError as exc:
        raise io_error("read", what, exc) from exc


class _BoundedStream:
    """A stream that raises an error after too many bytes, so that an archive cannot fill the memory or the disk."""

    def __init__(self, stream: Stream, limit: int) -> None:
        self._stream = stream
        self._limit = self._remaining = limit

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._remaining -= len(content)
        if self._remaining < 0:
            raise tarfile.ReadError(f"it unpacks to more than {self._limit} bytes")
        return content


def _check_member(member: tarfile.TarInfo, what: str) -> tuple[str, str]:
    """Return the directory and the name of a regular file, or two empty strings for a directory; refuse other members."""
    if member.size > _MEMBER_LIMIT:
        raise _refusal(what, f"{member.name!r} has {member.size} bytes", f"at most {_MEMBER_LIMIT}")
    path = member.name[2:] if member.name.startswith("./") else member.name
    path = path.rstrip("/") if member.isdir() else path
    if member.isdir() and path in ("", "."):
        return "", ""
    if not (member.isreg() or member.isdir()):
        raise _refusal(what, f"{member.name!r} is not a regular file", _EXPECTED_MEMBERS)
    if any(part == "" or part.startswith(".") for part in path.split("/")):
        raise _refusal(what, f"{member.name!r} is hidden or not below its root", _EXPECTED_MEMBERS)
    if member.mode & (stat.S_ISUID | stat.S_ISGID) and member.isreg():
        raise _refusal(what, f"{member.name!r} has a setuid or setgid bit", "files without these bits")
    directory, slash, name = path.rpartition("/")
    for part in path.split("/"):
        check_plugin_type(part, what)
    return (directory + slash, name) if member.isreg() else ("", "")


def _read_content(archive: _Archive, member: tarfile.TarInfo, what: str) -> bytes:
    content = archive.content(member)
    if not content:
        raise _refusal(what, f"{member.name!r} is empty", "an executable file")
    return content


def _refusal(what: str, problem: str, expected: str) -> CniError:
    return CniError(Code.DECODE_FAILURE, f"{what} is not unpacked: {problem}", f"expected: {expected}")


__all__ = ("plugins", "verify")
