# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import stat
import threading
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._base.files import list_directory
from ansible_collections.cni.node.plugins.module_utils._linux import syscall

DIRECTORY: t.Final = "/run/netns"

# Whoever makes or removes a namespace holds it: a second mount on one file hides the first for good.
LOCK: t.Final = "/run/cni-node-netns.lock"
_TIMEOUT: t.Final = 60.0

_NS_GET_NSTYPE: t.Final = 0xB703
_KINDS: t.Final = {
    stat.S_IFREG: "a file with content",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}
_OWN_NAMESPACES: t.Final = ("/proc/self/ns/net", "/proc/1/ns/net")

if t.TYPE_CHECKING:
    import concurrent.futures

T = t.TypeVar("T")


def path_of(name: str) -> str:
    """Return where a named network namespace is (``ip netns`` looks there too).

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if name in ("", ".", "..") or name.startswith("-") or not name.isprintable() or set(name) & set("/ "):
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            f"{name!r} is no name of a network namespace",
            "expected: a file name that does not begin with '-' and has neither spaces nor '/'",
        )
    return os.path.join(DIRECTORY, name)


def names() -> list[str]:
    """Return the names of all network namespaces of the node."""
    return [name for name in list_directory(DIRECTORY) if is_namespace(os.path.join(DIRECTORY, name))]


def is_namespace(path: str) -> bool:
    """Tell whether a path names a network namespace."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return fcntl.ioctl(descriptor, _NS_GET_NSTYPE) == syscall.CLONE_NEWNET
    except OSError:
        return False
    finally:
        os.close(descriptor)


def require_foreign(path: str) -> None:
    """Refuse anything but a network namespace that is not the node's own.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    try:
        status = os.stat(path)
    except OSError:
        raise _invalid(path, "does not exist", "make it first, for example with the module cni.node.netns") from None
    if not is_namespace(path):
        advice = "a file left behind by one? remove it and make the namespace anew"
        raise _invalid(path, "is not a network namespace", advice)
    if (status.st_dev, status.st_ino) in _own_namespaces():
        raise _invalid(path, "is the node's own network namespace", "name the container's")


def require_removable(path: str) -> None:
    """Refuse to take or remove a file that is neither a namespace nor what is left of one: a link, or empty.

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
    what = _KINDS.get(kind, "no regular file")
    raise CniError(Code.INVALID_ENVIRONMENT, f"{path} is {what}", "no network namespace is one; remove it by hand")


def create(name: str) -> bool:
    """Make a named network namespace; say whether there was none.

    An empty file left behind by an interrupted attempt is taken over, and a link that leads to none makes way.

    Raises:
        CniError: ``IO_FAILURE``, ``INVALID_ENVIRONMENT``, ``TRY_AGAIN``.
    """
    path = path_of(name)
    with _alone():
        if is_namespace(path):
            return False
        require_removable(path)
        try:
            _share_directory()
            if os.path.islink(path):
                os.unlink(path)
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600))
            _in_new_thread(lambda: _pin_new_namespace(path))
        except OSError as exc:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise io_error("make the network namespace", path, exc) from exc
    return True


def delete(name: str) -> bool:
    """Remove a named network namespace, or what is left of one; say whether there was anything.

    What a link leads to is somebody else's.

    Raises:
        CniError: ``IO_FAILURE``, ``INVALID_ENVIRONMENT``, ``TRY_AGAIN``.
    """
    path = path_of(name)
    with _alone():
        try:
            # It may be mounted there several times.
            while not os.path.islink(path) and is_namespace(path):
                syscall.unmount(path, syscall.MNT_DETACH)
            require_removable(path)
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise io_error("remove the network namespace", path, exc) from exc
    return True


def run_inside(path: str, operation: t.Callable[[], T]) -> T:
    """Do something inside a network namespace.

    Raises:
        OSError: The namespace cannot be entered, or the operation's own.
    """
    return _in_new_thread(lambda: _enter_and(path, operation))


def open_inside(path: str, opening: t.Callable[[], T]) -> T:
    """Open something, such as a socket, inside a network namespace; it stays there.

    One thread does so for all, as it never has to find its way back: starting another each time takes ten times as long.

    Raises:
        OSError: As `inside`.
    """
    return _traveller().submit(_enter_and, path, opening).result()


def _enter_and(path: str, operation: t.Callable[[], T]) -> T:
    # Whatever the path names, a pipe that nobody writes to included, is not waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        syscall.set_network_namespace(descriptor)
    finally:
        os.close(descriptor)
    return operation()


@functools.lru_cache(maxsize=1)
def _traveller() -> concurrent.futures.Executor:
    from concurrent.futures import ThreadPoolExecutor  # which takes longer to load than most of those who come here do

    return ThreadPoolExecutor(max_workers=1)


@functools.lru_cache(maxsize=1)
def _own_namespaces() -> set[tuple[int, int]]:
    own = set()
    for path in _OWN_NAMESPACES:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            own.add((status.st_dev, status.st_ino))
    return own


def _alone() -> t.ContextManager[None]:
    # Most runs find every namespace as it is to be, and need neither this nor what it imports.
    from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock

    return hold_lock(LOCK, exclusive=True, timeout=_TIMEOUT, what=DIRECTORY)


def _share_directory() -> None:
    """Let namespaces made here be seen by every mount namespace of the node, as iproute2 does."""
    # Most runs find it there, and need not load this.
    from ansible_collections.cni.node.plugins.module_utils._base.durable import make_directory

    make_directory(DIRECTORY)
    try:
        syscall.mount("", DIRECTORY, syscall.MS_SHARED | syscall.MS_REC)
    except OSError as exc:
        if exc.errno != errno.EINVAL:  # not a mount point yet
            raise
        syscall.mount(DIRECTORY, DIRECTORY, syscall.MS_BIND | syscall.MS_REC)
        syscall.mount("", DIRECTORY, syscall.MS_SHARED | syscall.MS_REC)


def _pin_new_namespace(path: str) -> None:
    syscall.unshare(syscall.CLONE_NEWNET)
    syscall.mount("/proc/thread-self/ns/net", path, syscall.MS_BIND)


def _in_new_thread(operation: t.Callable[[], T]) -> T:
    """Change a thread's namespace without changing ours: the thread ends right after."""
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(operation())
        except BaseException as exc:  # it is raised again, as it was
            failures.append(exc)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _invalid(path: str, problem: str, advice: str) -> CniError:
    return CniError(Code.INVALID_ENVIRONMENT, f"CNI_NETNS: {path} {problem}", advice)


__all__ = (
    "DIRECTORY",
    "LOCK",
    "create",
    "delete",
    "is_namespace",
    "names",
    "open_inside",
    "path_of",
    "require_foreign",
    "require_removable",
    "run_inside",
)
