# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugins in an archive or executable: its digest is verified, and everything that it unpacks to is limited."""

from __future__ import annotations

import os
import re
import stat
import tarfile
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import check_plugin_type
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import digest_of_stream
from ansible_collections.cni.node.plugins.module_utils._node.plugins import members
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import CHECKSUM_ADVICE
from ansible_collections.cni.node.plugins.module_utils._node.plugins.sources import is_plugin_name

# Bytes. Releases of the reference plugins have less than a fifth of it.
_TOTAL_LIMIT = 512 * 1024 * 1024
_COUNT_LIMIT = 256
_ZIP = b"PK\3\4"
_EXECUTABLES = (b"\x7fELF", b"#!")
_EXPECTED_MEMBERS = "regular files and directories with plain names, such as ./bridge"
# Endings with which projects tell the executables of several architectures apart, such as flannel-amd64.
_ARCHITECTURE = re.compile(
    r"(.+?)(?:[-_.]linux)?[-_.](?:386|amd64|arm|arm64|armv[5678]|ppc64le|riscv64|s390x|x86_64|aarch64)"
)


def verify(file: t.IO[bytes], checksum: str, what: str) -> None:
    """Verify the digest of an archive.

    Args:
        checksum: ``sha256:HEX`` or ``sha512:HEX``.
        what: The file's name in errors.

    Raises:
        CniError: ``DECODE_FAILURE`` with both digests, the size, and a description of the file.
    """
    algorithm, dummy, expected = checksum.partition(":")
    actual = digest_of_stream(file, algorithm)
    if actual != expected:
        problem = f"{what} has the wrong digest: expected {checksum}, found {algorithm}:{actual}"
        raise CniError(Code.DECODE_FAILURE, problem, f"{_describe(file)}; nothing was unpacked")


def list_digests(file: t.IO[bytes], digest: str) -> list[str]:
    """Return the digests of an archive, the first of them as that which identifies its release."""
    return [f"sha256:{digest_of_stream(file)}", digest] if digest.startswith("sha512:") else [digest]


def unpack(file: t.IO[bytes], digest: str, what: str, only: t.Sequence[str]) -> t.Iterator[tuple[str, bytes]]:
    """Verify a file, yield its plugins as `plugins`, and close it.

    Args:
        digest: As `checksum` of `verify`. That of a directory, which the controller has packed, is verified later.
    """
    with file:
        if not digest.startswith("files:"):
            verify(file, digest, what)
        yield from plugins(file, what, only)


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
    file.seek(0)
    try:
        if head.startswith(_EXECUTABLES):
            content = file.read(members.MEMBER_LIMIT + 1)
            if len(content) > members.MEMBER_LIMIT:
                raise members.Refusal(f"it has more than {members.MEMBER_LIMIT} bytes", "a plugin")
            yield name_executable(what, only), content
        elif head.startswith(_ZIP):
            yield from _select_plugins(members.read_zip(file, total_limit), what)
        else:
            yield from _select_plugins(members.read_tar(members.decompress(file, head), total_limit), what)
    except members.Refusal as exc:
        problem, expected = exc.args
        raise CniError(Code.DECODE_FAILURE, f"{what} is not unpacked: {problem}", f"expected: {expected}") from exc
    except members.DAMAGED as exc:
        problem = "it is incomplete" if isinstance(exc, EOFError) else str(exc) or type(exc).__name__
        raise CniError(Code.DECODE_FAILURE, f"{what} cannot be unpacked: {problem}", _describe(file)) from exc
    except OSError as exc:
        raise io_error("read", what, exc) from exc


def without_architecture(name: str) -> str:
    """Return the name of a plugin from the name of its executable: without an ending such as ``-amd64``."""
    executable = _ARCHITECTURE.fullmatch(name)
    return executable[1] if executable else name


def name_executable(location: str, only: t.Sequence[str]) -> str:
    """Return the name under which a source that is a single executable is installed.

    Args:
        location: Path or URL of the executable.
        only: The plugins that the task selects.

    Raises:
        CniError: ``INVALID_CONFIG`` for several names, and for a name that a plugin cannot have.
    """
    if len(only) > 1:
        problem = f"{location} is a single executable, but 'only' has more than one plugin"
        raise CniError(Code.INVALID_CONFIG, problem, "expected in 'only': the name of the plugin")
    name = only[0] if only else without_architecture(re.split("[?#]", location)[0].rpartition("/")[2])
    return check_plugin_type(name, "only" if only else location)


def _head(file: t.IO[bytes]) -> bytes:
    return os.pread(file.fileno(), tarfile.BLOCKSIZE, 0)


def _describe(file: t.IO[bytes]) -> str:
    """Return a phrase about the size and the first bytes of a file, such as "it has 0 bytes and is empty"."""
    head = _head(file)
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    excerpt = repr(text[:60])
    if not head:
        kind = "is empty"
    elif head.startswith((members.GZIP, members.XZ, _ZIP)) or head[257:262] == b"ustar":
        kind = "looks like an archive: perhaps another release, a rebuilt one or an incomplete one"
        kind = f"{kind}; if it is the one that you want, {CHECKSUM_ADVICE}"
    elif text[:1] == "<":
        kind = f"looks like an HTML page, perhaps an error of a mirror or proxy: {excerpt}"
    elif text[:1] in ("{", "["):
        kind = f"looks like JSON, perhaps an error of a mirror or proxy: {excerpt}"
    else:
        kind = f"is not a supported archive; it begins with {excerpt}"
    return f"it has {os.fstat(file.fileno()).st_size} bytes and {kind}"


def _select_plugins(found: members.Members, what: str) -> t.Iterator[tuple[str, bytes]]:
    """Yield the plugins among the members of an archive; refuse an archive with members that it should not have."""
    paths: dict[str, str] = {}
    for count, (member, content) in enumerate(found):
        path = _check_member(member, what)
        if count >= _COUNT_LIMIT:
            raise members.Refusal(f"it has more than {_COUNT_LIMIT} members", "the plugins of one release")
        directory, file_name = os.path.split(path)
        if not (member.isreg() and member.mode & 0o111 and is_plugin_name(file_name)):
            continue
        name = without_architecture(file_name)
        if name in paths:
            raise members.Refusal(f"it has {name!r} twice: {paths[name]}, {path}", "each plugin once")
        other = next(iter(paths.values()), path)
        if os.path.dirname(other) != directory:
            raise members.Refusal(f"it has executables in several directories: {other}, {path}", "all plugins in one")
        if not content:
            raise members.Refusal(f"{member.name!r} is empty", "an executable file")
        paths[name] = path
        yield name, content
    if not paths:
        raise members.Refusal("it has no executable file", "plugins with the mode of executables, such as ./bridge")


def _check_member(member: tarfile.TarInfo, what: str) -> str:
    """Return the path of a regular file or a directory; refuse other members, and those that are not plain."""
    path = member.name[2:] if member.name.startswith("./") else member.name
    path = path.rstrip("/") if member.isdir() else path
    if member.isdir() and path in ("", "."):
        return ""
    if not (member.isreg() or member.isdir()):
        raise members.Refusal(f"{member.name!r} is not a regular file", _EXPECTED_MEMBERS)
    parts = path.split("/")
    if any(part == "" or part.startswith(".") for part in parts):
        raise members.Refusal(f"{member.name!r} is hidden or not below its root", _EXPECTED_MEMBERS)
    if member.mode & (stat.S_ISUID | stat.S_ISGID) and member.isreg():
        raise members.Refusal(f"{member.name!r} has a setuid or setgid bit", "files without these bits")
    for part in parts:
        check_plugin_type(part, what)
    return path
