# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the plugins of several nodes."""

from __future__ import annotations

import collections.abc
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, kind
from ansible_collections.cni.node.plugins.module_utils._node.plugins.store import REFERENCE
from ansible_collections.cni.node.plugins.plugin_utils._validation.fleet.groups import divide, join_nodes

_HINT = "install the same release everywhere, for example with the playbook cni.node.upgrade"


class _Value(t.NamedTuple):
    """A value on a node, and the path that it belongs to."""

    node: str
    place: str
    value: str


def findings(node_info: object) -> t.Iterator[Finding]:
    """Compare the plugins of several nodes: the release of each set in each directory, and the supported versions.

    Args:
        node_info: Results of the module `node_info`, by node.

    Raises:
        CniError: ``INVALID_CONFIG``: a value has the wrong type.
    """
    installed: dict[tuple[str, str], list[_Value]] = {}
    supported: dict[str, list[_Value]] = {}
    for node, returned in _mapping(node_info, "node_info").items():
        for release in _list_entries(returned, "releases", node):
            if release.get("current"):
                place, version = str(release.get("bin_dir")), f"{release.get('version')} ({release.get('digest')})"
                key = place, str(release.get("set") or REFERENCE)
                installed.setdefault(key, []).append(_Value(node, place, version))
        for plugin in _list_entries(returned, "plugins", node):
            if plugin.get("versions") and not plugin.get("shadowed"):
                value = _Value(node, str(plugin.get("path")), ", ".join(map(str, plugin["versions"])))
                supported.setdefault(str(plugin.get("type")), []).append(value)
    for (place, name), members in installed.items():
        what = "release" if name == REFERENCE else f"release of the set {name}"
        yield from _find_differences(members, f"the {what} in {place}")
    for plugin_type, members in supported.items():
        yield from _find_differences(members, f"the list of versions that {plugin_type} supports")


def _find_differences(members: list[_Value], what: str) -> t.Iterator[Finding]:
    """Yield a finding for each group of nodes whose value differs from that of most nodes."""
    most, *others = divide(members, lambda member: member.value)
    for group in others:
        first, nodes = group[0], tuple(dict.fromkeys(member.node for member in group))
        message = f"{what} is {first.value} on {join_nodes(nodes)}, and {most[0].value} on {most[0].node}"
        yield Finding("plugin-differs", f"{first.node}: {first.place}", "", message, _HINT, nodes=nodes)


def _list_entries(returned: object, key: str, node: str) -> list[JsonMapping]:
    listed = _mapping(returned, f"node_info of {node}").get(key) or []
    if not isinstance(listed, (list, tuple)):
        raise CniError(Code.INVALID_CONFIG, f"{key} of {node}: found {kind(listed)}", "expected: a list")
    return [_mapping(member, f"{key} of {node}") for member in listed]


def _mapping(value: object, what: str) -> JsonMapping:
    if not isinstance(value, collections.abc.Mapping):
        advice = "expected: a dictionary of node names to results of the module cni.node.node_info"
        raise CniError(Code.INVALID_CONFIG, f"{what}: found {kind(value)}", advice)
    return value
