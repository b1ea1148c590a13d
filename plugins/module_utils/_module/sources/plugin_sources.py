# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The releases that the options of `plugins` request: their sources are read, downloaded, or sent by the controller."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.current_library import require_library
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.url import is_url, separate
from ansible_collections.cni.node.plugins.module_utils._linux import interpreter
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY, URLS_KEY
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._node.files.private import copy_of
from ansible_collections.cni.node.plugins.module_utils._node.plugins import label, sources
from ansible_collections.cni.node.plugins.module_utils._node.plugins.bin_dir import BinDirectory
from ansible_collections.cni.node.plugins.module_utils._node.plugins.installation import InstallResult
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import (
    BUILTIN,
    resolve_request,
    without_credentials,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.selection import ReleaseSelection
from ansible_collections.cni.node.plugins.module_utils._node.plugins.sources import ReleaseSource
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE, PluginSet, PluginStore

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII)
# Options of a task that describe a set, and their types; an item of `sets` has them too.
_SOURCE_OPTIONS = {
    **{name: {"type": "str"} for name in ("version", "source", "url_username", "checksum")},
    "url_password": {"type": "str", "no_log": True},
    "remote_src": {"type": "bool", "default": False},
    "only": {"type": "list", "elements": "str"},
}
_STATES = ["present", "absent", "rolled_back"]
SETS = {
    **_SOURCE_OPTIONS,
    "state": {"type": "str", "choices": _STATES, "default": "present"},
    "sets": {
        "type": "list",
        "elements": "dict",
        "options": {
            "name": {"type": "str", "required": True},
            **_SOURCE_OPTIONS,
            "state": {"type": "str", "choices": _STATES},
        },
    },
}

_ADVICE = (
    "remote_src is true, so source is on the node; for a source on the controller, set remote_src to false "
    "(cni_plugins_remote_src or cni_node_plugins_remote_src of a role)"
)


@dataclasses.dataclass(frozen=True)
class SetOptions:
    """The options of a task that describe one set of plugins. The attributes are the options of that name.

    Attributes:
        url: The URL to download, if it may have a secret that `source` does not show.
    """

    name: str
    state: str
    version: str = ""
    source: str = ""
    remote_src: bool = False
    url_username: str = ""
    url_password: str = ""
    checksum: str = ""
    only: t.Sequence[str] = ()
    url: str = ""

    @property
    def is_on_controller(self) -> bool:
        """Return whether the controller has the source."""
        return bool(self.source) and not self.remote_src and self.source != BUILTIN and not is_url(self.source)


def move_credentials(module: AnsibleModule) -> None:
    """Move what may be a secret from sources, which results show, to options that Ansible hides.

    Raises:
        CniError: ``INVALID_CONFIG``: a source is a misspelt URL.
    """
    items = module.params["sets"] or ()
    urls = dict(module.params[URLS_KEY] or {})
    for name, options in ((REFERENCE, module.params), *((item["name"], item) for item in items)):
        moved, url = without_credentials(options, "source" if options is module.params else f"set {name}: source")
        options.update(moved)
        urls.update({name: url} if url else {})
        module.no_log_values.update(filter(None, [url]))
        # Ansible does so for options with no_log.
        module.no_log_values.update(filter(None, [options["url_password"]]))
    module.params[URLS_KEY] = urls or None


