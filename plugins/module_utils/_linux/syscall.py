# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import ctypes
import functools
import os
import typing as t

CLONE_NEWNET: t.Final = 0x40000000
MNT_DETACH: t.Final = 2
MS_BIND: t.Final = 0x1000
MS_REC: t.Final = 0x4000
MS_SHARED: t.Final = 0x100000


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


def _call(name: str, path: str, *arguments: t.Any) -> None:
    if getattr(_libc(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path or None)


@functools.lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


__all__ = (
    "CLONE_NEWNET",
    "MNT_DETACH",
    "MS_BIND",
    "MS_REC",
    "MS_SHARED",
    "mount",
    "set_network_namespace",
    "unmount",
    "unshare",
)
