# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The attachments of a report as hosts of an inventory.

Records of attachments may come from any program on a node. So names of hosts and groups consist of harmless characters, and
everything else is data.
"""

from __future__ import annotations

import collections
import hashlib
import json
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._report.report_data import FORMAT

GROUP = "cni_attachments"
OWN, OTHER = "cni.node", "other"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]", re.ASCII)
_UNSAFE_IN_GROUP = re.compile(r"[^A-Za-z0-9_]", re.ASCII)
# How many characters of each part a name has.
_LIMIT = 64
_TEXTS = ("network", "container_id", "ifname", "netns")
# What distinguishes attachments, and makes the names of their hosts.
_NAMING = ("node", "container_id", "ifname")
_LISTS = ("addresses", "ports")


class AttachmentHost(t.NamedTuple):
    """One attachment.

    Attributes:
        name: The host.
        groups: The groups that it is in.
        facts: The value of its variable `cni_attachment`.
    """

    name: str
    groups: list[str]
    facts: JsonObject


def list_hosts(report: object) -> list[AttachmentHost]:
    """Return the attachments whose network namespace exists.

    Raises:
        ValueError: It is not a report.
    """
    try:
        if report["format"] != FORMAT:  # type: ignore[index]
            raise ValueError(f"expected: format {FORMAT}")
        found = [
            _read_attachment(node["name"], entry)
            for node in report["nodes"]  # type: ignore[index]
            if node["read"]
            for entry in node["attachments"]
            if entry["netns_state"] == "present"
        ]
    except (AttributeError, LookupError, TypeError) as exc:
        raise ValueError(f"expected: the data of a report ({exc!r})") from exc
    names = collections.Counter(map(_name, found))
    return [AttachmentHost(_name_uniquely(facts, names), _list_groups(facts), facts) for facts in found]


def list_unread(report: JsonMapping) -> list[str]:
    """Return the names of the nodes that could not be read."""
    return [str(node["name"]) for node in report["nodes"] if not node["read"]]


def _read_attachment(node: object, entry: JsonMapping) -> JsonObject:
    facts: JsonObject = {"node": node, **{key: entry[key] for key in (*_TEXTS, *_LISTS)}}
    texts = [node, *(facts[key] for key in _TEXTS), *facts["addresses"], *facts["ports"]]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("an attachment has values of other types")
    addresses = [address.partition("/")[0] for address in facts["addresses"]]
    return {**facts, "addresses": addresses, "owner": OWN if entry["own"] else OTHER}


def _list_groups(facts: JsonMapping) -> list[str]:
    names = (f"cni_{key}_{_shorten(_UNSAFE_IN_GROUP, facts[key])}" for key in ("network", "node", "owner"))
    return [GROUP, *names]


def _name(facts: JsonMapping) -> str:
    """Return a name of harmless characters, which several attachments may have."""
    return ".".join(_shorten(_UNSAFE, facts[key]) for key in _NAMING).lstrip("-.")


def _name_uniquely(facts: JsonMapping, names: t.Mapping[str, int]) -> str:
    """Return a name that no other attachment has: with a digest if the name alone is ambiguous or does not show everything."""
    name, parts = _name(facts), [facts[key] for key in _NAMING]
    if name == ".".join(parts) and names[name] == 1:
        return name
    return f"{name}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"


def _shorten(unsafe: re.Pattern[str], text: str) -> str:
    return unsafe.sub("_", text)[:_LIMIT]
