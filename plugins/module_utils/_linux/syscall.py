# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""System calls for which Python 3.9 has no function."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import signal
import typing as t

CLONE_NEWNET = 0x40000000
MNT_DETACH = 2
MS_BIND = 0x1000
MS_REC = 0x4000
MS_SHARED = 0x100000
_PR_SET_PDEATHSIG = 1
# The number of bpf(2) for programs of 64 bits.
_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "s390x": 351, "ppc64le": 361}


def mount(source: str, target: str, flags: int) -> None:
    """Call mount(2) without a file system type or data.

    Raises:
        OSError: The error of the system call.
    """
    _call("mount", target, os.fsencode(source), os.fsencode(target), b"none", ctypes.c_ulong(flags), None)


def unmount(target: str, flags: int) -> None:
    """Call umount2(2).

    Raises:
        OSError: The error of the system call.
    """
    _call("umount2", target, os.fsencode(target), ctypes.c_int(flags))


def unshare(flags: int) -> None:
    """Call unshare(2) for the calling thread.

    Raises:
        OSError: The error of the system call.
    """
    _call("unshare", "", ctypes.c_int(flags))


def set_network_namespace(descriptor: int) -> None:
    """Call setns(2) for the calling thread.

    Raises:
        OSError: The error of the system call.
    """
    _call("setns", "", ctypes.c_int(descriptor), ctypes.c_int(CLONE_NEWNET))


def end_with_parent() -> None:
    """Let the kernel kill this process when the thread that forked it ends.

    Raises:
        OSError: The error of the system call.
    """
    _call("prctl", "", ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL))


def sync_file_system(descriptor: int) -> None:
    """Call syncfs(2): flush the file system of a file to disk.

    Raises:
        OSError: The error of the system call.
    """
    _call("syncfs", "", ctypes.c_int(descriptor))


def bpf(command: int, attributes: bytes) -> int:
    """Call bpf(2), for which the C library has no function, and return what it does.

    Raises:
        OSError: The error of the system call; ``ENOSYS`` as well if its number on this machine is not known.
    """
    number = _BPF.get(os.uname().machine)
    if number is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    content = ctypes.create_string_buffer(attributes, len(attributes))
    size = ctypes.c_uint(len(attributes))
    return _call("syscall", "", ctypes.c_long(number), ctypes.c_int(command), content, size)


def _call(name: str, path: str, *arguments: t.Any) -> int:
    result = int(getattr(_libc(), name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path or None)
    return result


@functools.lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
