# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import lzma
import os
import stat
import tarfile
import typing as t
import zlib

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_plugin_type
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import digest_of_stream
from ansible_collections.cni.node.plugins.module_utils._node.plugins.decompression import MAGICS, decompress_stream
from ansible_collections.cni.node.plugins.module_utils._node.plugins.listing import is_plugin_name
from ansible_collections.cni.node.plugins.module_utils._node.plugins.tar_reader import Stream, TarReader

# Bytes. A release of today has less than a fifth of it.
_TOTAL_LIMIT: t.Final = 512 * 1024 * 1024
_MEMBER_LIMIT: t.Final = 256 * 1024 * 1024
_COUNT_LIMIT: t.Final = 256
_CHUNK: t.Final = 1024 * 1024


def plugins(file: t.IO[bytes], what: str) -> t.Iterator[tuple[str, bytes]]:
    """Read the plugins of an archive, one after the other: the executable files at its root.

    Args:
        file: The archive, private so that its verified digest covers what is read.
        what: The archive as errors name it.

    Raises:
        CniError: ``DECODE_FAILURE``: it is no archive, is cut off, or has what no archive of plugins has.
    """
    found: set[str] = set()
    with _errors(file, what):
        stream = _Bounded(decompress_stream(file))
        archive = TarReader(stream)
        for count, member in enumerate(archive):
            name = _name(member, what)
            if count >= _COUNT_LIMIT or name in found:
                raise _unfit(what, f"{name!r} is one member too many", "each plugin once, and nothing else")
            if member.size > _MEMBER_LIMIT:
                raise _unfit(what, f"{member.name!r} has {member.size} bytes", f"not more than {_MEMBER_LIMIT}")
            if name and member.mode & 0o111 and is_plugin_name(name):
                found.add(name)
                yield name, _content(archive, member, what)
        while stream.read(_CHUNK):  # to where a damaged stream is found to be damaged
            pass
    if not found:
        raise _unfit(what, "it has no executable file at its root", "the plugins themselves, as ./bridge")


def verify(file: t.IO[bytes], checksum: str, what: str) -> None:
    """Verify the digest of an archive.

    Args:
        checksum: ``sha256:HEX`` or ``sha512:HEX``.

    Raises:
        CniError: ``DECODE_FAILURE`` with both digests, the size, and what the file looks like.
    """
    algorithm, dummy, expected = checksum.partition(":")
    actual = digest_of_stream(file, algorithm)
    if actual != expected:
        raise CniError(
            Code.DECODE_FAILURE,
            f"{what} is not the archive it should be: expected {checksum}, found {algorithm}:{actual}",
            f"it has {os.fstat(file.fileno()).st_size} bytes and {_look(file)}; nothing was unpacked",
        )


def _look(file: t.IO[bytes]) -> str:
    """Return a description of a file by its first bytes."""
    file.seek(0)
    head = file.read(tarfile.BLOCKSIZE)
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not head:
        return "is empty"
    if head.startswith(MAGICS) or head[257:262] == b"ustar":
        return "looks like an archive: another one, or the same one built again or cut off"
    excerpt = repr(text[:60])
    if text[:1] == "<":
        return f"looks like an HTML page, such as a mirror or proxy answers with when it fails: {excerpt}"
    if text[:1] in ("{", "["):
        return f"looks like JSON, such as a mirror or proxy answers with when it fails: {excerpt}"
    return f"is no archive that is known here, it begins with {excerpt}"


@contextlib.contextmanager
def _errors(file: t.IO[bytes], what: str) -> t.Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, UnicodeError) as exc:
        raise CniError(
            Code.DECODE_FAILURE,
            f"{what} cannot be unpacked: {exc or type(exc).__name__}",
            f"it has {os.fstat(file.fileno()).st_size} bytes and {_look(file)}",
        ) from exc
    except OSError as exc:
        raise io_error("read", what, exc) from exc


class _Bounded:
    """A stream that ends with an error rather than fill the memory or the disk."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._left = _TOTAL_LIMIT

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._left -= len(content)
        if self._left < 0:
            raise tarfile.ReadError(f"it unpacks to more than {_TOTAL_LIMIT} bytes")
        return content


def _name(member: tarfile.TarInfo, what: str) -> str:
    """Return the name of a file at the root, or an empty string for the root itself."""
    name = member.name[2:] if member.name.startswith("./") else member.name
    if member.isdir() and name in ("", "."):
        return ""
    if not member.isreg():
        raise _unfit(what, f"{member.name!r} is not a regular file", "regular files at its root, as ./bridge")
    if "/" in name or name.startswith("."):
        raise _unfit(what, f"{member.name!r} is not at its root, or hidden", "regular files at its root, as ./bridge")
    if member.mode & (stat.S_ISUID | stat.S_ISGID):
        raise _unfit(what, f"{member.name!r} is to run as another user", "no setuid or setgid bit")
    return check_plugin_type(name, what)


def _content(archive: TarReader, member: tarfile.TarInfo, what: str) -> bytes:
    content = archive.content(member)
    if not content:
        raise _unfit(what, f"{member.name!r} is empty", "an executable")
    return content


def _unfit(what: str, problem: str, expected: str) -> CniError:
    return CniError(Code.DECODE_FAILURE, f"{what} is not unpacked: {problem}", f"expected: {expected}")


__all__ = ("plugins", "verify")
