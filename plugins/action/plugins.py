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
from ansible_collections.cni.node.plugins.module_utils._module.exchange import CONTROLLER_KEY
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import (
    digest_of,
    digest_of_stream,
    open_regular,
    sha256,
)
from ansible_collections.cni.node.plugins.module_utils._node.files.private import copy_of
from ansible_collections.cni.node.plugins.module_utils._node.plugins import archive as plugin_archive
from ansible_collections.cni.node.plugins.module_utils._node.plugins.listing import (
    identity_of,
    listing_of,
    name_source_in_errors,
    read_listed,
)
from ansible_collections.cni.node.plugins.module_utils._node.plugins.manifest import REFERENCE
from ansible_collections.cni.node.plugins.module_utils._node.plugins.release import (
    resolve_request,
)
from ansible_collections.cni.node.plugins.plugin_utils._comparison import ComparingAction
from ansible_collections.cni.node.plugins.plugin_utils._task_arguments import (
    PluginsArguments,
    further_sets,
    is_on_controller,
    plugin_sets,
    without_credentials,
)

_ADVICE: t.Final = (
    "for a source on the node, set remote_src (in a role: cni_plugins_remote_src or cni_node_plugins_remote_src)"
)


class ActionModule(ComparingAction, PluginsArguments):
    """Send files and directories on the controller to the node, unless the node already has their content."""

    def execute(self, arguments: JsonObject, task_vars: JsonObject | None) -> JsonObject:
        try:
            _require_text_versions(arguments, task_vars or {})
            arguments = without_credentials(arguments)
            sources = {
                name: source for name, options in plugin_sets(arguments) if (source := self._source(name, options))
            }
            if not sources:
                return super().execute(arguments, task_vars)
            return self._ensure(sources, arguments, task_vars)
        except CniError as exc:
            return {"failed": True, "msg": str(exc), "error": exc.as_dict()}

    def _source(self, set_name: str, options: JsonObject) -> _Source | None:
        """Return the source of a set on the controller, or None if the node reads or downloads it itself."""
        if not is_on_controller(options):
            return None
        name = options["source"]
        try:
            return self._find_source(name, set_name, options)
        except CniError as exc:
            raise exc if set_name == REFERENCE else exc.within(f"set {set_name}") from exc

    def _find_source(self, name: str, set_name: str, options: JsonObject) -> _Source:
        source_path = os.path.expanduser(name)
        try:
            path = self._find_needle("files", source_path)
            path = path if os.path.isdir(path) else self._loader.get_real_file(path)
        except AnsibleError as exc:
            advice = (
                ""
                if os.path.isabs(source_path)
                else "set its absolute path, or move it to one of the places searched: "
            )
            problem = f"source: {name} does not exist on the controller"
            raise CniError(Code.NOT_AVAILABLE, problem, f"{advice}{exc}\n{_ADVICE}") from exc
        with name_source_in_errors(path, "the controller", _ADVICE):
            return _Directory(path, options) if os.path.isdir(path) else _Archive(path, name, set_name, options)

    def _ensure(
        self, sources: t.Mapping[str, _Source], arguments: JsonObject, task_vars: JsonObject | None
    ) -> JsonObject:
        """Run the module with the digests of the sources, and send those contents that the module needs."""
        known: JsonObject = {name: {"digest": source.digest} for name, source in sources.items()}
        result = self._call(arguments, task_vars, known)
        needed = result.get("needed")
        if not needed:
            return result
        sent = {name: {**known[name], **self._content(name, sources[name], what)} for name, what in needed.items()}
        return self._call(arguments, task_vars, {**known, **sent})

    def _content(self, name: str, source: _Source, what: str) -> JsonObject:
        """Return what the module gets of a source; its content is sent to the node first."""
        return {"listing": source.listing()} if what == "listing" else {"archive": self._send_source(name, source)}

    def _send_source(self, name: str, source: _Source) -> str:
        """Send the content of a source to the node, and return its path there."""
        with source.pack() as path:
            return self.send_file(path, f"source-{name}")

    def _call(self, arguments: JsonObject, task_vars: JsonObject | None, controller: JsonObject) -> JsonObject:
        result: JsonObject = self._execute_module(
            module_args={**arguments, CONTROLLER_KEY: controller}, task_vars=task_vars
        )
        result.get("invocation", {}).get("module_args", {}).pop(CONTROLLER_KEY, None)
        return result


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

    def __init__(self, path: str, name: str, set_name: str, arguments: JsonObject) -> None:
        self._path, self._name = path, name
        version, checksum = (str(arguments.get(key) or "") for key in ("version", "checksum"))
        only = arguments.get("only") or []
        self._only = only.split(",") if isinstance(only, str) else [str(plugin) for plugin in only]
        request = resolve_request(version, name, checksum, name=set_name)
        with open_regular(path) as file:
            if request.checksum:
                plugin_archive.verify(file, request.checksum, name)
            is_known = request.checksum.startswith("sha256:")
            self.digest = request.checksum if is_known else f"sha256:{digest_of_stream(file)}"

    def listing(self) -> dict[str, str]:
        with copy_of(self._path, _temporary_directory(), self._name) as file:
            plugin_archive.verify(file, self.digest, self._name)
            plugins = plugin_archive.plugins(file, self._name, self._only)
            return {name: sha256(content) for name, content in plugins}

    @contextlib.contextmanager
    def pack(self) -> t.Iterator[str]:
        yield self._path


class _Directory:
    """A directory of plugins on the controller."""

    def __init__(self, path: str, arguments: JsonObject) -> None:
        self._path = path
        digest = functools.partial(digest_of, follow=False)
        self._listing = listing_of(path, str(arguments.get("checksum") or ""), digest)
        self.digest = identity_of(self._listing)

    def listing(self) -> dict[str, str]:
        return self._listing

    @contextlib.contextmanager
    def pack(self) -> t.Iterator[str]:
        with tempfile.NamedTemporaryFile(suffix=".tgz", dir=_temporary_directory()) as packed:
            with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
                for name, content in read_listed(self._path, self._listing):
                    member = tarfile.TarInfo(name)
                    member.mode, member.size = 0o755, len(content)
                    archive.addfile(member, io.BytesIO(content))
            packed.flush()
            yield packed.name


def _temporary_directory() -> str:
    return str(t.cast("t.Any", constants).DEFAULT_LOCAL_TMP)


_Source = t.Union[_Archive, _Directory]
