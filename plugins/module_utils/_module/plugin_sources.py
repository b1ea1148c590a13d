# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The releases that a task requests: their sources are read, downloaded, or sent by the controller."""

from __future__ import annotations

import functools
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.library import require_library
from ansible_collections.cni.node.plugins.module_utils._linux import interpreter
from ansible_collections.cni.node.plugins.module_utils._module.exchange import CONTROLLER_KEY
from ansible_collections.cni.node.plugins.module_utils._module.plugin_sets import SetOptions
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._node.files.private import copy_of
from ansible_collections.cni.node.plugins.module_utils._node.plugins import label, sources
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import BUILTIN, is_url, resolve_request
from ansible_collections.cni.node.plugins.module_utils._node.plugins.selection import ReleaseSelection
from ansible_collections.cni.node.plugins.module_utils._node.plugins.sources import Source
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE, PluginSet, PluginStore

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_ADVICE = (
    "remote_src is true, so source is on the node; for a source on the controller, set remote_src to false "
    "(cni_plugins_remote_src or cni_node_plugins_remote_src of a role)"
)


class SourceNeeded(Exception):
    """The controller must send the content of the source."""


class SourceMissing(Exception):
    """In check mode, the source on the node does not exist yet; an earlier task may create it."""


class SelectedReleases(t.NamedTuple):
    """The releases that a task requests.

    Attributes:
        sets: By name, the new state of each set.
        needed: By name of a set: what the controller must send for it, ``content`` or ``listing``.
        missing: In check mode, predictions for sets whose source an earlier task may create.
    """

    sets: dict[str, PluginSet]
    needed: dict[str, str]
    missing: list[InstallResult]


def select_releases(
    module: AnsibleModule, requested: t.Sequence[SetOptions], store: PluginStore, directory: BinDirectory
) -> SelectedReleases:
    """Get the releases that a task requests into the store.

    Raises:
        CniError: A release cannot be had. The message names its set, except that of the reference plugins.
    """
    selected = SelectedReleases({}, {}, [])
    # What the controller has comes first, so that nothing is downloaded twice.
    for options in sorted(requested, key=lambda options: not options.is_on_controller):
        if selected.needed and not options.is_on_controller:
            break
        selection = ReleaseSelection(options.name, store, directory, module.params["keep"], module.check_mode)
        try:
            if options.state == "absent":
                selected.sets[options.name] = PluginSet()
            elif options.state == "rolled_back":
                selected.sets[options.name] = selection.roll_back()
            else:
                _select_present(selected, module, options, selection)
        except CniError as exc:
            raise exc if options.name == REFERENCE else exc.within(f"set {options.name}") from exc
    order = [options.name for options in requested if options.name in selected.sets]
    return selected._replace(sets={name: selected.sets[name] for name in order})


def _select_present(
    selected: SelectedReleases, module: AnsibleModule, options: SetOptions, selection: ReleaseSelection
) -> None:
    source = _RequestedSource(module, options, selection.store)
    name, version, digest = options.name, source.request.version, source.digest
    warn(module, filter(None, [source.request.warning]))
    if name == REFERENCE:
        label.require_version_of_digest(version, digest)
    try:
        selected.sets[name] = selection.present(digest, version, options.only, source.fetch)
    except SourceMissing:
        warn(module, [f"{source.request.location} is not on the node yet, so its plugins cannot be listed"])
        previous = selection.store.manifest.find_set(name).label
        selected.missing.append(InstallResult(name, version or None, previous, changed=True))
    except SourceNeeded:
        is_unproven = name == REFERENCE and label.is_unproven_claim(version, [digest])
        selected.needed[name] = "content" if not module.check_mode or is_unproven else "listing"


class _RequestedSource:
    """The source of the release that a task requests for a set.

    Attributes:
        request: The release.
        digest: The digest that identifies it.
    """

    def __init__(self, module: AnsibleModule, options: SetOptions, store: PluginStore) -> None:
        machine = os.uname().machine
        self.request = resolve_request(options.version, options.source, options.checksum, machine, options.name)
        self._module, self._options = module, options
        self._path = self.request.location
        self._sent: dict[str, t.Any] = (module.params[CONTROLLER_KEY] or {}).get(options.name) or {}
        # What is listed already: a directory on the node, or what is made there.
        self._listed: t.Callable[[], sources.Plugins] | None = None
        self.digest = self._find_digest(store)

    def _find_digest(self, store: PluginStore) -> str:
        path, checksum = self._path, self.request.checksum
        if path == BUILTIN:
            library = require_library("source: builtin", dry_run=self._module.check_mode)
            python = interpreter.find_interpreter("the built-in plugins as executables")
            made = sources.make_builtin_plugins(python, library)
            self._listed = made.items
            return sources.identity_of({name: sha256(content) for name, content in made.items()})
        if is_url(path):
            return checksum
        if not self._options.remote_src:
            if not self._sent:
                advice = "the action plugin on the controller must send it"
                raise CniError(Code.INTERNAL, "the source was not sent to the node", advice)
            return str(self._sent["digest"])
        with sources.name_source_in_errors(path, "the node", _ADVICE):
            if os.path.isdir(path):
                directory = sources.PluginDirectory(path, checksum, store.digests.sha256)
                self._listed = directory.plugins
                return directory.digest
            return checksum or ("" if self._may_appear_later() else f"sha256:{store.digests.sha256(path)}")

    def _may_appear_later(self) -> bool:
        return self._module.check_mode and not os.path.lexists(self._path)

    def fetch(self) -> Source:
        """Get the release.

        Raises:
            CniError: The source cannot be read or downloaded, or has the wrong digest.
            SourceNeeded: The controller has it.
            SourceMissing: In check mode, it does not exist yet.
        """
        if self._listed:
            return Source([self.digest], self.request.version, self._listed)
        if self._sent.get("listing"):
            return Source([self.digest], self.request.version, lambda: (), self._sent["listing"])
        file = self._open()
        # Slow to load, and not needed by a run that changes nothing.
        from ansible_collections.cni.node.plugins.module_utils._node.plugins import archive

        digests = archive.list_digests(file, self.digest)
        unpack = functools.partial(archive.unpack, file, self.digest, self._path, self._options.only)
        return Source(digests, self.request.version, unpack)

    def _open(self) -> t.IO[bytes]:
        """Return a private copy of an archive, so that the verified bytes are those that are unpacked."""
        if is_url(self._path):
            from ansible_collections.cni.node.plugins.module_utils._module.download import download

            credentials = (self._options.url_username, self._options.url_password)
            limits = (self._module.params["timeout"], self._module.params["download_timeout"])
            return download(self._path, credentials, self._module.tmpdir, *limits)
        if self._options.remote_src:
            if self._may_appear_later():
                raise SourceMissing
            with sources.name_source_in_errors(self._path, "the node", _ADVICE):
                return copy_of(self._path, self._module.tmpdir, self._path)
        if not self._sent.get("archive"):
            raise SourceNeeded
        return copy_of(self._sent["archive"], self._module.tmpdir, self._path)
