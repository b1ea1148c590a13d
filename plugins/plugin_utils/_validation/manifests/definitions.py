# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The NetworkAttachmentDefinitions in the documents of a file."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.printable import quantity
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import nearest
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import NetworkManifest, Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests.tree import Tree, describe

_VERSION = "k8s.cni.cncf.io/v1"
KIND = "NetworkAttachmentDefinition"
_LISTS = ("List", f"{KIND}List")
# Keys that show that a document is a network configuration.
_NETWORK_KEYS = ("plugins", "cniVersion", "cniVersions")
_NO_KIND = "no kind"
# Replaces a missing name, so that it is reported for the manifest only and not for its network as well.
_UNNAMED = "unnamed"


class Definitions:
    """The NetworkAttachmentDefinitions of a file.

    Attributes:
        sources: Their network configurations.
    """

    def __init__(self, file: str) -> None:
        self.sources: list[Source] = []
        self._file = file
        self._findings: list[Finding] = []
        self._skipped: collections.Counter[str] = collections.Counter()

    def findings(self) -> list[Finding]:
        """Return findings about the manifests, and one about all documents of other kinds."""
        if not self._skipped:
            return self._findings
        number = sum(self._skipped.values())
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(self._skipped.items()))
        message = f"skipped {quantity(number, 'document')} of other kinds: {kinds}"
        return [*self._findings, Finding("skipped-documents", self._file, "", message)]

    def read(self, document: Tree) -> None:
        self._read(document, document.value, "")

    def _read(self, document: Tree, value: t.Any, path: str) -> None:
        if not isinstance(value, dict):
            self._skipped.update([] if value is None else [_NO_KIND])
            return
        kind, items = value.get("kind"), value.get("items")
        if kind in _LISTS and isinstance(items, list):
            for index, item in enumerate(items):
                self._read(document, item, join(path, "items", index))
        elif kind == KIND:
            _Definition(self._file, document, value, path, self._findings).read(self.sources)
        else:
            self._report_other(document, value, path)

    def _report_other(self, document: Tree, value: JsonObject, path: str) -> None:
        kind = value.get("kind")
        if kind is None and any(key in value for key in _NETWORK_KEYS):
            message, hint = (
                "a network configuration in YAML",
                "expected: JSON, or a manifest with the JSON in spec.config",
            )
            self._findings.append(
                Finding("not-json", self._file, path, message, hint, line=document.positions.line(path))
            )
        elif isinstance(kind, str) and value.get("apiVersion") == _VERSION and nearest(kind, [KIND]):
            message, line = f"{kind!r} is unknown", document.positions.line(join(path, "kind"))
            place = join(path, "kind")
            self._findings.append(
                Finding("unknown-value", self._file, place, message, f"did you mean {KIND}?", kind, line=line)
            )
        else:
            self._skipped[kind if isinstance(kind, str) else _NO_KIND] += 1


class _Definition:
    """One NetworkAttachmentDefinition."""

    def __init__(self, file: str, document: Tree, value: JsonObject, path: str, findings: list[Finding]) -> None:
        self._file = file
        self._document = document
        self._value = value
        self._path = path
        self._findings = findings
        metadata = value.get("metadata")
        self._metadata = metadata if isinstance(metadata, dict) else {}

    @property
    def _name(self) -> str:
        name = self._metadata.get("name")
        return name if isinstance(name, str) else ""

    @property
    def _label(self) -> str:
        namespace = self._metadata.get("namespace")
        return f"{namespace}/{self._name}" if isinstance(namespace, str) and namespace else self._name

    def read(self, sources: list[Source]) -> None:
        """Check the manifest, and add its network configuration to ``sources``."""
        self._check_version()
        self._check_name()
        self._check_repeated_keys()
        spec = self._value.get("spec")
        if spec is None or isinstance(spec, dict):
            self._read_spec(spec or {}, sources)
        else:
            self._report("wrong-type", ("spec",), f"found {describe(spec)}", "expected: an object with the key config")

    def _check_version(self) -> None:
        version = self._value.get("apiVersion")
        if version != _VERSION:
            message = f"{version!r} is unknown" if isinstance(version, str) else "the key 'apiVersion' is missing"
            code = "unknown-value" if isinstance(version, str) else "missing-key"
            self._report(code, ("apiVersion",), message, f"expected: {_VERSION}")

    def _check_name(self) -> None:
        name = self._metadata.get("name")
        if name is None or name == "":
            self._report(
                "missing-key", ("metadata", "name"), "the key 'name' is missing", "expected: the name of the network"
            )
        elif not isinstance(name, str):
            # YAML reads {{ name }} as an object.
            hint = "expected: a string" + ("; render templates first" if isinstance(name, dict) else "")
            self._report("wrong-type", ("metadata", "name"), f"found {describe(name)}", hint)

    def _check_repeated_keys(self) -> None:
        for repeated in self._document.positions.repeated_keys:
            if repeated.path.startswith(f"{self._path}/"):
                self._add("duplicate-key", repeated.path, repeated.message, "remove one of them")

    def _read_spec(self, spec: JsonObject, sources: list[Source]) -> None:
        for key in spec:
            if key != "config":
                self._report_unknown(key)
        config = spec.get("config")
        if config is None or config == "":
            hint = f"Multus uses the file of the node that defines the network {self._name!r}; validate this file"
            self._report("config-on-node", ("spec", "config"), "the manifest contains no network configuration", hint)
        elif isinstance(config, str):
            sources.append(self._source(config))
        else:
            hint = "expected: JSON as text, such as a block that begins with config: |"
            self._report("wrong-type", ("spec", "config"), f"found {describe(config)}", hint)

    def _source(self, config: str) -> Source:
        path = join(self._path, "spec", "config")
        line, written = self._document.positions.line(path), self._document.written(path, config)
        manifest = NetworkManifest(self._label, self._name or _UNNAMED, path, line, written)
        return Source(self._file, config.encode("utf-8", "surrogatepass"), manifest=manifest)

    def _report_unknown(self, key: str) -> None:
        message = f"the key {key!r} is unknown in spec"
        if nearest(key, ["config"]):
            self._report("misspelled-key", ("spec", key), message, "did you mean config?")
        else:
            self._report("unknown-key", ("spec", key), message, "known keys: config")

    def _report(self, code: str, place: tuple[str, ...], message: str, hint: str) -> None:
        self._add(code, join(self._path, *place), message, hint)

    def _add(self, code: str, path: str, message: str, hint: str) -> None:
        line = self._document.positions.line(path)
        self._findings.append(Finding(code, self._file, path, message, hint, line=line, manifest=self._label))
