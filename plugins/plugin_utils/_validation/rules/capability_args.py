# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check the capability arguments of attachments."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import normalize_capability_args
from ansible_collections.cni.node.plugins.plugin_utils._option_values import as_dict
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import KeyReader
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.violation import violation
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import chain
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules.links import limits, packet_size
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.fast_path import is_integer

_SCHEMA = "capability-args"
_ANY_ADDRESS = ("", "0.0.0.0", "::")


@dataclasses.dataclass(frozen=True)
class _AttachmentArguments:
    """The capability arguments of one attachment."""

    file: str
    network: str
    arguments: dict[str, t.Any]

    def path(self, *parts: str | int) -> str:
        return join("", "capability_args", *parts)


def schema_findings(dummy: t.Sequence[Document], attachments: t.Sequence[t.Any]) -> list[Finding]:
    """Compare capability arguments with the schemas of the well-known ones.

    Raises:
        AnsibleError: jsonschema is missing on the controller.
    """
    return [
        finding
        for entry in _all_arguments(attachments)
        if entry.arguments
        for finding in find_violations(_SCHEMA, entry.arguments, entry.file, entry.path())
    ]


def find_violations(schema: str, arguments: JsonObject, file: str, path: str) -> list[Finding]:
    """Compare the arguments of an attachment with a schema.

    Args:
        path: JSON pointer of the arguments.

    Raises:
        AnsibleError: jsonschema is missing on the controller.
    """
    results: list[Finding] = []

    def report(code: str, path: str, message: str, hint: str = "", value: t.Any = None) -> None:
        results.append(Finding(code, file, path, message, hint, value))

    read = KeyReader(report).read(arguments, schemas.load(schema), path)
    for problem in map(violation, schemas.violations(schema, read)):
        report(problem.code, f"{path}{problem.path}", problem.message, problem.hint, problem.value)
    return results


def list_present(attachments: t.Sequence[t.Any]) -> t.Iterator[tuple[str, JsonObject]]:
    """Yield the attachments that should exist, each with its name in findings."""
    for index, item in enumerate(attachments):
        if isinstance(item, dict) and item.get("state", "present") == "present":
            yield f"attachments[{index}]", item


def specification_findings(documents: t.Sequence[Document], attachments: t.Sequence[t.Any]) -> t.Iterator[Finding]:
    """Find capability arguments that no plugin of the network declares. Runtimes silently drop them."""
    # Plugins in the directory beside a file are unknown on the controller.
    declared = {document.name: _capabilities(document) for document in documents if document.plugins}
    for entry in _all_arguments(attachments):
        for name in entry.arguments if entry.network in declared else ():
            if name not in declared[entry.network]:
                message = f"no plugin of the network {entry.network!r} declares the capability {name!r}"
                hint = f'add "capabilities": {{"{name}": true}} to the plugin that should get it'
                yield Finding("undeclared-capability", entry.file, entry.path(name), message, hint)


def consistency_findings(documents: t.Sequence[Document], attachments: t.Sequence[t.Any]) -> t.Iterator[Finding]:
    """Find host ports that are mapped to two containers or to no address, and invalid bandwidth limits."""
    mappings_by_port: dict[tuple[t.Any, str], list[tuple[str, _AttachmentArguments]]] = {}
    packets = {document.name: packet_size(document) for document in documents}
    unmapped = {document.name for document in documents if _maps_no_port(document)}
    for entry in _all_arguments(attachments):
        bandwidth = entry.arguments.get("bandwidth")
        for code, path, message, hint in (
            limits(bandwidth, entry.path("bandwidth"), packets.get(entry.network, 0))
            if isinstance(bandwidth, dict)
            else ()
        ):
            yield Finding(code, entry.file, path, message, hint)
        mappings = _list(entry.arguments.get("portMappings"))
        if mappings and entry.network in unmapped:
            message = f"the ports are not mapped, because the network {entry.network!r} assigns no address"
            path = entry.path("portMappings")
            yield Finding("portmap-without-address", entry.file, path, message, chain.ADDRESS_HINT)
        for index, mapping in enumerate(mappings):
            yield from _check_mapping(mapping, entry, entry.path("portMappings", index), mappings_by_port)


def _check_mapping(
    mapping: t.Any,
    entry: _AttachmentArguments,
    path: str,
    mappings_by_port: dict[tuple[t.Any, str], list[tuple[str, _AttachmentArguments]]],
) -> t.Iterator[Finding]:
    if not isinstance(mapping, dict) or not is_integer(mapping.get("hostPort")):
        return
    protocol, address = str(mapping.get("protocol") or "tcp").lower(), str(mapping.get("hostIP") or "")
    same_port = mappings_by_port.setdefault((mapping["hostPort"], protocol), [])
    for other_address, other in same_port:
        if address == other_address or address in _ANY_ADDRESS or other_address in _ANY_ADDRESS:
            message = f"port {mapping['hostPort']}/{protocol} of the node is already mapped by {other.file}"
            yield Finding(
                "port-mapped-twice",
                entry.file,
                path,
                message,
                "use another hostPort; only one of the two mappings takes effect",
                mapping,
            )
            break
    same_port.append((address, entry))


def _all_arguments(attachments: t.Sequence[t.Any]) -> t.Iterator[_AttachmentArguments]:
    for file, item in list_present(attachments):
        values = as_dict(item.get("capability_args"))
        arguments = normalize_capability_args(values) if isinstance(values, dict) else {}
        yield _AttachmentArguments(file, str(item.get("network")), arguments)


def _capabilities(document: Document) -> set[str]:
    return {
        name for plugin in document.plugins for name, is_declared in plugin.capabilities.items() if is_declared is True
    }


def _maps_no_port(document: Document) -> bool:
    plugins = document.plugins
    return any(chain.maps_no_port(plugin, plugins[:place]) for place, plugin in enumerate(plugins))


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else []
