# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find files that killed runs of this collection have leaked."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory, modification_time
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import OWN_DIRECTORY
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak


class OwnFiles:
    """Finds files that killed runs of this collection have leaked, and its directories if there is no attachment.

    The constructor reads locks and ages, because the run changes them afterwards.
    """

    def __init__(
        self, cache_dir: str, conf_dir: str, known_locks: t.Collection[str], policy: GcPolicy, paths: NodePaths
    ) -> None:
        """
        Args:
            known_locks: File names of the locks of existing networks and containers.
        """
        self._policy = policy
        self._paths = paths
        self._top = os.path.join(cache_dir, OWN_DIRECTORY)
        self._results = os.path.join(cache_dir, "results")
        self._conf_dir = conf_dir
        self._directories = {path: modification_time(path) for path in self._list_directories()}
        self._lock_dir = os.path.join(self._top, "locks")
        names = [name for name in list_directory(self._lock_dir) if name not in known_locks]
        unknown = [os.path.join(self._lock_dir, name) for name in names]
        self._locks = [path for path in unknown if not policy.is_young(modification_time(path)) and not _is_held(path)]

    def collect(self, removed_paths: t.Collection[str]) -> t.Iterator[Leak]:
        """Collect leaked files.

        Args:
            removed_paths: In a dry run, paths that a run would have removed by now.
        """
        self._remove_empty(set(self._list_directories()) - set(self._directories))
        absent = set(removed_paths)
        for leak in itertools.chain(
            map(self._collect_temporary_file, self._list_temporary_files()), map(self._collect_lock, self._locks)
        ):
            absent |= {leak.subject} if leak.collected else set()
            yield leak
        if not _entries(self._results, absent):
            for path in sorted(self._directories, reverse=True):
                for leak in self._collect_directory(path, absent):
                    absent |= {leak.subject} if leak.collected else set()
                    yield leak
            self._remove_unneeded_locks()
            self._remove_empty(path for path in (self._lock_dir, self._top) if not self._is_young(path))

    def _list_directories(self) -> list[str]:
        return [path for path, dummy, dummy in os.walk(self._top)]

    def _remove_empty(self, directories: t.Iterable[str]) -> None:
        """Remove directories that every run makes, if they are empty."""
        if not self._policy.dry_run:
            for path in sorted(directories, reverse=True):
                with contextlib.suppress(OSError):
                    os.rmdir(path)

    def _remove_unneeded_locks(self) -> None:
        """Remove the locks of existing networks, which are useless without attachments. cni.node.verify leaves one."""
        for path in (os.path.join(self._lock_dir, name) for name in list_directory(self._lock_dir)):
            if not self._policy.dry_run and not self._policy.is_young(modification_time(path)):
                with contextlib.suppress(CniError):
                    _remove_lock(path)

    def _is_young(self, path: str) -> bool:
        return self._policy.is_young(self._directories.get(path, 0))

    def _list_temporary_files(self) -> list[str]:
        paths = self._paths
        files = (os.path.dirname(path) for path in (paths.modules_file, paths.sysctl_file, paths.restore_unit))
        etc = (os.path.join(paths.netns_etc, name) for name in list_directory(paths.netns_etc))
        places = [self._conf_dir, self._results, *self._list_directories(), *files, *filter(os.path.isdir, etc)]
        return [
            os.path.join(place, name)
            for place in places
            for name in list_directory(place)
            if durable.is_temporary(name)
        ]

    def _collect_temporary_file(self, path: str) -> Leak:
        leak = Leak(Kind.TEMPORARY_FILE, "", path, "a run was killed while it wrote a file")
        reason = self._policy.reason_for_age(modification_time(path))
        return self._policy.collect_unless(reason, leak, lambda: durable.remove(path, flush=False))

    def _collect_lock(self, path: str) -> Leak:
        evidence = "no process holds it, and no network or container needs it"
        leak = self._policy.collect_unless("", Leak(Kind.LOCK, "", path, evidence), lambda: _remove_lock(path))
        if leak.error is None or leak.error.code != Code.TRY_AGAIN:
            return leak
        return Leak(Kind.LOCK, "", path, "no network or container needs it, but a run holds it now")

    def _collect_directory(self, path: str, absent: t.Collection[str]) -> list[Leak]:
        """Collect an empty directory. A young one may have just been made by another run."""
        is_of_locks = path in (self._lock_dir, self._top)
        if is_of_locks or _entries(path, absent) or self._is_young(path) or not os.path.isdir(path):
            return []
        leak = Leak(Kind.DIRECTORY, "", path, "it is empty, and there is no attachment")
        return [self._policy.collect_unless("", leak, lambda: _remove_directory(path))]


def _entries(directory: str, absent: t.Collection[str]) -> set[str]:
    return {os.path.join(directory, name) for name in list_directory(directory)}.difference(absent)


def _is_held(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or gone
        return True
    return False


def _remove_lock(path: str) -> None:
    with hold_lock(path, exclusive=True, timeout=0, what="a lock that was free"):
        pass


def _remove_directory(path: str) -> None:
    with io_errors("remove", path):
        os.rmdir(path)
