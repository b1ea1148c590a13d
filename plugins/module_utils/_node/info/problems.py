# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read the problems of a node from a result of the module node_info."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._base.printable import plural, quantity

# What mends a problem, as the name of a playbook.
_GC = "gc"
_PROVISION = "provision"
_REPAIR = "repair"
_DRIFTED = "attachment drifted"


class NodeProblem(t.NamedTuple):
    """A problem of a node.

    Attributes:
        kind: What it is, without the numbers and names that may change while it lasts.
        text: The problem in a few words.
        playbook: The playbook of this collection that mends it, or an empty string.
        is_error: Whether something does not work; otherwise something is not known, or has a known flaw.
    """

    kind: str
    text: str
    playbook: str = ""
    is_error: bool = True


class DriftCount(t.NamedTuple):
    """How many attachments that may be in use have drifted, and of how many this is unknown."""

    live: int
    drifted: int
    unknown: int


def count_drift(facts: JsonMapping) -> DriftCount:
    live = [
        attachment
        for attachment in list_readable_attachments(facts)
        if attachment["netns_state"] in ("present", "unknown") and not attachment["interrupted"]
    ]
    unknown = sum(attachment.get("drift") is None for attachment in live)
    return DriftCount(len(live), sum(bool(attachment.get("drift")) for attachment in live), unknown)


def list_readable_attachments(facts: JsonMapping) -> list[JsonMapping]:
    return [entry for entry in facts.get("attachments", ()) if not entry.get("error")]


def list_used_networks(facts: JsonMapping) -> list[JsonMapping]:
    """Return the networks that runtimes use: those that can be read and that no other file shadows."""
    return [network for network in facts.get("networks", ()) if not network.get("error") and not network["shadowed"]]


def list_problems(facts: JsonMapping) -> list[NodeProblem]:
    """Return the problems in the gathered parts.

    Args:
        facts: A result of the module `node_info`.
    """
    return [*_list_missing(facts), *_list_broken(facts), *_list_attachment_kinds(facts)]


def _list_missing(facts: JsonMapping) -> t.Iterator[NodeProblem]:
    missing = list_missing_plugins(facts)
    if missing:
        yield NodeProblem(
            "plugin missing", f"{plural('plugin', len(missing))} missing: {' '.join(missing)}", _PROVISION
        )
    not_ready = sorted(answer["network"] for answer in facts.get("status", ()) if answer.get("error"))
    if not_ready:
        text = f"{plural('network', len(not_ready))} not ready: {' '.join(not_ready)}"
        yield NodeProblem("network not ready", text, _PROVISION)


def _list_broken(facts: JsonMapping) -> t.Iterator[NodeProblem]:
    # No playbook removes a record that cannot be read: it may be the owner of anything.
    for kind, playbook in (("plugin", _PROVISION), ("network", _PROVISION), ("attachment", "")):
        broken = [entry for entry in facts.get(f"{kind}s", ()) if entry.get("error")]
        if broken:
            yield NodeProblem(f"{kind} broken", f"{quantity(len(broken), kind)} broken", playbook)


def _list_attachment_kinds(facts: JsonMapping) -> t.Iterator[NodeProblem]:
    for kind, count in collections.Counter(
        problem for entry in list_readable_attachments(facts) for problem in list_attachment_problems(entry)
    ).items():
        playbook = _REPAIR if kind == _DRIFTED else _GC if kind.startswith("netns") else _PROVISION
        yield NodeProblem(kind, f"{count} {kind.replace('attachment', plural('attachment', count))}", playbook)


def list_attachment_problems(attachment: JsonMapping) -> t.Iterator[str]:
    """Yield the problems of one attachment that can be read."""
    if attachment.get("drift"):
        yield _DRIFTED
    if attachment["netns_state"] not in ("present", "unknown"):
        yield f"netns {attachment['netns_state']}"
    if attachment["network_state"] not in ("same", "unknown"):
        yield f"attachment of a {'removed' if attachment['network_state'] == 'gone' else 'changed'} network"
    if attachment["interrupted"]:
        yield f"{attachment['interrupted']} interrupted"


def list_missing_plugins(facts: JsonMapping) -> list[str]:
    """Return the plugins that releases or networks miss, each once."""
    of_releases = {name for release in facts.get("releases", ()) for name in release.get("missing", ())}
    of_networks = (network.get("missing_plugins", ()) for network in facts.get("networks", ()))
    return sorted(of_releases.union(*of_networks))
