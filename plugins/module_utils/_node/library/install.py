# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Install the library of a release on the node, and remove those that nothing uses any more."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import filecmp
import json
import os
import py_compile
import shutil
import tempfile
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.library import LOCK, MAIN, Library, require_safe
from ansible_collections.cni.node.plugins.module_utils._linux import syscall

# Begins the names of directories that are being written.
_NEW = ".new-"
_IS_THERE = (errno.EEXIST, errno.ENOTEMPTY)


def install(library: Library, files: t.Mapping[str, bytes]) -> None:
    """Install the library from its files, which have been verified, or mend it.

    It gets its name when it is complete, with code compiled for the Python of this process. Files of an existing library that
    differ are replaced one by one, while other processes may use it.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``, ``IO_FAILURE`` or ``TRY_AGAIN``; nothing is installed.
    """
    # Missing directories are made only below safe ones.
    require_safe(library.top)
    durable.make_directory(library.top)
    with io_errors("install the library in", library.path):
        _remove_remains(library.top)
        _make(library, files)


def remove(path: str) -> bool:
    """Return whether a library was removed; it stays while a process uses it.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    try:
        # A killed run, or a copy, has left a directory without the file.
        with _lock(os.path.join(path, LOCK), os.O_CREAT) as descriptor:
            if descriptor is None:
                return False
            # It cannot be renamed where it is part of the image of a container.
            durable.remove(os.path.join(path, MAIN))
            _empty(path)
            shutil.rmtree(path)
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise io_error("remove the library", path, exc) from exc
    return True


def _empty(path: str) -> None:
    """Remove everything but the lock, without which a later run could not remove the rest."""
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            elif entry.name != LOCK:
                os.unlink(entry.path)


def _make(library: Library, files: t.Mapping[str, bytes]) -> None:
    """Write the library in a directory beside it, locked so that other runs know that it is in use, and rename it."""
    was_there = os.path.lexists(library.path)
    path = tempfile.mkdtemp(prefix=_NEW, dir=library.top)
    with _lock(path) as descriptor:
        try:
            _write(path, files)
            os.chmod(path, 0o755)
            syscall.sync_file_system(t.cast(int, descriptor))
            if not _rename(path, library):
                # Only another run can have installed it in the meantime, which is no reason to replace its bytecode.
                if was_there or not library.is_complete or library.find_damage():
                    _mend(path, library)
                shutil.rmtree(path)
            durable.sync_directory(library.top)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise


def _write(path: str, files: t.Mapping[str, bytes]) -> None:
    for name, content in files.items():
        target = os.path.join(path, name)
        # With a mode that does not depend on the umask.
        durable.make_directory(os.path.join(os.path.dirname(target), "__pycache__"))
        durable.write(target, content, mode=0o644, flush=False)
        if target.endswith(".py"):
            # The time of the source is not compared: the library is never edited (PEP 552).
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            compiled = py_compile.compile(target, dfile=name, doraise=True, invalidation_mode=unchecked)
            os.chmod(t.cast(str, compiled), 0o644)
    sizes = {
        directory[len(path) + 1 :]: {name: os.path.getsize(os.path.join(directory, name)) for name in names}
        for directory, dummy, names in durable.walk(path)
    }
    durable.write(os.path.join(path, LOCK), json.dumps(sizes).encode(), mode=0o600, flush=False)


def _rename(path: str, library: Library) -> bool:
    """Give the library its name, and return whether no other directory had it."""
    try:
        os.rename(path, library.path)
    except OSError as exc:
        if exc.errno not in _IS_THERE:
            raise
        return False
    return True


def _mend(path: str, library: Library) -> None:
    """Move the files of a new library to the places of those that differ, or that a killed removal has removed.

    Raises:
        CniError: ``TRY_AGAIN``: another run is removing the library.
    """
    with _lock(os.path.join(library.path, LOCK), os.O_CREAT | os.O_RDWR, fcntl.LOCK_SH) as descriptor:
        if descriptor is None:
            raise CniError(Code.TRY_AGAIN, f"another run is removing {library.path}", "run the task again")
        for directory, dummy, names in durable.walk(path):
            target = os.path.normpath(os.path.join(library.path, os.path.relpath(directory, path)))
            if os.path.islink(target) or not os.path.isdir(target):
                durable.remove(target, flush=False)
            durable.make_directory(target)
            for name in names:
                if name not in (LOCK, MAIN):
                    _replace(os.path.join(directory, name), os.path.join(target, name))
        sizes = durable.read(os.path.join(path, LOCK)) or b""
        # Processes have locked this file, so it stays.
        if os.pread(descriptor, len(sizes) + 1, 0) != sizes:
            with open(descriptor, "wb", buffering=0, closefd=False) as stream:
                stream.truncate(0)
                durable.write_all(stream, sizes)
        _replace(os.path.join(path, MAIN), os.path.join(library.path, MAIN))
        syscall.sync_file_system(descriptor)


def _replace(new: str, old: str) -> None:
    """Move a file to the place of one that differs in content or kind."""
    if os.path.isdir(old) and not os.path.islink(old):
        shutil.rmtree(old)
    is_same = os.path.isfile(old) and not os.path.islink(old) and filecmp.cmp(new, old, shallow=False)
    if not is_same:
        os.replace(new, old)


def _remove_remains(top: str) -> None:
    """Remove what killed runs have left behind."""
    for name in os.listdir(top):
        path = os.path.join(top, name)
        if name.startswith(_NEW):
            with contextlib.suppress(FileNotFoundError), _lock(path) as descriptor:
                if descriptor is not None:
                    shutil.rmtree(path)


@contextlib.contextmanager
def _lock(path: str, flags: int = 0, kind: int = fcntl.LOCK_EX) -> t.Iterator[int | None]:
    """Yield a descriptor with a lock on a file or a directory, or None if a process holds a lock against it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield descriptor
    finally:
        os.close(descriptor)
