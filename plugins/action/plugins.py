# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's part of `plugins`: it sends archives and directories that the node does not have yet."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tarfile
import tempfile
import typing as t

from ansible import constants
from ansible.errors import AnsibleError

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.files import digest as file_digest
from ansible_collections.cni.node.plugins.module_utils._node.files.private import copy_of
from ansible_collections.cni.node.plugins.module_utils._node.plugins import archive, sources
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import ReleaseRequest, resolve_request
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE
from ansible_collections.cni.node.plugins.plugin_utils._comparison import ComparingAction
from ansible_collections.cni.node.plugins.plugin_utils._task_arguments import (
    PluginsArguments,
    further_sets,
    is_on_controller,
    plugin_sets,
    without_credentials,
)

_ADVICE = "for a source on the node, set remote_src (in a role: cni_plugins_remote_src or cni_node_plugins_remote_src)"


class ActionModule(ComparingAction, PluginsArguments):
    """Send files and directories on the controller to the node, unless the node already has their content."""

    def execute(self, arguments: JsonObject, task_vars: JsonObject | None) -> JsonObject:
        try:
            _require_text_versions(arguments, task_vars or {})
            arguments = without_credentials(arguments)
            # The node reads or downloads the others itself.
            on_controller = [(name, options) for name, options in plugin_sets(arguments) if is_on_controller(options)]
            found = {name: self._find_source(name, options) for name, options in on_controller}
            return self._ensure(found, arguments, task_vars) if found else super().execute(arguments, task_vars)
        except CniError as exc:
            return {"failed": True, "msg": str(exc), "error": exc.as_dict()}

    def _find_source(self, set_name: str, options: JsonObject) -> _Source:
        try:
            path = self._find_path(options["source"])
            with sources.name_source_in_errors(path, "the controller", _ADVICE):
                version, checksum = (str(options.get(key) or "") for key in ("version", "checksum"))
                if os.path.isdir(path):
                    return _Directory(path, checksum, functools.partial(file_digest.digest_of, follow=False))
                request = resolve_request(version, options["source"], checksum, name=set_name)
                return _Archive(path, request, options.get("only") or [])
        except CniError as exc:
            raise exc if set_name == REFERENCE else exc.within(f"set {set_name}") from exc

    def _find_path(self, name: str) -> str:
        path = os.path.expanduser(name)
        try:
            found = str(self._find_needle("files", path))
            return found if os.path.isdir(found) else str(self._loader.get_real_file(found))
        except AnsibleError as exc:
            advice = "set its absolute path, or begin with https:// if it is a URL, or move it to one of the places searched: "
            advice = "" if os.path.isabs(path) else advice
            problem = f"source: {name} does not exist on the controller"
            raise CniError(Code.NOT_AVAILABLE, problem, f"{advice}{exc}\n{_ADVICE}") from exc

    def _ensure(
        self, found: t.Mapping[str, _Source], arguments: JsonObject, task_vars: JsonObject | None
    ) -> JsonObject:
        """Run the module with the digests of the sources, and send those contents that the module needs."""
        known: JsonObject = {name: {"digest": source.digest} for name, source in found.items()}
        result = self.call_with(known, arguments, task_vars)
        sent = {name: self._send(name, found[name], what) for name, what in (result.get("needed") or {}).items()}
        if not sent:
            return result
        return self.call_with({name: {**known[name], **sent.get(name, {})} for name in known}, arguments, task_vars)

    def _send(self, name: str, source: _Source, what: str) -> dict[str, t.Any]:
        """Return what the module gets of a source; its content is sent to the node first."""
        if what == "listing":
            return {"listing": source.listing}
        with source.pack() as path:
            return {"archive": self.send_file(path, f"source-{name}")}


def _require_text_versions(arguments: JsonObject, variables: JsonObject) -> None:
    """Refuse versions that YAML has read as numbers, because 1.10 is then 1.1.

    Raises:
        CniError: ``INVALID_CONFIG``.
    """
    versions = {
        "version": arguments.get("version"),
        **{f"sets: {item.get('name')}: version": item.get("version") for item in further_sets(arguments)},
        # Before ansible-core 2.19, the template in the role's task makes text of it.
        **{name: variables.get(name) for name in ("cni_plugins_version", "cni_node_plugins_version")},
    }
    for where, version in versions.items():
        if isinstance(version, float):
            problem = f"{where}: {version} is a number, whose last digit may be lost, as 1.10 is 1.1"
            raise CniError(Code.INVALID_CONFIG, problem, 'expected: text, in quotes, such as "1.10"')


class _Archive:
    """An archive on the controller whose digest has been verified."""

    def __init__(self, path: str, request: ReleaseRequest, only: t.Any) -> None:
        self._path, self._name = path, request.location
        self._only = only.split(",") if isinstance(only, str) else [str(plugin) for plugin in only]
        with file_digest.open_regular(path) as file:
            if request.checksum:
                archive.verify(file, request.checksum, self._name)
            is_known = request.checksum.startswith("sha256:")
            self.digest = request.checksum if is_known else f"sha256:{file_digest.digest_of_stream(file)}"

    @property
    def listing(self) -> dict[str, str]:
        file = copy_of(self._path, _temporary_directory(), self._name)
        plugins = archive.unpack(file, self.digest, self._name, self._only)
        return {name: file_digest.sha256(content) for name, content in plugins}

    @contextlib.contextmanager
    def pack(self) -> t.Iterator[str]:
        yield self._path


class _Directory(sources.PluginDirectory):
    """A directory of plugins on the controller."""

    @contextlib.contextmanager
    def pack(self) -> t.Iterator[str]:
        with tempfile.NamedTemporaryFile(suffix=".tgz", dir=_temporary_directory()) as packed:
            with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as packing:
                for name, content in self.plugins():
                    member = tarfile.TarInfo(name)
                    member.mode, member.size = 0o755, len(content)
                    packing.addfile(member, io.BytesIO(content))
            packed.flush()
            yield packed.name


def _temporary_directory() -> str:
    return str(t.cast("t.Any", constants).DEFAULT_LOCAL_TMP)


_Source = t.Union[_Archive, _Directory]
