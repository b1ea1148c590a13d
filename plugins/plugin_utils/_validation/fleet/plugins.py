# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import collections.abc
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._base.json_text import kind

_Entry = t.Mapping[str, t.Any]
_HINT: t.Final = "install the same release everywhere, for example with the playbook cni.node.upgrade"


class _Seen(t.NamedTuple):
    """A value of a node, with its place there."""

    node: str
    place: str
    value: str


def findings(node_info: object) -> t.Iterator[Finding]:
    """Compare the plugins of several nodes: releases in the same directory, and the versions that they support.

    Args:
        node_info: What the module ``node_info`` has returned, by the nodes' names.

    Raises:
        CniError: ``INVALID_CONFIG``: it is not of that form.
    """
    installed: dict[str, list[_Seen]] = {}
    supported: dict[str, list[_Seen]] = {}
    for node, returned in _mapping(node_info, "node_info").items():
        for release in _list_entries(returned, "releases", node):
            if release.get("current"):
                place, version = str(release.get("bin_dir")), f"{release.get('version')} ({release.get('digest')})"
                installed.setdefault(place, []).append(_Seen(node, place, version))
        for plugin in _list_entries(returned, "plugins", node):
            if plugin.get("versions") and not plugin.get("shadowed"):
                seen = _Seen(node, str(plugin.get("path")), ", ".join(map(str, plugin["versions"])))
                supported.setdefault(str(plugin.get("type")), []).append(seen)
    for place, members in installed.items():
        yield from _find_differences(members, f"the release in {place}")
    for plugin_type, members in supported.items():
        yield from _find_differences(members, f"the version support of {plugin_type}")


def _find_differences(members: list[_Seen], what: str) -> t.Iterator[Finding]:
    first = members[0]
    for one in members[1:]:
        if one.value != first.value:
            message = f"{what} is {one.value} on {one.node}, and {first.value} on {first.node}"
            yield Finding("plugin-differs", f"{one.node}: {one.place}", "", message, _HINT)


def _list_entries(returned: object, key: str, node: str) -> list[_Entry]:
    listed = _mapping(returned, f"node_info of {node}").get(key) or []
    if not isinstance(listed, (list, tuple)):
        raise CniError(Code.INVALID_CONFIG, f"{key} of {node}: found {kind(listed)}", "expected: a list")
    return [_mapping(one, f"{key} of {node}") for one in listed]


def _mapping(value: object, what: str) -> _Entry:
    if not isinstance(value, collections.abc.Mapping):
        advice = "expected: a dictionary of node names to results of the module cni.node.node_info"
        raise CniError(Code.INVALID_CONFIG, f"{what}: found {kind(value)}", advice)
    return value


__all__ = ("findings",)
