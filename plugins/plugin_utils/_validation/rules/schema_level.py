# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The level schema: compare networks, plugins and results with their JSON Schemas."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni import runtime_reading
from ansible_collections.cni.node.plugins.plugin_utils._validation.document import preparation
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import nearest
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.violation import violation
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import placeholders
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas

# A type at least this similar to a known one, and at most one letter longer or shorter, counts as a misspelling of it.
# Known types of four letters are left out, because real plugins have similar names: vxlan, wlan.
_LIKENESS = 0.8
_LONG_ENOUGH = 5
_CLUSTER_RANGES = ("range", "ipRanges", "addresses")


def findings(document: Document) -> t.Iterator[Finding]:
    """Compare a document with the schemas of the network, of each plugin and of its IPAM plugin.

    Raises:
        AnsibleError: jsonschema is missing on the controller.
    """
    yield from preparation.qualify(document, document.noticed)
    yield from placeholders.findings(document)
    yield from _find_missing_type(document)
    yield from _check_file_name(document)
    if document.is_list:
        yield from _find_violations(document, "network-list", document.keys, "")
    for plugin in document.plugins:
        yield from _find_misspelled(document, plugin.type, plugin.path)
        yield from _find_misspelled(document, plugin.ipam.get("type"), plugin.ipam_path)
        yield from _find_violations(document, plugin.schema, plugin.keys, plugin.path)
        yield from _check_ipam(document, plugin)
        yield from _find_misplaced_ipam(document, plugin)
        yield from _find_missing_sysctl(document, plugin)
        yield from _find_misplaced_keys(document, plugin)


def result_findings(result: t.Any, file: str) -> list[Finding]:
    """Compare a result of ADD with the schema of its version.

    Raises:
        AnsibleError: jsonschema is missing on the controller.
    """
    by_family = isinstance(result, dict) and result.get("cniVersion", "0.1.0") in ("0.1.0", "0.2.0", "")
    errors = schemas.violations("result-0.2.0" if by_family else "result", result)
    return [
        Finding(problem.code, file, problem.path, problem.message, problem.hint, problem.value)
        for problem in map(violation, errors)
    ]


def _find_misspelled(document: Document, plugin_type: t.Any, path: str) -> t.Iterator[Finding]:
    known = schemas.plugin_types()
    if not isinstance(plugin_type, str) or plugin_type in known:
        return
    alike = [
        known_type
        for known_type in sorted(known)
        if len(known_type) >= _LONG_ENOUGH and abs(len(known_type) - len(plugin_type)) <= 1
    ]
    suggestion = nearest(plugin_type, alike, _LIKENESS)
    if suggestion:
        message = f"the plugin {plugin_type!r} is unknown"
        yield document.finding(
            "misspelled-plugin", join(path, "type"), message, f"did you mean {suggestion}?", plugin_type
        )


