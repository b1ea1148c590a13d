# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A bin dir, whose plugins are replaced by renaming complete files."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import tempfile
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import Digests
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import SetAside

MODE: t.Final = 0o755
_OTHER_DIRECTORY: t.Final = (
    "set bin_dir to another directory (in a role: cni_plugins_bin_dir, or cni_node_opt_dir for everything below /opt)"
)


class Labels(t.Protocol):
    """The security labels of a node with SELinux."""

    def has_expected_label(self, path: str) -> bool:
        """Return whether a file has the label that the policy defines for its path."""

    def apply(self, path: str, name: str) -> None:
        """Set the label of the file at ``path`` to the one that the policy defines for ``name``."""


@dataclasses.dataclass(frozen=True)
class PluginFile(SetAside):
    """A file that has the name of a plugin in the bin dir.

    Attributes:
        is_labelled: Whether its security label is right.
    """

    is_labelled: bool = True

    @property
    def has_plugin_metadata(self) -> bool:
        """Return whether mode, owner and label are those of an installed plugin."""
        return (self.mode, self.uid, self.gid, self.is_labelled) == (MODE, os.geteuid(), os.getegid(), True)

    def __str__(self) -> str:
        if self.link:
            return f"a link to {self.link}"
        metadata = "" if self.has_plugin_metadata else f", mode {self.mode:04o}, owner {self.uid}:{self.gid}"
        return self.sha256[:12] + metadata + ("" if self.is_labelled else ", wrong label")


class BinDirectory:
    """A bin dir. Its files are replaced by renaming complete files."""

    def __init__(self, path: str, digests: Digests, labels: Labels | None) -> None:
        self.path = path
        self._digests = digests
        self._labels = labels

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def find(self, names: t.Iterable[str]) -> dict[str, PluginFile]:
        """Return the files with these names that exist.

        Raises:
            CniError: ``IO_FAILURE``; ``INVALID_CONFIG`` for a directory or device that has the name of a plugin.
        """
        files = {name: self._inspect(self.file(name)) for name in names}
        return {name: file for name, file in files.items() if file}

    def _inspect(self, path: str) -> PluginFile | None:
        try:
            status = os.lstat(path)
            link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise io_error("read", path, exc) from exc
        if not link and not stat.S_ISREG(status.st_mode):
            raise CniError(Code.INVALID_CONFIG, f"{path} is not a regular file", "expected: a plugin; move it away")
        return PluginFile(
            sha256="" if link else self._digests.sha256(path),
            mode=stat.S_IMODE(status.st_mode),
            uid=status.st_uid,
            gid=status.st_gid,
            mtime_ns=status.st_mtime_ns,
            link=link,
            is_labelled=self._labels is None or self._labels.has_expected_label(path),
        )

    def require_usable(self, *, runs: bool, writes: bool) -> None:
        """Refuse a file system on which plugins cannot be run, if ``runs``, or written, if ``writes``.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        missing = missing_directories(self.path)
        existing = os.path.dirname(missing[-1]) if missing else self.path
        try:
            flags = os.statvfs(existing).f_flag
        except OSError as exc:
            raise io_error("read", existing, exc) from exc
        if runs and flags & os.ST_NOEXEC:
            problem = f"no plugin in {self.path} can be run: its file system is mounted with noexec"
            raise CniError(Code.IO_FAILURE, problem, f"mount it with exec, or {_OTHER_DIRECTORY}")
        if writes and flags & os.ST_RDONLY:
            raise CniError(Code.IO_FAILURE, f"cannot write to {self.path}: Read-only file system", _OTHER_DIRECTORY)

    def make(self) -> None:
        durable.make_directory(self.path)

    def stage(self, name: str, content: bytes) -> str:
        """Write a plugin to a temporary file, which runtimes ignore, and return its path."""
        return self._stage(name, content, SetAside("", MODE, os.geteuid(), os.getegid(), 0))

    def stage_restored(self, name: str, content: bytes, aside: SetAside) -> str:
        """Write a file that was set aside to a temporary file, and return its path."""
        path = self._create_temporary() if aside.link else self._stage(name, content, aside)
        try:
            if aside.link:
                os.unlink(path)
                os.symlink(aside.link, path)
            os.chown(path, aside.uid, aside.gid, follow_symlinks=False)
            os.utime(path, ns=(aside.mtime_ns, aside.mtime_ns), follow_symlinks=False)
        except OSError as exc:
            discard(path)
            raise io_error("write", self.file(name), exc) from exc
        return path

    def _stage(self, name: str, content: bytes, like: SetAside) -> str:
        path = self._create_temporary()
        try:
            with open(path, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fchown(stream.fileno(), like.uid, like.gid)
                os.fchmod(stream.fileno(), like.mode)
                os.fsync(stream.fileno())
        except OSError as exc:
            discard(path)
            raise io_error("write", self.file(name), exc) from exc
        if self._labels:
            self._labels.apply(path, self.file(name))
        return path

    def _create_temporary(self) -> str:
        try:
            descriptor, path = tempfile.mkstemp(durable.TEMPORARY_SUFFIX, durable.TEMPORARY_PREFIX, self.path)
        except OSError as exc:
            raise io_error("write to", self.path, exc) from exc
        os.close(descriptor)
        return path

    def put(self, staged: t.Mapping[str, str]) -> None:
        """Rename staged files to their names. A process that runs a replaced file keeps running."""
        for name, path in staged.items():
            try:
                os.rename(path, self.file(name))
            except OSError as exc:
                raise io_error("write", self.file(name), exc) from exc

    def repair(self, name: str) -> None:
        """Set owner, mode and label of a plugin."""
        try:
            descriptor = os.open(self.file(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fchown(descriptor, os.geteuid(), os.getegid())
                os.fchmod(descriptor, MODE)
            finally:
                os.close(descriptor)
        except OSError as exc:
            raise io_error("set owner and mode of", self.file(name), exc) from exc
        if self._labels:
            self._labels.apply(self.file(name), self.file(name))

    def sync(self) -> None:
        try:
            durable.sync_directory(self.path)
        except OSError as exc:
            raise io_error("write to", self.path, exc) from exc

    def clean(self) -> None:
        """Remove temporary files that a killed run has left."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in os.listdir(self.path):
                if durable.is_temporary(name):
                    discard(self.file(name))


def missing_directories(path: str) -> list[str]:
    """Return the missing directories of a path, the deepest first."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


def discard(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


__all__ = ("MODE", "BinDirectory", "Labels", "PluginFile", "discard", "missing_directories")
