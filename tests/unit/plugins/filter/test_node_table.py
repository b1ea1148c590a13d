# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of nodes at the end of a play."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.node_table import node_table

RELEASES = [{"version": "1.9.1", "current": True}, {"version": "1.8.0", "current": False}]
NETWORK = {"name": "dbnet", "shadowed": False, "error": None}
ATTACHED: t.Final[JsonObject] = {
    "network": "dbnet",
    "container_id": "red",
    "ifname": "eth0",
    "addresses": ["10.1.0.2/16"],
    "ports": ["8080->80/tcp"],
    "drift": [],
    "netns_state": "present",
    "network_state": "same",
    "interrupted": None,
    "error": None,
}
NODE = {"releases": RELEASES, "networks": [NETWORK], "attachments": [ATTACHED, ATTACHED]}


def row(**facts: t.Any) -> list[str]:
    return node_table({"n1": {**NODE, **facts}})[1].split(maxsplit=5)


def test_each_node_has_a_line_below_the_names_of_the_columns() -> None:
    first, *others = [line.split() for line in node_table({"n1": NODE, "n2": {}})]
    assert first == ["NODE", "PLUGINS", "NETWORKS", "ATTACHMENTS", "DRIFT", "TROUBLE"]
    assert others == [["n1", "1.9.1", "dbnet", "2", "none", "-"], ["n2", "-", "-", "-", "-", "-"]]


def test_plugins_from_other_sources_are_counted() -> None:
    assert row(releases=[], plugins=[{"error": None}] * 3)[1:3] == ["3", "found"]


def test_a_shadowed_network_is_not_shown() -> None:
    assert row(networks=[NETWORK, {**NETWORK, "shadowed": True}, {"path": "x", "error": {"msg": "no"}}])[2] == "dbnet"


@pytest.mark.parametrize(
    ("facts", "trouble"),
    [
        ({"networks": [{"path": "y", "error": {"msg": "no"}}]}, "1 network broken"),
        ({"plugins": [{"error": {"msg": "no"}}]}, "1 plugin broken"),
        ({"attachments": [{"path": "x", "error": {"msg": "no"}}]}, "1 attachment broken"),
        ({"networks": [{"error": {"msg": "no"}}] * 2}, "2 networks broken"),
        (
            {"status": [{"network": "b", "error": {"msg": "no"}}, {"network": "a", "error": None}]},
            "network not ready: b",
        ),
        ({"attachments": [{**ATTACHED, "netns_state": "gone"}] * 2}, "2 netns gone"),
        ({"attachments": [{**ATTACHED, "network_state": "gone"}] * 2}, "2 attachments of a removed network"),
        ({"attachments": [{**ATTACHED, "drift": ["no eth0", "no cni0"]}, ATTACHED]}, "1 attachment drifted"),
        ({"releases": [{**RELEASES[0], "missing": ["ptp"]}]}, "plugin missing: ptp"),
        ({"networks": [{**NETWORK, "missing_plugins": ["bridge", "ptp"]}]}, "plugins missing: bridge ptp"),
        ({"attachments": [{**ATTACHED, "netns_state": "unknown"}]}, "-"),
        ({"attachments": [{**ATTACHED, "network_state": "changed"}]}, "1 attachment of a changed network"),
        ({"attachments": [{**ATTACHED, "network_state": "unknown"}]}, "-"),
        (
            {"attachments": [{**ATTACHED, "interrupted": "DEL", "netns_state": "gone"}]},
            "1 netns gone, 1 DEL interrupted",
        ),
    ],
)
def test_problems_are_counted_by_kind(facts: JsonObject, trouble: str) -> None:
    facts.setdefault("networks", [])
    assert row(**facts)[5] == trouble


