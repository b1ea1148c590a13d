# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.file_digest import Digests, digest_of
from ansible_collections.cni.node.plugins.module_utils._node.plugin_files import identity_of, listing_of, plugin_names
from ansible_collections.cni.node.plugins.module_utils._node.plugin_install import Source
from ansible_collections.cni.node.plugins.module_utils._node.plugin_release import ask, without_password
from ansible_collections.cni.node.plugins.module_utils._node.plugin_store import read

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class SourceNeeded(Exception):
    """The controller has the source and is to send its content."""


class SourceAwaited(Exception):
    """In check mode: the source is to be on the node, where an earlier task may be going to put it."""


class Sources:
    """Where the release comes from that a task asks for.

    Attributes:
        asked: The release.
        digest: By which it is known.
    """

    def __init__(self, module: AnsibleModule, digests: Digests) -> None:
        params = module.params
        self.asked = ask(params["version"] or "", params["source"] or "", params["checksum"] or "", os.uname().machine)
        self._module = module
        self._digests = digests
        self._sent: dict[str, t.Any] | None = params["_controller"]
        self._is_remote = params["remote_src"]
        self.digest = self._digest()

    def _digest(self) -> str:
        path = self.asked.location
        if self.asked.is_url:
            return self.asked.checksum
        if not self._is_remote:
            return str(self._from_controller()["digest"])
        if os.path.isdir(path):
            return identity_of(listing_of(path, self.asked.checksum, self._digests.of))
        return self.asked.checksum or ("" if self._is_awaited() else f"sha256:{self._digests.of(path)}")

    def _is_awaited(self) -> bool:
        return self._module.check_mode and not os.path.lexists(self.asked.location)

    def _from_controller(self) -> dict[str, t.Any]:
        if self._sent is None:
            raise CniError(
                Code.INTERNAL, "a source on the controller reached the node", "sources are sent by the controller"
            )
        return self._sent

    def fetch(self) -> Source:
        """Get the release.

        Raises:
            CniError: It cannot be had, or is not what it should be.
            SourceNeeded: The controller has it.
            SourceAwaited: It is not there yet.
        """
        path = self.asked.location
        if self.asked.is_url:
            from ansible_collections.cni.node.plugins.module_utils._module.download import download

            path = download(path, self._module.tmpdir, self._module.params["timeout"])
            return self._archive(path, self.asked.checksum)
        if not self._is_remote:
            return self._sent_by_controller(self._from_controller())
        if self._is_awaited():
            raise SourceAwaited
        if os.path.isdir(path):
            return self._directory(path)
        return self._archive(path, self.digest)

    def _sent_by_controller(self, sent: dict[str, t.Any]) -> Source:
        if sent.get("listing"):
            return Source([self.digest], self.asked.version, lambda: (), sent["listing"])
        if not sent.get("archive"):
            raise SourceNeeded
        return self._archive(sent["archive"], self.digest)

    def _archive(self, path: str, checksum: str) -> Source:
        # Most runs find everything in place, and need neither this nor what it imports.
        from ansible_collections.cni.node.plugins.module_utils._node import plugin_archive

        what = without_password(self.asked.location)
        digests = [checksum]
        if not checksum.startswith("files:"):
            plugin_archive.verify(path, checksum, what)
        if checksum.startswith("sha512:"):
            digests.insert(0, f"sha256:{digest_of(path)}")
        return Source(digests, self.asked.version, lambda: plugin_archive.plugins(path, what))

    def _directory(self, path: str) -> Source:
        names = plugin_names(path)
        contents = ((name, read(os.path.join(path, name))) for name in names)
        return Source([self.digest], self.asked.version, lambda: contents)


__all__ = ("SourceAwaited", "SourceNeeded", "Sources")
