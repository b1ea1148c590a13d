# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Remember the units and executables that start programs from a library, which stays as long as they do."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import io_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._node.files.change import remove_empty
from ansible_collections.cni.node.plugins.module_utils._node.library.install import remove

# A directory beside the libraries, with a symbolic link to each file or directory.
_USERS = "users"
# Bytes of a file, within which it names its library; a unit lists cache directories before it.
_HEAD = 65536


def register(library: Library, paths: t.Iterable[str]) -> None:
    """Note where files refer to libraries, and remove the libraries that nothing refers to any more.

    Each run calls this for the files that it keeps, so it completes the work of a killed run.

    Args:
        library: The library of this run, which stays.
        paths: Files, and directories of files.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    directory = os.path.join(library.top, _USERS)
    durable.make_directory(directory)
    links = {os.path.join(directory, hashlib.sha256(path.encode()).hexdigest()): path for path in paths}
    missing = {link: path for link, path in links.items() if not os.path.lexists(link)}
    with io_errors("write links in", directory):
        for link, path in missing.items():
            with contextlib.suppress(FileExistsError):
                os.symlink(path, link)
        if missing:
            durable.sync_directory(directory)
    if list_libraries(library.top) != [library.path]:
        remove_unused(library.top, keep=library.digest)


def list_libraries(top: str) -> list[str]:
    """Return the paths of the libraries of all releases; errors as `durable.list_directory`."""
    return [os.path.join(top, name) for name in durable.list_directory(top) if name != _USERS and name[0] != "."]


def remove_unused(top: str, *, keep: str = "", dry_run: bool = False) -> list[str]:
    """Remove the libraries that no file refers to and no process uses, and return the paths of those that stay.

    Args:
        keep: Digest of a library that stays in any case.
        dry_run: Whether to predict only; a library that a process uses is then not noticed.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    used = b"".join([*_sweep_users(top, forget=not dry_run), keep.encode()])
    stay = []
    for path in list_libraries(top):
        is_used = os.path.basename(path).encode() in used
        if is_used or not (dry_run or remove(path)):
            stay.append(path)
    if not stay and not dry_run:
        parents = [os.path.dirname(top), os.path.dirname(os.path.dirname(top))]
        remove_empty(os.path.join(top, _USERS), top, *parents)
    return stay


def _sweep_users(top: str, *, forget: bool) -> t.Iterator[bytes]:
    """Yield the beginning of each file that refers to a library, and forget users without such a file.

    Args:
        forget: Whether to forget any.
    """
    directory = os.path.join(top, _USERS)
    for name in durable.list_directory(directory):
        link = os.path.join(directory, name)
        try:
            path = os.readlink(link)
        except FileNotFoundError:  # another run has just forgotten it
            continue
        except OSError as exc:
            raise io_error("read the link", link, exc) from exc
        heads = [head for head in map(_read_head, _files(path)) if os.fsencode(top) in head]
        yield from heads
        if not heads and forget:
            durable.remove(link)


def _files(path: str) -> t.Iterator[str]:
    if not os.path.isdir(path):
        yield path
    for directory, dummy, names in durable.walk(path):
        yield from (os.path.join(directory, name) for name in names)


def _read_head(path: str) -> bytes:
    with io_errors("read", path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for a writer
            with open(path, "rb", buffering=0) as stream:
                return stream.read(_HEAD)
    return b""