def _check_ipam(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    name = schemas.name_for_ipam(plugin.ipam.get("type"))
    if name is None:
        yield from _find_untyped_ipam(document, plugin)
        return
    violations = _find_violations(document, name, plugin.ipam, plugin.ipam_path)
    yield from preparation.qualify(document, violations)
    ipam = plugin.ipam_traits
    if ipam.has_ranges and not _has_ranges(plugin) and not preparation.gets_ranges(plugin):
        hint = 'set "ranges" or "subnet", or declare the capability ipRanges so that the runtime supplies them'
        yield document.finding("missing-key", plugin.ipam_path, "host-local has no address range", hint)
    if ipam.has_cluster_ranges and not any(plugin.ipam.get(key) for key in _CLUSTER_RANGES):
        hint = 'set "range" or "ipRanges", or give "addresses"'
        finding = document.finding("missing-key", plugin.ipam_path, "whereabouts has no address range", hint)
        yield finding._replace(is_conditional="configuration_path" in plugin.ipam)


def _find_misplaced_ipam(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Find an IPAM plugin in the place of another plugin, which fails without a configuration in ``ipam``."""
    known = plugin.traits
    needs_ipam = known.has_ranges or known.has_addresses or known.has_cluster_ranges
    if needs_ipam and "ipam" not in plugin.keys:
        message = f"{plugin.type} assigns addresses, makes no interface, and fails without the key 'ipam'"
        hint = 'move it into "ipam" of the plugin that creates the interface'
        yield document.finding("missing-key", join(plugin.path, "ipam"), message, hint)


def _find_missing_type(document: Document) -> t.Iterator[Finding]:
    """Find a single plugin's configuration without a type or a name."""
    keys = plugin_keys(document)
    if keys:
        hint = f"expected: the name of the plugin's executable, because {', '.join(keys)} configure a plugin; or a list 'plugins'"
        yield document.finding("missing-key", "/type", "the key 'type' is missing", hint)
    if not document.is_list and document.network.get("name", "") in ("", None):
        yield document.finding("missing-key", "/name", "the key 'name' is missing", "expected: name of the network")


def plugin_keys(document: Document) -> list[str]:
    """Return the keys of a plugin in a document that has neither a type nor a list of plugins."""
    if not document.is_list or "plugins" in document.network:
        return []
    own = set(document.network) - set(schemas.load("network-list")["properties"])
    known = {key for name in schemas.plugin_types() for key in schemas.load(f"plugins/{name}")["properties"]}
    return sorted(own & known)


def _check_file_name(document: Document) -> t.Iterator[Finding]:
    """Find a file in which container runtimes find no network because of its name."""
    name = os.path.basename(document.file)
    fault = runtime_reading.find_misnamed(name, is_list=document.is_list) if document.is_file else None
    has_plugin = "type" in document.network or "plugins" in document.network
    if fault and has_plugin:
        yield document.finding("wrong-file-name", "", fault.message, fault.hint)


def _find_untyped_ipam(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Find ``ipam`` without a type, with which the container would get no address."""
    ipam, own = plugin.ipam, schemas.load(plugin.schema)["properties"]["ipam"]
    is_untyped = ipam.get("type", "") == "" and (len(ipam) > ("type" in ipam) or "required" in own)
    is_reported = "type" not in ipam and "required" in own
    if schemas.role(plugin.type) != "interface" or own.get("x-default-type") or not is_untyped or is_reported:
        return
    what = "is empty" if "type" in ipam else "is missing"
    hint = "expected: the name of the IPAM plugin, such as host-local; without it the container gets no address"
    yield document.finding("missing-key", join(plugin.ipam_path, "type"), f"the key 'type' {what}", hint)


def _find_misplaced_keys(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Find keys of a known plugin among its capabilities, where the plugin does not read them."""
    if plugin.type not in schemas.plugin_types():
        return
    properties = schemas.load(plugin.schema)["properties"]
    for name, value in plugin.capabilities.items():
        if name in properties and name not in properties["capabilities"]["properties"]:
            message = f"{name!r} is a key of {plugin.type}, not a capability, and has no effect here"
            path = join(plugin.path, "capabilities", name)
            yield document.finding("unknown-key", path, message, 'move it out of "capabilities"', value)


def _find_missing_sysctl(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Find ``sysctl`` in ``args.cni`` without ``sysctl`` of the plugin: tuning 1.9.1 and before panics, even at DEL."""
    settings = plugin.cni_args.get("sysctl")
    if (
        plugin.traits.panics_without_sysctl
        and plugin.keys.get("sysctl") is None
        and isinstance(settings, dict)
        and settings
    ):
        message = "tuning panics if args.cni has sysctl but the plugin configuration has none"
        hint = 'move the settings to the plugin configuration, or set "sysctl": {} there'
        yield document.finding("missing-key", join(plugin.path, "sysctl"), message, hint)


def _has_ranges(plugin: DocumentPlugin) -> bool:
    return bool(plugin.capabilities.get("ipRanges") or plugin.ipam.get("ranges") or "subnet" in plugin.ipam)


def _find_violations(document: Document, schema: str, value: t.Any, path: str) -> t.Iterator[Finding]:
    for error in schemas.violations(schema, value):
        problem = violation(error)
        yield document.finding(problem.code, f"{path}{problem.path}", problem.message, problem.hint, problem.value)
