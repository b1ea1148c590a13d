# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the library of a release on the node: the code of the collection, in a directory named by its digest."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import json
import os
import types
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.access import exposures

# Complete libraries have it: it is written with the other files, and removed first.
MAIN = "__main__.py"
# A directory could be locked by every user. Only the owner of the library can open this file. It has the size of each other file
# at the installation, by directory and name, as JSON.
LOCK = ".lock"
# The environment variable in which the controller names the library to a module.
REQUEST = "CNI_NODE_LIBRARY"
# The key of a launcher's result if it could not run the module, and what it says of the library then.
ANSWER = "cni_node_library"
MISSING = "missing"
UNUSABLE = "unusable"
# This task needs more of Ansible than a launcher brings.
NEEDS_MORE = "needs more"

# New objects after which Python looks for garbage. A run of thousands of attachments makes more.
_GARBAGE_THRESHOLD = 100_000


class Library(t.NamedTuple):
    """The library of one release.

    Attributes:
        top: Directory of the libraries of all releases.
        digest: SHA-256 of the library's files, hexadecimal.
    """

    top: str
    digest: str

    @property
    def path(self) -> str:
        return os.path.join(self.top, self.digest)

    @property
    def is_complete(self) -> bool:
        """Return whether the library exists, with all of its files."""
        return all(os.path.exists(os.path.join(self.path, name)) for name in (MAIN, LOCK))

    def hold(self) -> bool:
        """Protect the library from removal until this process ends, and return whether it exists.

        A process of another user than the owner cannot protect it.

        Raises:
            CniError: ``INVALID_ENVIRONMENT``: users other than root can change it; ``IO_FAILURE``.
        """
        lock = os.path.join(self.path, LOCK)
        try:
            descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            # A run that removes the library locks it for that time.
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            is_in_place = self.is_complete and os.path.samestat(os.fstat(descriptor), os.stat(lock))
            if not is_in_place:
                os.close(descriptor)  # this process may have to remove the rest
        except FileNotFoundError:
            return False
        except PermissionError:
            is_in_place = self.is_complete
        except OSError as exc:
            raise _errors().io_error("lock", self.path, exc) from exc
        if is_in_place:
            require_safe(self.path)
        return is_in_place

    def find_damage(self) -> str:
        """Return which file is not as it was installed, as far as its size shows it, or an empty string.

        Another user than the owner gets an empty string.
        """
        try:
            with open(os.path.join(self.path, LOCK), "rb") as stream:
                sizes = json.load(stream)
        except PermissionError:
            return ""
        except (OSError, ValueError) as exc:
            return f"{self.path}/{LOCK}: {exc}"
        for name, expected in sizes.items():
            directory = os.path.join(self.path, name)
            found = {}
            with contextlib.suppress(OSError), os.scandir(directory) as entries:
                found = {entry.name: entry.stat().st_size for entry in entries if entry.name in expected}
            if found != expected:
                damaged = next(name for name, size in expected.items() if found.get(name) != size)
                return f"{os.path.join(directory, damaged)}: missing, or of another size than {expected[damaged]} bytes"
        return ""


def collect_rarely() -> None:
    """Let Python rarely look for garbage in this process, and not at its end.

    Otherwise, a short process looks through all that it has imported again and again, which takes as long as most tasks.
    """
    gc.set_threshold(_GARBAGE_THRESHOLD)
    atexit.register(gc.freeze)


def require_safe(path: str) -> None:
    """Require that only root and the current user can change a directory, itself or through a parent directory.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    found = exposures(path)
    if found:
        advice = (
            "expected: a path that only root can change; cni_node_opt_dir sets the directory to use instead of /opt"
        )
        error = _errors()
        raise error.CniError(
            error.Code.INVALID_ENVIRONMENT, f"the library cannot be in {path}", f"{found[0]}; {advice}"
        )


def _errors() -> types.ModuleType:
    """Return the module with the errors, which is rarely needed: a node compiles what a launcher imports in each call."""
    from ansible_collections.cni.node.plugins.module_utils._base import error

    return error
