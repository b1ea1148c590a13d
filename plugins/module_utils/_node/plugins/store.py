# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The kept releases and set-aside files of a bin dir."""

from __future__ import annotations

import contextlib
import os
import shutil
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import Digests, digest_of, sha256
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import FILE, Manifest, Release, store_path

_SET_ASIDE: t.Final = "set-aside"
_FILE_LIMIT: t.Final = 1024 * 1024 * 1024


class PluginStore:
    """The releases and set-aside files that are kept for one bin dir, and their manifest.

    A file belongs to the store only if the manifest lists it; others are removed.
    """

    def __init__(self, cache_dir: str, bin_dir: str) -> None:
        self.path = store_path(cache_dir, bin_dir)
        stores = os.path.dirname(self.path)
        self.parents = [stores, os.path.dirname(stores), cache_dir]
        self.manifest = Manifest.load(self.path)
        self.digests = Digests(self.manifest.seen)

    @property
    def lock(self) -> str:
        return f"{self.path}.lock"

    def file(self, release: Release, name: str) -> str:
        return os.path.join(self.path, release.id.replace(":", "-"), name)

    def set_aside(self, name: str) -> str:
        return os.path.join(self.path, _SET_ASIDE, name)

    def put(self, path: str, content: bytes) -> None:
        """Write a file; it belongs to the store when the manifest lists it."""
        durable.make_directory(os.path.dirname(path), mode=0o700)
        durable.write(path, content, mode=0o600)

    def has(self, release: Release, names: t.Iterable[str]) -> bool:
        """Return whether plugins of a release are kept unchanged."""
        return all(self._is_unchanged(release, name) for name in names)

    def _is_unchanged(self, release: Release, name: str) -> bool:
        try:
            return digest_of(self.file(release, name)) == release.files.get(name)
        except CniError:
            return False

    def read_unchanged(self, path: str, digest: str) -> bytes:
        """Return the content of a kept file, if it is unchanged.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        content = read(path)
        actual = sha256(content)
        if actual != digest:
            problem = f"{path} was changed after it was kept: expected sha256:{digest}, found sha256:{actual}"
            advice = f"restore its content, or remove {self.path}; the installed plugins then count as foreign files"
            raise CniError(Code.IO_FAILURE, problem, advice)
        return content

    def save(self) -> None:
        durable.make_directory(self.path, mode=0o700)
        self.manifest.save(self.path)

    def remove_unlisted(self) -> None:
        """Remove files that the manifest on disk does not list."""
        manifest = Manifest.load(self.path)
        listed = {self.file(release, name) for release in manifest.releases for name in release.files}
        listed |= {self.set_aside(name) for name in manifest.set_aside}
        listed.add(os.path.join(self.path, FILE))
        for directory, dummy, files in os.walk(self.path, topdown=False):
            for file in (os.path.join(directory, name) for name in files):
                if file not in listed:
                    durable.remove(file, flush=False)
            with contextlib.suppress(OSError):
                os.rmdir(directory)

    def remove(self) -> None:
        try:
            if os.path.isdir(self.path):
                shutil.rmtree(self.path)
        except OSError as exc:
            raise io_error("remove", self.path, exc) from exc


def read(path: str) -> bytes:
    """Return the content of a file, which must exist.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    content = durable.read(path, limit=_FILE_LIMIT)
    if content is None:
        raise io_error("read", path, FileNotFoundError(2, os.strerror(2)))
    return content


__all__ = ("PluginStore", "read")