def test_a_node_that_failed_has_a_row_with_the_step_that_failed() -> None:
    hostvars = {
        "n1": {"plugins_result": {"failed": False}, "networks_result": {"failed": True, "msg": "no"}},
        "n2": {"plugins_result": {"unreachable": True, "msg": "connect to host n2: No route to host\n"}},
        "n3": {},
    }
    steps = {"plugins_result": "plugins", "networks_result": "networks"}
    drifted = {**NODE, "attachments": [DRIFTED]}
    table = node_table({"n1": drifted, "n0": NODE}, failed=["n1", "n2", "n3"], hostvars=hostvars, steps=steps)
    assert [line.split(maxsplit=5) for line in table[1:5]] == [
        ["n1", "1.9.1", "dbnet", "1", "1", "failed at: networks, 1 attachment drifted"],
        ["n0", "1.9.1", "dbnet", "2", "none", "-"],
        ["n2", "-", "-", "-", "-", "not reached: connect to host n2: No route to host"],
        ["n3", "-", "-", "-", "-", "-"],
    ]


def test_a_node_that_could_not_be_read_has_a_row_with_the_reason() -> None:
    table = node_table({"n1": {"failed": True, "msg": "no such directory"}, "n2": {"unreachable": True}})
    assert [line.split(maxsplit=5)[5] for line in table[1:]] == ["not read: no such directory", "not reached"]


@pytest.mark.parametrize("given", [None, [], "x", {"n1": None}])
def test_facts_of_another_type_are_refused(given: object) -> None:
    with pytest.raises(AnsibleFilterError, match="expected a dictionary"):
        node_table(given)


@pytest.mark.parametrize(
    "facts", [{"networks": [{"name": "a"}]}, {"attachments": [{}]}, {"releases": ["x"]}, {"plugins": 5}], ids=str
)
def test_facts_of_another_form_are_refused_with_the_node(facts: JsonObject) -> None:
    with pytest.raises(
        AnsibleFilterError, match="node_table: the value of two has an unexpected form; expected a dictionary"
    ):
        node_table({"one": {}, "two": facts})


UNKNOWN = {**ATTACHED, "drift": None}
DRIFTED = {**ATTACHED, "drift": ["eth0 is gone", "cni0 is gone"]}


@pytest.mark.parametrize(
    ("attached", "drift"),
    [
        ([], "-"),
        ([ATTACHED], "none"),
        ([ATTACHED, DRIFTED], "1"),
        ([UNKNOWN], "1 unknown"),
        ([ATTACHED, UNKNOWN], "none, 1 unknown"),
        ([{**UNKNOWN, "netns_state": "gone"}], "-"),
    ],
)
def test_no_drift_is_reported_only_where_it_was_checked(attached: list[JsonObject], drift: str) -> None:
    first, second = node_table({"n1": {**NODE, "attachments": attached}})[:2]
    begin, end = first.index("DRIFT"), first.index("TROUBLE")
    assert second[begin:end].strip() == drift


def test_attachments_have_lines_of_their_own() -> None:
    table = node_table({"n1": {"attachments": [ATTACHED, DRIFTED]}, "n2": {}})
    assert [line.split(maxsplit=6) for line in table[3:]] == [
        [],
        ["NODE", "NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "PORTS", "DRIFT"],
        ["n1", "dbnet", "red", "eth0", "10.1.0.2/16", "8080->80/tcp", "eth0 is gone; cni0 is gone"],
    ]
    assert [line.split()[-1] for line in node_table({"n1": {"attachments": [ATTACHED, UNKNOWN]}}, "all")[4:]] == [
        "none",
        "unknown",
    ]


def test_the_list_of_drift_has_a_limited_length() -> None:
    nodes = {"n1": {"attachments": [DRIFTED] * 23}}
    assert node_table(nodes)[-1] == "and 3 more"
    assert len(node_table(nodes)) == 2 + 2 + 20 + 1
    assert len(node_table(nodes, attachments="all")) == 2 + 2 + 23


def test_an_unknown_selection_of_attachments_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="node_table: attachments: 'some'; expected: all or drifted"):
        node_table({}, "some")
