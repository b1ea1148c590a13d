# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The source of a set of plugins: an archive, a directory, a single executable or a URL."""

from __future__ import annotations

import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.library import require_library
from ansible_collections.cni.node.plugins.module_utils._linux import interpreter
from ansible_collections.cni.node.plugins.module_utils._module.exchange import CONTROLLER_KEY
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import Digests, digest_of_stream
from ansible_collections.cni.node.plugins.module_utils._node.files.private import copy_of
from ansible_collections.cni.node.plugins.module_utils._node.plugins import archive as plugin_archive
from ansible_collections.cni.node.plugins.module_utils._node.plugins import builtin
from ansible_collections.cni.node.plugins.module_utils._node.plugins.listing import (
    identity_of,
    listing_of,
    name_source_in_errors,
    read_listed,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import (
    BUILTIN,
    Credentials,
    is_url,
    resolve_request,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.selection import Source

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ansible_collections.cni.node.plugins.module_utils._module.plugin_sets import SetOptions

_ADVICE: t.Final = (
    "remote_src is true, so source is on the node; for a source on the controller, set remote_src to false "
    "(cni_plugins_remote_src or cni_node_plugins_remote_src of a role)"
)


class SourceNeeded(Exception):
    """The controller must send the content of the source."""


class SourceMissing(Exception):
    """In check mode, the source on the node does not exist yet; an earlier task may create it."""


class Sources:
    """The source of the release that a task requests for a set.

    Attributes:
        request: The release.
        digest: The digest that identifies it.
    """

    def __init__(self, module: AnsibleModule, options: SetOptions, digests: Digests) -> None:
        machine = os.uname().machine
        self.request = resolve_request(options.version, options.source, options.checksum, machine, options.name)
        self._module = module
        self._options = options
        self._digests = digests
        self._sent: dict[str, t.Any] | None = (module.params[CONTROLLER_KEY] or {}).get(options.name)
        # Of a directory on the node: SHA-256 by name.
        self._listing: dict[str, str] = {}
        self.digest = self._digest()

    def _digest(self) -> str:
        path = self.request.location
        if path == BUILTIN:
            return identity_of(self._executables().listing)
        if is_url(self.request.location):
            return self.request.checksum
        if not self._options.remote_src:
            return str(self._require_sent()["digest"])
        with name_source_in_errors(path, "the node", _ADVICE):
            if os.path.isdir(path):
                self._listing = listing_of(path, self.request.checksum, self._digests.sha256)
                return identity_of(self._listing)
            return self.request.checksum or ("" if self._may_appear_later() else f"sha256:{self._digests.sha256(path)}")

    def _executables(self) -> builtin.BuiltinExecutables:
        """Return the executables of built-in plugins, which are made on the node."""
        library = require_library("source: builtin", dry_run=self._module.check_mode)
        return builtin.build(interpreter.find_interpreter("the built-in plugins as executables"), library)

    def _may_appear_later(self) -> bool:
        return self._module.check_mode and not os.path.lexists(self.request.location)

    def _require_sent(self) -> dict[str, t.Any]:
        if self._sent is None:
            raise CniError(
                Code.INTERNAL, "the source was not sent to the node", "the action plugin on the controller must send it"
            )
        return self._sent

    def fetch(self) -> Source:
        """Get the release.

        Raises:
            CniError: The source cannot be read or downloaded, or has the wrong digest.
            SourceNeeded: The controller has it.
            SourceMissing: In check mode, it does not exist yet.
        """
        path = self.request.location
        if path == BUILTIN:
            return Source([self.digest], self.request.version, lambda: self._executables().contents)
        if is_url(self.request.location):
            from ansible_collections.cni.node.plugins.module_utils._module.download import download

            params = self._module.params
            credentials = Credentials(self._options.url_username, self._options.url_password)
            file = download(path, credentials, self._module.tmpdir, params["timeout"], params["download_timeout"])
            return self._archive(file, self.request.checksum)
        if not self._options.remote_src:
            return self._sent_by_controller(self._require_sent())
        if self._may_appear_later():
            raise SourceMissing
        if self._listing:
            contents = functools.partial(read_listed, path, self._listing)
            return Source([self.digest], self.request.version, contents)
        with name_source_in_errors(path, "the node", _ADVICE):
            copy = self._copy(path)
        return self._archive(copy, self.digest)

    def _sent_by_controller(self, sent: dict[str, t.Any]) -> Source:
        if sent.get("listing"):
            return Source([self.digest], self.request.version, lambda: (), sent["listing"])
        if not sent.get("archive"):
            raise SourceNeeded
        return self._archive(self._copy(sent["archive"]), self.digest)

    def _copy(self, path: str) -> t.IO[bytes]:
        """Return a private copy of an archive, so that the verified bytes are those that are unpacked."""
        return copy_of(path, self._module.tmpdir, self.request.location)

    def _archive(self, file: t.IO[bytes], checksum: str) -> Source:
        what = self.request.location
        try:
            digests = _verify(file, checksum, what)
        except BaseException:
            file.close()
            raise
        contents = functools.partial(_unpack, file, what, self._options.only)
        return Source(digests, self.request.version, contents)


def _verify(file: t.IO[bytes], checksum: str, what: str) -> list[str]:
    """Return the digests of an archive, its own first."""
    if not checksum.startswith("files:"):
        plugin_archive.verify(file, checksum, what)
    return [f"sha256:{digest_of_stream(file)}", checksum] if checksum.startswith("sha512:") else [checksum]


def _unpack(file: t.IO[bytes], what: str, only: tuple[str, ...]) -> t.Iterator[tuple[str, bytes]]:
    with file:
        yield from plugin_archive.plugins(file, what, only)


__all__ = ("SourceMissing", "SourceNeeded", "Sources")
