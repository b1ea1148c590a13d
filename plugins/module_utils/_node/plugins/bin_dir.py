# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A bin dir and its files, which are replaced by renaming complete ones."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import tempfile
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._node.files.change import existing_directory
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import Digests
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import SetAside

MODE = 0o755
_OTHER_DIRECTORY = (
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
    def as_set_aside(self) -> SetAside:
        return SetAside(self.sha256, self.mode, self.uid, self.gid, self.mtime_ns, self.link)

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
        with io_errors("read", path), contextlib.suppress(FileNotFoundError):
            status = os.lstat(path)
            link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
            if not link and not stat.S_ISREG(status.st_mode):
                raise CniError(Code.INVALID_CONFIG, f"{path} is not a regular file", "expected: a plugin; move it away")
            digest = "" if link else self._digests.sha256(path)
            mode = stat.S_IMODE(status.st_mode)
            is_labelled = self._labels is None or self._labels.has_expected_label(path)
            return PluginFile(digest, mode, status.st_uid, status.st_gid, status.st_mtime_ns, link, is_labelled)
        return None

    def require_usable(self, *, runs: bool, writes: bool) -> None:
        """Refuse a file system on which plugins cannot be run, if ``runs``, or written, if ``writes``.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        existing = existing_directory(self.path)
        with io_errors("read", existing):
            flags = os.statvfs(existing).f_flag
        if runs and flags & os.ST_NOEXEC:
            problem = f"no plugin in {self.path} can be run: its file system is mounted with noexec"
            raise CniError(Code.IO_FAILURE, problem, f"mount it with exec, or {_OTHER_DIRECTORY}")
        if writes and flags & os.ST_RDONLY:
            raise CniError(Code.IO_FAILURE, f"cannot write to {self.path}: Read-only file system", _OTHER_DIRECTORY)

    def stage(self, name: str, content: bytes, aside: SetAside | None = None) -> str:
        """Write a plugin to a temporary file, which runtimes ignore, and return its path.

        Args:
            aside: The file was set aside, and gets back the metadata that it had, or is the link that it was.
        """
        with io_errors("write to", self.path):
            descriptor, path = tempfile.mkstemp(durable.TEMPORARY_SUFFIX, durable.TEMPORARY_PREFIX, self.path)
        like = aside or SetAside("", MODE, os.geteuid(), os.getegid(), 0)
        try:
            with io_errors("write", self.file(name)), os.fdopen(descriptor, "wb") as stream:
                if like.link:
                    os.unlink(path)
                    os.symlink(like.link, path)
                    os.chown(path, like.uid, like.gid, follow_symlinks=False)
                else:
                    stream.write(content)
                    stream.flush()
                    os.fchown(descriptor, like.uid, like.gid)
                    os.fchmod(descriptor, like.mode)
                    os.fsync(descriptor)
                if aside:
                    os.utime(path, ns=(aside.mtime_ns, aside.mtime_ns), follow_symlinks=False)
            if self._labels and not like.link:
                self._labels.apply(path, self.file(name))
        except BaseException:  # Ansible ends the module where it cannot set a label
            discard(path)
            raise
        return path

    def put(self, staged: t.Mapping[str, str]) -> None:
        """Rename staged files to their names. A process that runs a replaced file keeps running."""
        for name, path in staged.items():
            with io_errors("write", self.file(name)):
                os.rename(path, self.file(name))

    def repair(self, name: str) -> None:
        """Set owner, mode and label of a plugin."""
        path = self.file(name)
        with io_errors("set owner and mode of", path):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fchown(descriptor, os.geteuid(), os.getegid())
                os.fchmod(descriptor, MODE)
            finally:
                os.close(descriptor)
        if self._labels:
            self._labels.apply(path, path)

    def sync(self) -> None:
        with io_errors("write to", self.path):
            durable.sync_directory(self.path)

    def clean(self) -> None:
        """Remove temporary files that a killed run has left."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in os.listdir(self.path):
                if durable.is_temporary(name):
                    discard(self.file(name))


def discard(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
