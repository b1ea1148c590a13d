# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error


def list_directory(path: str) -> list[str]:
    """Return the sorted names in a directory; an empty list if it does not exist or its name is invalid.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, ValueError):  # a name with a NUL, or one that cannot be encoded
        return []
    except OSError as exc:
        raise io_error("list", path, exc) from exc


def modification_time(path: str) -> float:
    """Return when a file was last modified, in seconds since the epoch; 0 if it does not exist."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def is_executable(path: str) -> bool:
    """Return whether a path leads to a file that this user may execute."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


__all__ = ("is_executable", "list_directory", "modification_time")
