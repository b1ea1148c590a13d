# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Watch a directory for changes (inotify(7))."""

from __future__ import annotations

import os
import struct

from ansible_collections.cni.node.plugins.module_utils._linux import syscall

# linux/inotify.h
_CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_CHANGES = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
# The watch, the kinds of the event, a number that joins two events, the length of the name.
_EVENT = struct.Struct("=iIII")
_READ_SIZE = 64 * 1024


class DirectoryWatch:
    """A watch on a directory, which lists the entries that any process has written, created, renamed or removed.

    The kernel notes a change before the system call that makes it returns.
    """

    def __init__(self, descriptor: int) -> None:
        """
        Args:
            descriptor: Descriptor of the directory.

        Raises:
            OSError: The kernel has no watch left for this user, or no inotify.
        """
        self._descriptor = syscall.inotify_init()
        try:
            syscall.inotify_add_watch(self._descriptor, f"/proc/self/fd/{descriptor}", _CHANGES)
        except OSError:
            self.close()
            raise

    def changed_names(self) -> set[str] | None:
        """Return the names that were changed since the last call.

        Return None if the kernel could not note them all, or if the directory is gone: then a new watch is needed.

        Raises:
            OSError: The watch cannot be read.
        """
        names: set[str] = set()
        is_whole = True
        while content := self._read():
            start = 0
            while start < len(content):
                dummy, kinds, dummy, length = _EVENT.unpack_from(content, start)
                start += _EVENT.size
                names.add(os.fsdecode(content[start : start + length].rstrip(b"\0")))
                is_whole = is_whole and not kinds & (_OVERFLOW | _IGNORED)
                start += length
        return names if is_whole else None

    def close(self) -> None:
        os.close(self._descriptor)

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _READ_SIZE)
        except BlockingIOError:
            return b""
