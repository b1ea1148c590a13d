# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find files and directories that users other than root can change."""

from __future__ import annotations

import os
import stat
import typing as t

_LINK_LIMIT = 40


class Exposure(t.NamedTuple):
    """A file or directory that users other than root and the current user can change.

    Attributes:
        path: The file or directory, symbolic links resolved.
        reason: The owner or mode that allows the change.
        is_world_writable: Whether every user of the node can replace the content.
    """

    path: str
    reason: str
    is_world_writable: bool

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def exposures(path: str) -> list[Exposure]:
    """Return the exposures of a file or directory and of all its parent directories.

    Missing files are ignored. In a sticky directory, other users cannot replace the entries of root, so a sticky parent
    directory is not an exposure.
    """
    steps = list(_steps(path))
    candidates = (_exposure(step, status, is_last=step == steps[-1][0]) for step, status in steps)
    return [exposure for exposure in candidates if exposure]


def _exposure(path: str, status: os.stat_result, *, is_last: bool) -> Exposure | None:
    mode = stat.S_IMODE(status.st_mode)
    is_directory = stat.S_ISDIR(status.st_mode)
    is_sticky = is_directory and bool(mode & stat.S_ISVTX)
    shown = f"mode {mode:04o}, owner {status.st_uid}:{status.st_gid}"
    if mode & stat.S_IWOTH and not is_sticky:
        return Exposure(path, f"every user can write it ({shown})", True)
    if status.st_uid not in (0, os.geteuid()):
        return Exposure(path, f"its owner is not root ({shown})", False)
    if mode & (stat.S_IWGRP | stat.S_IWOTH) and (is_last or not is_sticky):
        who = "every user can add files" if mode & stat.S_IWOTH else "its group can write it"
        return Exposure(path, f"{who} ({shown})", False)
    return None


def _steps(path: str) -> t.Iterator[tuple[str, os.stat_result]]:
    """Yield each parent directory of a path and the path itself with its status, as the kernel resolves it."""
    at, waiting, links = "/", os.path.abspath(path).split("/"), 0
    yield at, os.lstat(at)
    while waiting:
        name = waiting.pop(0)
        if name in ("", "."):
            continue
        step = os.path.dirname(at) if name == ".." else os.path.join(at, name)
        try:
            status = os.lstat(step)
            if stat.S_ISLNK(status.st_mode):
                target, links = os.readlink(step), links + 1
                at, waiting = "/" if target.startswith("/") else at, [*target.split("/"), *waiting]
                if links > _LINK_LIMIT:
                    return
                continue
        except OSError:
            return
        at = step
        yield at, status
