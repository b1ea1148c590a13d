# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What people see of their nodes at the end of a play."""

from __future__ import annotations

import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.node_table import node_table

RELEASES: t.Final = [{"version": "1.9.1", "current": True}, {"version": "1.8.0", "current": False}]
NETWORK: t.Final = {"name": "dbnet", "shadowed": False, "error": None}
ATTACHED: t.Final = {"netns_state": "present", "network_state": "same", "interrupted": None, "error": None}
NODE: t.Final = {"releases": RELEASES, "networks": [NETWORK], "attachments": [ATTACHED, ATTACHED]}


def row(**facts: t.Any) -> list[str]:
    return node_table({"n1": {**NODE, **facts}})[1].split(maxsplit=4)


def test_each_node_has_a_line_below_the_names_of_the_columns() -> None:
    first, *others = [line.split() for line in node_table({"n1": NODE, "n2": {}})]
    assert first == ["NODE", "PLUGINS", "NETWORKS", "ATTACHMENTS", "TROUBLE"]
    assert others == [["n1", "1.9.1", "dbnet", "2", "-"], ["n2", "-", "-", "-", "-"]]


def test_plugins_that_came_in_another_way_are_counted() -> None:
    assert row(releases=[], plugins=[{"error": None}] * 3)[1:3] == ["3", "found"]


def test_a_network_that_does_not_win_is_not_shown() -> None:
    assert row(networks=[NETWORK, {**NETWORK, "shadowed": True}, {"path": "x", "error": {"msg": "no"}}])[2] == "dbnet"


@pytest.mark.parametrize(
    ("facts", "trouble"),
    [
        ({"networks": [{"path": "y", "error": {"msg": "no"}}]}, "1 networks broken"),
        ({"plugins": [{"error": {"msg": "no"}}]}, "1 plugins broken"),
        ({"attachments": [{"path": "x", "error": {"msg": "no"}}]}, "1 attachments broken"),
        ({"attachments": [{**ATTACHED, "netns_state": "gone"}] * 2}, "2 netns gone"),
        ({"attachments": [{**ATTACHED, "netns_state": "unknown"}]}, "-"),
        ({"attachments": [{**ATTACHED, "network_state": "changed"}]}, "1 network changed"),
        ({"attachments": [{**ATTACHED, "network_state": "unknown"}]}, "-"),
        (
            {"attachments": [{**ATTACHED, "interrupted": "DEL", "netns_state": "gone"}]},
            "1 netns gone, 1 DEL interrupted",
        ),
    ],
)
def test_trouble_is_counted_by_its_kind(facts: dict[str, t.Any], trouble: str) -> None:
    facts.setdefault("networks", [])
    assert row(**facts)[4] == trouble


@pytest.mark.parametrize("given", [None, [], "x", {"n1": None}])
def test_what_is_no_dictionary_of_facts_is_refused(given: object) -> None:
    with pytest.raises(AnsibleFilterError, match="expected a dictionary"):
        node_table(given)


@pytest.mark.parametrize(
    "facts", [{"networks": [{"name": "a"}]}, {"attachments": [{}]}, {"releases": ["x"]}, {"plugins": 5}], ids=str
)
def test_facts_of_another_form_are_refused_with_the_node(facts: dict[str, t.Any]) -> None:
    with pytest.raises(AnsibleFilterError, match="node_table: what two has is of another form; expected a dictionary"):
        node_table({"one": {}, "two": facts})
