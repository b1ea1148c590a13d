# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A network configuration as validation reads it, valid or not."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import PluginType
from ansible_collections.cni.node.plugins.plugin_utils._validation.document import positions
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import KeyReader
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.placeholder import (
    find_placeholder_in_broken_json,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import Positions, join
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import (
    SIZE_LIMIT,
    NetworkManifest,
    Source,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas

# Keys of the network. In a configuration of a single plugin, they are among the plugin's keys.
_NETWORK_KEYS = ("cniVersions", "disableCheck", "disableGC", "loadOnlyInlinedPlugins")


@dataclasses.dataclass(frozen=True)
class DocumentPlugin:
    """One plugin configuration of a document.

    Attributes:
        type: An empty string if the plugin has none.
        keys: Values by key, in the case of the schema. Without null, and without keys unknown to the schema.
        path: JSON pointer of the object.
        schema: Name of the schema of its type.
    """

    index: int
    type: str
    keys: dict[str, t.Any]
    path: str
    schema: str

    @property
    def traits(self) -> PluginType:
        """The row of its type in the catalogue."""
        return catalogue.find_plugin_type(self.type)

    @property
    def ipam(self) -> JsonObject:
        return _as_object(self.keys.get("ipam"))

    @property
    def ipam_traits(self) -> PluginType:
        """The row of the type of its IPAM plugin."""
        return catalogue.find_plugin_type(self.ipam.get("type"))

    @property
    def capabilities(self) -> JsonObject:
        return _as_object(self.keys.get("capabilities"))

    @property
    def cni_args(self) -> JsonObject:
        """The arguments in ``args.cni``."""
        return _as_object(_as_object(self.keys.get("args")).get("cni"))

    @property
    def ipam_path(self) -> str:
        return f"{self.path}/ipam"


class Document:
    """A network configuration, valid or not, and the findings of reading it.

    Attributes:
        network: The decoded object.
        keys: The same with keys in the case of the schema.
        is_list: Whether it is a configuration list, not a single plugin's configuration.
        noticed: Findings about keys.
        manifest: The manifest that contains it, if any.
        is_file: Whether it is a file, such as runtimes read.
    """

    def __init__(
        self,
        file: str,
        network: dict[str, t.Any],
        text: str | None,
        manifest: NetworkManifest | None = None,
        *,
        is_file: bool = False,
    ) -> None:
        self.file = file
        self.is_file = is_file
        self.manifest = manifest
        self._label = manifest.label if manifest else ""
        self.network = network
        self.is_list = "plugins" in network or "type" not in network
        self.noticed: list[Finding] = []
        self._text = text
        self._keys = KeyReader(self._notice)
        self._plugins: list[DocumentPlugin] = []
        self.keys = self._keys.read(network, schemas.load("network-list"), "") if self.is_list else network
        self.plugins = self._read_plugins()

    @property
    def name(self) -> str:
        name = self.network.get("name")
        return name if isinstance(name, str) else ""

    @functools.cached_property
    def positions(self) -> Positions:
        return positions.scan(self._text) if self._text is not None else Positions({}, [])

    def finding(self, code: str, path: str, message: str, hint: str = "", value: t.Any = None) -> Finding:
        """Return a finding about a place in this document, with its plugin and line."""
        written = self._keys.as_written(path) if self._keys.written else path
        plugin, line = self._plugin_at(path), self.positions.line(written)
        return Finding(code, self.file, written, message, hint, value, plugin, line, manifest=self._label)

    def _notice(self, code: str, path: str, message: str, hint: str = "", value: t.Any = None) -> None:
        self.noticed.append(self.finding(code, path, message, hint, value))

    def _plugin_at(self, path: str) -> tuple[int, str] | None:
        parts = path.split("/")
        if not self.is_list:
            return 0, _type_of(self.network)
        if len(parts) < 3 or parts[1] != "plugins":
            return None
        index = int(parts[2])
        return index, _type_of(self.network["plugins"][index])

    def _read_plugins(self) -> list[DocumentPlugin]:
        if not self.is_list:
            own = {key: value for key, value in self.network.items() if key not in _NETWORK_KEYS}
            return [self._read_plugin(0, own, "")]
        plugins = self.network.get("plugins")
        listed = enumerate(plugins) if isinstance(plugins, list) else ()
        return [self._read_plugin(index, keys, f"/plugins/{index}") for index, keys in listed if isinstance(keys, dict)]

    def _read_plugin(self, index: int, written: dict[str, t.Any], path: str) -> DocumentPlugin:
        schema = schemas.name_for_plugin(written.get("type"))
        keys = self._keys.read(written, schemas.load(schema), path)
        ipam = keys.get("ipam")
        name = schemas.name_for_ipam(ipam.get("type")) if isinstance(ipam, dict) else None
        if name:
            keys["ipam"] = self._keys.read(ipam, schemas.load(name), join(path, "ipam"))
        return DocumentPlugin(index, _type_of(written), keys, path, schema)


def read(source: Source) -> tuple[Document | None, list[Finding]]:
    """Read a network configuration.

    Returns:
        The document, or None if the text cannot be decoded, and findings about the text.
    """
    if len(source.content) > SIZE_LIMIT:
        message = f"{len(source.content)} bytes are too many for a network configuration"
        return None, [Finding("too-large", source.file, "", message, f"expected: at most {SIZE_LIMIT} bytes")]
    try:
        network, is_unique = _decode(source.content)
    except CniError as exc:
        return None, [_report_broken_text(source, exc)]
    if not isinstance(network, dict):
        return None, [_report_other_type(source, network)]
    return _read_network(source, network, is_unique)


def _read_network(source: Source, network: JsonObject, is_unique: bool) -> tuple[Document, list[Finding]]:
    text = source.manifest.written if source.manifest else source.content.decode("utf-8")
    if source.manifest and network.get("name", "") == "":
        network["name"] = source.manifest.network
    written = text if source.is_text else None
    document = Document(source.file, network, written, source.manifest, is_file=source.is_file)
    repeated = [] if is_unique else positions.scan(text).repeated_keys
    return document, [_report_repeated_key(document, key) for key in repeated]


def _report_other_type(source: Source, value: t.Any) -> Finding:
    message, hint = f"found {json_text.kind(value)}", "expected: an object"
    return Finding(
        "wrong-type", source.file, source.path, message, hint, value, line=source.line, manifest=source.label
    )


def _report_broken_text(source: Source, exc: CniError) -> Finding:
    line = None
    if source.manifest:
        # The text of the file has the same error, with the line and column of the file.
        exc, line = _find_error(source.manifest.written) or exc, source.line
    line = getattr(exc.__cause__, "lineno", line) if source.is_text else None
    placeholder = find_placeholder_in_broken_json(source.content.decode("utf-8", "replace"))
    hint = f"render the template first: it has the placeholder {placeholder[:80]!r}" if placeholder else exc.details
    return Finding("not-json", source.file, source.path, exc.msg, hint, line=line, manifest=source.label)


def _find_error(written: str) -> CniError | None:
    try:
        json_text.decode(written.encode("utf-8", "surrogatepass"), "spec.config")
    except CniError as exc:
        return exc
    return None


def _decode(content: bytes) -> tuple[t.Any, bool]:
    """Return the decoded text, and whether the keys of each object are unique."""
    try:
        return json_text.decode(content, "this", unique_keys=True), True
    except CniError:
        return json_text.decode(content, "this"), False


def _report_repeated_key(document: Document, repeated: positions.RepeatedKey) -> Finding:
    hint = "remove one of them; programs differ in which one they use"
    return document.finding("duplicate-key", repeated.path, repeated.message, hint)


def _as_object(value: t.Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _type_of(keys: t.Any) -> str:
    plugin_type = keys.get("type") if isinstance(keys, dict) else None
    return plugin_type if isinstance(plugin_type, str) else ""
