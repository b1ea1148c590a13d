# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Network namespaces: which one a path leads to, and operations inside it."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import stat
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import workers
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors, refuse_without_room
from ansible_collections.cni.node.plugins.module_utils._linux import syscall

_NS_GET_NSTYPE = 0xB703
# Bytes of a file name.
_LONGEST_NAME = 255
_KINDS = {
    stat.S_IFREG: "a file with content",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}
_OWN_NAMESPACES = ("/proc/self/ns/net", "/proc/1/ns/net")
# O_NONBLOCK: a path may lead to a pipe without a writer.
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
CURRENT = "/proc/thread-self/ns/net"

T = t.TypeVar("T")


def path_of(directory: str, name: str) -> str:
    """Return the path of a named network namespace, the same as for ``ip netns``.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if name in ("", ".", "..") or name.startswith("-") or not name.isprintable() or set(name) & set("/ "):
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            f"{name!r} is not a network namespace name",
            "expected: a file name that does not begin with '-' and has neither spaces nor '/'",
        )
    if len(os.fsencode(name)) > _LONGEST_NAME:
        what = f"the name of a network namespace has {len(os.fsencode(name))} bytes: {name[:20]}…"
        raise CniError(Code.INVALID_ENVIRONMENT, what, f"expected: at most {_LONGEST_NAME}")
    return os.path.join(directory, name)


def is_namespace(path: str) -> bool:
    """Return whether a path leads to a network namespace; errors as `is_foreign`."""
    return is_foreign(path, allow_own=True)


def is_own(path: str) -> bool:
    """Return whether a path leads to the node's own network namespace; errors as `is_foreign`."""
    try:
        status = os.stat(path)
    except ValueError:
        return False
    except OSError as exc:
        refuse_without_room("examine", path, exc)
        return False
    return (status.st_dev, status.st_ino) in _own_namespaces()


def is_foreign(path: str, *, allow_own: bool = False) -> bool:
    """Return whether a path leads to a network namespace; the node's own counts only with ``allow_own``.

    Raises:
        CniError: ``IO_FAILURE``: this process or the node has no room for another open file.
    """
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as exc:
        refuse_without_room("open", path, exc)
        return False
    try:
        status = os.fstat(descriptor)
        is_allowed = allow_own or (status.st_dev, status.st_ino) not in _own_namespaces()
        return _is_network_namespace(descriptor) and is_allowed
    finally:
        os.close(descriptor)


def _is_network_namespace(descriptor: int) -> bool:
    try:
        return fcntl.ioctl(descriptor, _NS_GET_NSTYPE) == syscall.CLONE_NEWNET
    except OSError:
        return False


def inode(path: str) -> int:
    """Return the inode number of the network namespace at a path, or 0 if there is no file; errors as `is_foreign`."""
    try:
        return os.stat(path).st_ino
    except ValueError:
        return 0
    except OSError as exc:
        refuse_without_room("examine", path, exc)
        return 0


def require_foreign(path: str, *, allow_own: bool = False) -> None:
    """Refuse a path that is not a network namespace, or is the node's own.

    Args:
        allow_own: Accept the node's own.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``; ``IO_FAILURE`` as `is_foreign`.
    """
    try:
        status = os.stat(path)
    except OSError as exc:
        refuse_without_room("examine", path, exc)
        raise _invalid(path, "does not exist", "create it first, for example with the module cni.node.netns") from None
    if not is_namespace(path):
        advice = "if a removed namespace left the file behind, remove it and create the namespace again"
        raise _invalid(path, "is not a network namespace", advice)
    if not allow_own and (status.st_dev, status.st_ino) in _own_namespaces():
        raise _invalid(path, "is the node's own network namespace", "expected: the network namespace of the container")


@contextlib.contextmanager
def open_foreign(path: str, *, allow_own: bool = False) -> t.Iterator[int]:
    """Yield a descriptor of a network namespace that is not the node's own; arguments as `require_foreign`.

    The descriptor itself is examined: a path such as ``/proc/1234/ns/net`` may lead elsewhere a moment later.

    Raises:
        CniError: As `require_foreign`; ``IO_FAILURE``.
    """
    require_foreign(path, allow_own=allow_own)
    with io_errors("open", path):
        descriptor = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        is_own = (status.st_dev, status.st_ino) in _own_namespaces() and not allow_own
        if is_own or not _is_network_namespace(descriptor):
            raise _invalid(
                path, "leads to another namespace than a moment ago", "expected: a container that still runs"
            )
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def open_current() -> t.Iterator[int]:
    """Yield a descriptor of the network namespace that this thread is in.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with io_errors("open", CURRENT):
        descriptor = os.open(CURRENT, _OPEN_FLAGS)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def require_removable(path: str) -> None:
    """Refuse to replace or remove a file unless it is a namespace, a link or an empty file.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK or (kind == stat.S_IFREG and status.st_size == 0) or is_namespace(path):
        return
    what = _KINDS.get(kind, "not a regular file")
    raise CniError(
        Code.INVALID_ENVIRONMENT, f"{path} is {what}", "expected: a network namespace or no file; remove it by hand"
    )


def run_inside(path: str, operation: t.Callable[[], T]) -> T:
    """Run an operation in a network namespace. This thread enters it and then returns to the one that it was in.

    A thread of its own would take fifty times as long. A socket that the operation opens stays in the namespace.

    Raises:
        OSError: The namespace cannot be entered, or the operation failed.
    """
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        return run_in(descriptor, operation)
    finally:
        os.close(descriptor)


def run_in(descriptor: int, operation: t.Callable[[], T]) -> T:
    """Run an operation in the network namespace of a descriptor, as `run_inside`.

    Raises:
        OSError: As `run_inside`.
    """
    home = os.open(CURRENT, _OPEN_FLAGS)
    # An interruption may come from the system call after the kernel has done it.
    may_be_away = True
    try:
        try:
            syscall.set_network_namespace(descriptor)
        except OSError:
            may_be_away = False
            raise
        return operation()
    finally:
        if may_be_away:
            _return_to(home)
        os.close(home)


def _return_to(home: int) -> None:
    try:
        try:
            syscall.set_network_namespace(home)
        except KeyboardInterrupt:
            syscall.set_network_namespace(home)
            raise
    except OSError as exc:
        # Whatever this thread did next, it would do to the wrong namespace. Every run can be ended at any time.
        os.write(2, f"cni.node: cannot return to the node's network namespace: {exc}; the run ends\n".encode())
        os._exit(1)


@functools.lru_cache(maxsize=1)
def _own_namespaces() -> set[tuple[int, int]]:
    own = set()
    for path in _OWN_NAMESPACES:
        try:
            status = os.stat(path)
        except OSError as exc:
            refuse_without_room("examine", path, exc)
        else:
            own.add((status.st_dev, status.st_ino))
    return own


def run_in_new_thread(operation: t.Callable[[], T]) -> T:
    """Run an operation that changes the thread's namespace, in a new thread that ends afterwards.

    Raises:
        OSError: ``EAGAIN``: this process may have no further thread.
    """
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(operation())
        except BaseException as exc:  # raised again in the calling thread
            failures.append(exc)

    workers.start_thread(run).join()
    if failures:
        raise failures[0]
    return results[0]


def _invalid(path: str, problem: str, advice: str) -> CniError:
    return CniError(Code.INVALID_ENVIRONMENT, f"CNI_NETNS: {path} {problem}", advice)
