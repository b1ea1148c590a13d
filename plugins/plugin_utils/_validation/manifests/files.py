# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Split a file into the network configurations that it contains."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import SIZE_LIMIT, Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests import tree, yaml_trees
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests.definitions import KIND, Definitions
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests.tree import Tree
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests.yaml_trees import BrokenYaml

_EXTENSIONS = (".yaml", ".yml")
# Bytes. PyYAML takes seconds for each megabyte, and the server of Kubernetes refuses objects that are larger than 1.5 MiB.
_YAML_LIMIT = 1024 * 1024


def split(file: str, content: bytes) -> tuple[list[Source], list[Finding]]:
    """Return the network configurations of a file, and findings about the manifests that contain them.

    A file of manifests has the extension of YAML, or is JSON with ``apiVersion`` and ``kind``. Any other file is one network
    configuration.
    """
    if file.endswith(_EXTENSIONS):
        return _split_yaml(file, content)
    if len(content) > SIZE_LIMIT or not (b'"apiVersion"' in content and b'"kind"' in content):
        return [Source(file, content, is_file=True)], []
    manifest = tree.from_json(content.decode("utf-8-sig", "replace"))
    if manifest is None or not _is_manifest(manifest):
        return [Source(file, content, is_file=True)], []
    return _read_definitions(file, [manifest])


def _split_yaml(file: str, content: bytes) -> tuple[list[Source], list[Finding]]:
    if len(content) > _YAML_LIMIT and KIND.encode() not in content:
        # Such as the definitions of resources that a network plugin brings.
        return [], [Finding("skipped-documents", file, "", f"skipped the whole file: no document is a {KIND}")]
    if len(content) > _YAML_LIMIT:
        message = f"{len(content)} bytes are too many for a file of manifests"
        return [], [Finding("too-large", file, "", message, f"expected: at most {_YAML_LIMIT} bytes; split the file")]
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        return [], [_not_yaml(file, BrokenYaml(f"byte {exc.start} is not UTF-8", None), "save the file in UTF-8")]
    in_json = tree.from_json(text)
    if in_json is not None:
        return (
            _read_definitions(file, [in_json]) if _is_manifest(in_json) else ([Source(file, content, is_file=True)], [])
        )
    trees, broken = yaml_trees.read(text)
    sources, findings = _read_definitions(file, trees)
    hint = "the documents from there on are not validated" + ("; render templates first" if "{{" in text else "")
    return sources, [*findings, *([_not_yaml(file, broken, hint)] if broken else [])]


def _read_definitions(file: str, trees: t.Iterable[Tree]) -> tuple[list[Source], list[Finding]]:
    definitions = Definitions(file)
    for document in trees:
        definitions.read(document)
    return definitions.sources, definitions.findings()


def _is_manifest(document: Tree) -> bool:
    return isinstance(document.value, dict) and {"apiVersion", "kind"} <= document.value.keys()


def _not_yaml(file: str, broken: BrokenYaml, hint: str) -> Finding:
    return Finding("not-yaml", file, "", f"this is not valid YAML: {broken.problem}", hint, line=broken.line)
