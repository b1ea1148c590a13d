# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The changes of a fleet: which attachments change on which node, and what is interrupted."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.fleet_impact import fleet_impact

TASKS = pathlib.Path(__file__).parents[4] / "roles/cni_node/tasks"
IN_USE = {"addresses": ["10.1.0.2", "fd00::2"], "ports": ["8080->80/tcp", "53->53/udp"]}
CHANGED = "the network's configuration has changed"


def entry(action: str, **keys: t.Any) -> JsonObject:
    return {
        "container_id": "red",
        "ifname": "eth0",
        "netns": "/run/netns/red",
        "network": "dbnet",
        "action": action,
        "reason": "",
        "interrupts": None,
        "error": None,
        "result": {},
        **keys,
    }


RECREATED = entry("recreated", reason=CHANGED, interrupts=IN_USE)


def impact(*hosts: tuple[str, list[JsonObject]], **options: t.Any) -> JsonObject:
    hostvars = {host: {"predicted": {"attachments": entries}} for host, entries in hosts}
    return fleet_impact(hostvars, list(hostvars), "predicted", **options)


def test_the_rows_have_the_changes_of_all_nodes_with_their_reasons() -> None:
    found = impact(
        ("one", [RECREATED, entry("checked")]),
        ("two", [entry("unchanged")]),
        ("three", [entry("added", ifname="eth1")]),
    )
    keys = {"container_id": "red", "netns": "/run/netns/red", "network": "dbnet"}
    assert found["rows"] == [
        {"node": "one", **keys, "ifname": "eth0", "action": "recreated", "reason": CHANGED, "interrupts": IN_USE},
        {"node": "three", **keys, "ifname": "eth1", "action": "added", "reason": "", "interrupts": None},
    ]


def test_the_table_has_a_line_for_each_row_and_the_summary() -> None:
    found = impact(
        ("one", [RECREATED, entry("removed", interrupts={"addresses": [], "ports": []})]), ("two", [entry("added")])
    )
    assert found["table"] == [
        "NODE  CONTAINER  INTERFACE  NETWORK  ACTION     INTERRUPTED                       PORTS                     WHY",
        f"one   red        eth0       dbnet    recreated  connections of 10.1.0.2, fd00::2  8080->80/tcp, 53->53/udp  {CHANGED}",
        "one   red        eth0       dbnet    removed    connections of eth0               -                         -",
        "two   red        eth0       dbnet    added      nothing                           -                         -",
        "",
        "interrupted: 1 container on 1 node: one",
    ]


def test_a_container_is_counted_once_on_each_node() -> None:
    found = impact(
        ("one", [RECREATED, {**RECREATED, "ifname": "eth1"}, {**RECREATED, "container_id": "blue"}]),
        ("two", [RECREATED]),
    )
    assert (found["containers"], found["nodes"]) == (3, ["one", "two"])
    assert found["summary"] == "3 containers on 2 nodes: one, two"


def test_without_changes_the_table_is_one_line() -> None:
    found = impact(("one", [entry("checked")]))
    assert found == {
        "rows": [],
        "containers": 0,
        "nodes": [],
        "summary": "no container",
        "table": ["interrupted: no container"],
    }


@pytest.mark.parametrize(
    "variables",
    [{}, {"predicted": None}, {"predicted": {"skipped": True}}, {"predicted": {"failed": True, "msg": "no"}}],
    ids=str,
)
def test_a_node_without_a_result_has_no_rows(variables: JsonObject) -> None:
    assert fleet_impact({"one": variables}, ["one", "two"], "predicted")["rows"] == []


def test_a_failed_attachment_has_its_error_as_the_reason() -> None:
    (row,) = impact(("one", [entry("failed", error={"code": 7, "msg": "no plugin", "details": ""})]))["rows"]
    assert row["reason"] == "no plugin"


def test_reasons_are_left_out_on_request() -> None:
    found = impact(("one", [RECREATED]), reasons=False)
    assert found["rows"][0]["reason"] == ""
    assert CHANGED not in str(found["table"])


def test_the_summary_names_at_most_twenty_nodes() -> None:
    found = impact(*((f"n{number}", [RECREATED]) for number in range(22)))
    assert found["summary"].startswith("22 containers on 22 nodes: n0, n1, ")
    assert found["summary"].endswith(", n19 and 2 more")


@pytest.mark.parametrize(("hostvars", "hosts"), [(None, []), ([], []), ({}, "one"), ({}, {}), ({}, None)], ids=str)
def test_arguments_of_another_type_are_refused(hostvars: object, hosts: object) -> None:
    with pytest.raises(
        AnsibleFilterError, match=r"fleet_impact: (hosts: .+; expected: a list of names|expected a dictionary)"
    ):
        fleet_impact(hostvars, hosts, "predicted")


def test_additions_and_repairs_interrupt_no_container() -> None:
    found = impact(("one", [entry("added"), entry("repaired", reason="a rule is missing")]))
    assert (len(found["rows"]), found["containers"], found["nodes"]) == (2, 0, [])


def test_no_text_of_a_row_begins_a_template() -> None:
    hostile = "{{ 7 * 7 }}{% raw %}{# {{{x"
    odd = entry("removed", ifname=hostile, reason=hostile, interrupts={"addresses": [hostile], "ports": [hostile]})
    (row,) = impact(("one", [odd]))["rows"]
    harmless = "{ { 7 * 7 }}{ % raw %}{ # { { {x"
    assert (row["ifname"], row["reason"]) == (harmless, harmless)
    assert row["interrupts"] == {"addresses": [harmless], "ports": [harmless]}


@pytest.mark.parametrize("result", ["text", {"attachments": [{}]}, {"attachments": ["x"]}], ids=str)
def test_a_result_of_another_form_is_refused_with_the_node(result: object) -> None:
    with pytest.raises(AnsibleFilterError, match="fleet_impact: predicted of one has an unexpected form; expected a "):
        fleet_impact({"one": {"predicted": result}}, ["one"], "predicted")


def test_the_role_looks_at_the_nodes_once_for_the_impact_and_once_for_the_report() -> None:
    """A variable of tasks would look at them again wherever it is used."""
    (block,) = yaml.safe_load((TASKS / "interruptions.yml").read_text(encoding="utf-8"))
    (found,) = (task for task in [block, *block["block"]] if "fleet_impact" in str({**task, "block": None}))
    assert list(found["ansible.builtin.set_fact"]) == ["__cni_node_impact"]
    page = (TASKS / "page.yml").read_text(encoding="utf-8")
    assert page.count("cni.node.fleet_report(") == 1