def requested_sets(params: t.Mapping[str, t.Any], installed: t.Iterable[str]) -> list[SetOptions]:
    """Return the sets that a task requests.

    Args:
        installed: The names of the sets that are installed.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    items = params["sets"] or []
    has_reference = params["version"] or params["source"] or not items
    described = [(REFERENCE, params)] if has_reference else []
    described += [(item["name"], item) for item in items]
    urls = params[URLS_KEY] or {}
    sets = [_read_set(item, name, item["state"] or params["state"], urls.get(name, "")) for name, item in described]
    if params["state"] == "absent" and not items:
        sets += [SetOptions(name, "absent") for name in installed if name != REFERENCE]
    for options in sets:
        _check_set(options)
    names = [options.name for options in sets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        problem = f"sets: {', '.join(twice)} is described twice"
        advice = f"expected: each set once; version and source of the task describe the set {REFERENCE}"
        raise CniError(Code.INVALID_CONFIG, problem, advice)
    return sets


def _read_set(options: t.Mapping[str, t.Any], name: str, state: str, url: str) -> SetOptions:
    return SetOptions(name, state, url=url, **{key: options[key] for key in _SOURCE_OPTIONS if options[key]})


def _check_set(options: SetOptions) -> None:
    where = "" if options.name == REFERENCE else f"set {options.name}: "
    problem = expected = ""
    if not _NAME.fullmatch(options.name) or options.name == BUILTIN:
        problem = f"sets: {options.name!r} is not the name of a set"
        expected = f"expected: lower-case letters, digits, '.', '_' and '-', and not {BUILTIN}"
    elif options.state == "rolled_back" and (options.version or options.source):
        problem = "state: rolled_back takes neither version nor source, because it returns to the previous version"
        problem, expected = f"{where}{problem}", "for another version, use state: present"
    elif options.state == "present" and not (options.version or options.source):
        problem, expected = f"{where}state is present, but version and source are missing", "set one of them"
    elif options.source == BUILTIN and options.name != REFERENCE:
        problem, expected = f"{where}source {BUILTIN} has the reference plugins", f"expected: the set {REFERENCE}"
    if problem:
        raise CniError(Code.INVALID_CONFIG, problem, expected)


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
        selected.sets[name] = selection.select(digest, version, options.only, source.fetch)
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

    def fetch(self) -> ReleaseSource:
        """Get the release.

        Raises:
            CniError: The source cannot be read or downloaded, or has the wrong digest.
            SourceNeeded: The controller has it.
            SourceMissing: In check mode, it does not exist yet.
        """
        if self._listed:
            return ReleaseSource([self.digest], self._listed)
        if self._sent.get("listing"):
            return ReleaseSource([self.digest], lambda: (), self._sent["listing"])
        file = self._open()
        # Slow to load, and not needed by a run that changes nothing.
        from ansible_collections.cni.node.plugins.module_utils._node.plugins import archive

        digests = archive.list_digests(file, self.digest)
        unpack = functools.partial(archive.unpack, file, self.digest, self._path, self._options.only)
        return ReleaseSource(digests, unpack)

    def _find_url(self) -> tuple[str, tuple[str, str]]:
        """Return the URL to download, and the user name and password for its server."""
        options, shown = self._options, self._path
        # The name of an archive is appended to the URL of a mirror.
        url, (username, dummy) = separate(options.url + shown[len(options.source) :] if options.url else shown)
        return url, (options.url_username or username, options.url_password)

    def _directory(self) -> str:
        """Return the temporary directory of the task on the node, which ends with it."""
        try:
            return str(self._module.tmpdir)
        except Exception as exc:  # ansible-core 2.19 raises one without a type of its own
            cause = exc.__cause__
            if not isinstance(cause, OSError):
                raise
            advice = "expected: a directory where the user of the task can write, and free space; ansible_remote_tmp sets another"
            raise CniError(Code.IO_FAILURE, f"the task has no temporary directory: {cause}", advice) from exc

    def _open(self) -> t.IO[bytes]:
        """Return a private copy of an archive, so that the verified bytes are those that are unpacked."""
        if is_url(self._path):
            from ansible_collections.cni.node.plugins.module_utils._module.sources.download import download

            limits = (self._module.params["timeout"], self._module.params["download_timeout"])
            return download(*self._find_url(), self._directory(), *limits)
        if self._options.remote_src:
            if self._may_appear_later():
                raise SourceMissing
            with sources.name_source_in_errors(self._path, "the node", _ADVICE):
                return copy_of(self._path, self._directory(), self._path)
        if not self._sent.get("archive"):
            raise SourceNeeded
        return copy_of(self._sent["archive"], self._directory(), self._path)
