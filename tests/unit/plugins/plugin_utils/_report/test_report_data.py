# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a fleet as data."""

from __future__ import annotations

import hashlib
import json
import re
import typing as t
import uuid

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.fleet_report import fleet_report
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._report import details, page
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report import example_fleet
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report.example_fleet import (
    DIAGNOSIS,
    FINDING,
    LEAK,
    RELEASE,
    SECRET,
    attachment,
    bridge,
    facts,
    fleet,
    link,
    network,
    three_nodes,
    troubled_node,
)


def test_the_summary_counts_what_is_on_all_nodes() -> None:
    assert three_nodes()["summary"] == {
        "nodes": 3,
        "unread": 1,
        "networks": 3,
        "attachments": 6,
        "drifted": 1,
        "drift_unknown": 0,
        "leaks": 1,
        "errors": 3,
        "warnings": 1,
        "leases": 7,
        "flaws": 1,
    }


def test_a_node_without_a_result_is_listed_as_not_read() -> None:
    assert [(node["name"], node["read"]) for node in three_nodes()["nodes"]] == [
        ("one", True),
        ("two", True),
        ("three", False),
    ]


def test_nothing_that_may_be_a_secret_is_in_the_report_or_its_page() -> None:
    report = three_nodes()
    # The example has it in a result, in a finding's value and in the details of an error.
    assert SECRET in json.dumps(example_fleet.troubled_node())
    assert SECRET not in json.dumps(report)
    text = page.render(report)
    assert SECRET not in text
    assert SECRET not in json.dumps(example_fleet.details_of(text))


def test_broken_networks_and_records_and_missing_plugins_are_errors() -> None:
    broken = {"path": "/etc/cni/net.d/99-broken.conflist", "error": {"msg": "not valid JSON"}}
    record = {"path": "/var/lib/cni/results/cut", "error": {"msg": "cut is not valid JSON"}}
    parts = {
        "networks": [network("dbnet", bridge(), missing_plugins=["bridge", "ptp"]), broken],
        "attachments": [record],
    }
    assert _errors(**parts) == 4
    found = [
        {**FINDING, "severity": "error", "code": "not-json", "file": broken["path"]},
        {**FINDING, "severity": "error", "code": "missing-plugin"},
    ]
    # What validation finds, too, counts once.
    assert _errors(**parts, findings=found) == 4


def _errors(**parts: t.Any) -> int:
    (node,) = fleet({"one": facts(**parts)})["nodes"]
    errors: int = node["summary"]["errors"]
    return errors


def test_the_fullest_pool_has_its_name() -> None:
    pools = [
        {"network": name, "range": "y", "size": 100, "taken": taken, "free": 0} for name, taken in (("a", 3), ("b", 30))
    ]
    report = fleet({"one": facts(leases=pools)})
    assert report["nodes"][0]["summary"]["fullest_pool"]["network"] == "b"
    assert "b: 30 of 100" in page.render(report)


def test_a_pool_with_few_leases_is_not_shown_as_empty() -> None:
    assert "&lt;1 %" in page.render(fleet({"one": facts()}))


def test_each_problem_has_the_command_that_mends_it() -> None:
    leaks: dict[str, t.Any] = {"a b": {"findings": [LEAK]}}
    report = fleet({"a b": troubled_node()}, **leaks)
    assert {problem["problem"]: problem["command"] for problem in report["nodes"][0]["problems"]} == {
        "plugin missing: ptp": "ansible-playbook cni.node.provision --limit 'a b'",
        "1 network broken": "ansible-playbook cni.node.provision --limit 'a b'",
        "1 attachment broken": "",
        "1 attachment drifted": "ansible-playbook cni.node.repair --limit 'a b'",
        "1 netns gone": "ansible-playbook cni.node.gc --limit 'a b'",
        "1 leak": "ansible-playbook cni.node.gc --limit 'a b'",
        "1 known flaw": "ansible-playbook cni.node.upgrade --limit 'a b'",
    }
    assert "<code>ansible-playbook cni.node.repair --limit &#39;a b&#39;</code>" in page.render(report)


def test_a_problem_is_shown_since_the_first_report_that_has_it() -> None:
    drifted = {"attachments": [attachment("dbnet", "red", drift=["eth0 is gone"])]}
    hostvars = {"one": {"node": facts(**drifted)}, "two": {"node": facts(**drifted)}}
    first = fleet_report({**hostvars, "two": {"node": facts()}}, list(hostvars), "node")
    first["nodes"][0]["problems"][0]["since"] = "2020-01-02T03:04:05Z"
    second = fleet_report(hostvars, list(hostvars), "node", previous=json.dumps(first))
    assert [node["problems"][0]["since"] for node in second["nodes"]] == ["2020-01-02T03:04:05Z", second["generated"]]
    assert page.render(second).count(">2020-01-02 03:04:05 UTC</time>") == 1


@pytest.mark.parametrize("previous", ["", "{", "[]", '{"format": 0}', '{"format": 1, "nodes": [5]}', None, 7])
def test_an_earlier_report_that_cannot_be_read_is_ignored(previous: t.Any) -> None:
    report = fleet_report({}, ["one"], "node", previous=previous)
    assert report["nodes"][0]["problems"][0]["since"] == report["generated"]


def test_a_node_that_was_not_reached_has_the_reason() -> None:
    unreached = {"unreachable": True, "msg": "connect to host: No route to host\x1b"}
    report = fleet_report({"one": {"node": unreached}}, ["one"], "node")
    assert report["nodes"][0]["error"] == "connect to host: No route to host\\x1b"
    assert "not read: connect to host: No route to host" in page.render(report)


def _order(report: t.Any) -> list[str]:
    return re.findall(r'<tr data-node="[^"]*"[^>]*><th scope="row"><a [^>]*>([^<]*)<', page.render(report))


def test_the_page_has_the_worst_nodes_first() -> None:
    drifted = attachment("dbnet", "red", drift=["eth0 is gone"])
    nodes = {
        "good": facts(),
        "unknown": facts(attachments=[attachment("dbnet", "red", drift=None)]),
        "bad": facts(attachments=[drifted]),
        "fine": facts(),
        "worst": facts(attachments=[drifted, drifted]),
    }
    report = fleet(nodes, ["unread"])
    assert _order(report) == ["unread", "worst", "bad", "unknown", "good", "fine"]
    assert [node["name"] for node in report["nodes"]] == [*nodes, "unread"]


def test_columns_in_which_every_node_has_0_are_left_out() -> None:
    drifted = facts(attachments=[attachment("dbnet", "red", drift=["eth0 is gone"])], runtimes=[])
    headings = re.findall(r'<th scope="col"[^>]*>([^<]*)<', page.render(fleet({"one": drifted})))
    assert headings[:6] == ["Node", "Problems", "Drifted", "Fullest pool", "Attachments", "Networks"]
    assert "Runtime" not in headings


def test_the_parts_in_which_values_differ_are_marked() -> None:
    one = facts(networks=[network("dbnet", bridge())])
    two = facts(networks=[network("dbnet", bridge(mtu=1400), {"type": "portmap"})])
    text = page.render(fleet({"one": one, "two": two, "three": one}))
    assert re.findall(r"<mark>([^<]*)</mark>", text) == ["mtu=1400", "portmap"]


def test_a_node_that_differs_from_most_says_so() -> None:
    old = facts(releases=[{**RELEASE, "version": "1.8.0"}])
    report = fleet({"one": facts(), "two": old, "three": facts()})
    assert [node["differs"] for node in report["nodes"]] == [
        [],
        ["release of reference plugins in /opt/cni/bin"],
        [],
    ]
    assert page.render(report).count("no problem") == 2
    # Of two nodes, neither is the one that differs.
    assert [node["differs"] for node in fleet({"one": facts(), "two": old})["nodes"]] == [[], []]


def test_the_page_of_a_large_fleet_has_a_hundred_bytes_for_each_attachment() -> None:
    def name(number: int) -> str:
        return hashlib.sha256(str(number).encode()).hexdigest()

    nodes = {
        f"node{number:03}": facts(
            attachments=[
                attachment(
                    "k8s-pod-network",
                    name(number * 50 + place),
                    netns=f"/var/run/netns/cni-{uuid.UUID(name(number * 50 + place)[:32])}",
                    addresses=[f"10.{number}.0.{place + 2}/16"],
                )
                for place in range(50)
            ],
            networks=[network("k8s-pod-network", bridge(f"10.{number}.0.0/16"))],
        )
        for number in range(100)
    }
    # Names of containers and network namespaces are random, so half of them cannot be compressed.
    assert len(page.render(fleet(nodes))) - len(page.render(fleet({}))) < 100 * 5000


REPAIR: dict[str, t.Any] = {
    "time": 1795849200,
    "network": "dbnet",
    "container_id": "blue",
    "ifname": "eth0",
    "lost": ["the masquerade rule of 10.1.0.2 is gone"],
    "by": ["nft (process 4711)"],
}


def test_repairs_by_the_node_itself_are_listed_with_the_newest_first() -> None:
    (node,) = fleet({"one": facts(repairs=[REPAIR, {**REPAIR, "time": REPAIR["time"] + 60, "by": []}])})["nodes"]
    assert node["repairs"][0] == {**REPAIR, "time": "2026-11-28T07:00:00Z"}
    assert [row[0] for row in details.list_details(node)["repairs"]] == ["2026-11-28T07:01:00Z", "2026-11-28T07:00:00Z"]


def test_the_way_of_a_lost_packet_has_its_steps_and_what_mends_the_broken_one() -> None:
    (node,) = fleet({"one": facts(diagnoses=[{**DIAGNOSIS, "vendor": SECRET}])})["nodes"]
    assert node["diagnoses"] == [DIAGNOSIS]
    (row,) = details.list_details(node)["diagnoses"]
    assert row[:5] == ["dbnet", "red", "eth0", "red", "10.1.0.1 (icmp)"]
    assert row[5] == [
        ["there", "red", "route", "ok", "10.1.0.1 dev eth0"],
        ["there", "node", "bridge", "broken", "cni0 is down"],
    ]
    assert row[6:] == ["cni0 is up", "ip link set cni0 up"]


@pytest.mark.parametrize("odd", [{"steps": []}, {"steps": [{}]}, {"to": 1}, {"steps": "none"}])
def test_a_node_that_answers_with_another_form_of_diagnosis_is_not_read(odd: JsonObject) -> None:
    (node,) = fleet({"one": facts(diagnoses=[{**DIAGNOSIS, **odd}])})["nodes"]
    assert node["read"] is False


@pytest.mark.parametrize("time", [2**80, -(2**80), True, "now", None])
def test_a_node_that_answers_with_another_time_is_not_read(time: object) -> None:
    (node,) = fleet({"one": facts(repairs=[{**REPAIR, "time": time}])})["nodes"]
    assert node["read"] is (time is True)


def test_texts_from_a_node_are_escaped() -> None:
    hostile = facts(attachments=[attachment("net\x1b[31m", "\u202eevil")])
    (described,) = fleet({"n\x1b1": hostile})["nodes"]
    assert described["name"] == "n\\x1b1"
    assert described["attachments"][0]["network"] == "net\\x1b[31m"
    assert described["attachments"][0]["container_id"] == "\\u202eevil"


def test_kept_leaks_are_listed_and_not_counted() -> None:
    (node,) = fleet({"one": facts()}, one={"findings": [LEAK, {**LEAK, "action": "kept"}]})["nodes"]
    assert (len(node["leaks"]), node["summary"]["leaks"]) == (2, 1)


def test_the_error_of_a_search_for_leaks_is_kept() -> None:
    report = fleet({"one": facts()}, one={"msg": "leak collection is in use", "error": {}})
    assert report["nodes"][0]["leaks_error"] == "leak collection is in use"
    assert "leaks unknown" in page.render(report)


def test_a_search_for_leaks_that_was_skipped_is_not_an_error() -> None:
    (node,) = fleet({"one": facts()}, one={"skipped": True, "changed": False})["nodes"]
    assert node["leaks_error"] is None


def test_a_failed_check_is_not_a_leak() -> None:
    failed = {**LEAK, "kind": "network", "action": "failed", "error": {"msg": "nft does not answer"}}
    (node,) = fleet({"one": facts()}, one={"findings": [failed]})["nodes"]
    assert (len(node["leaks"]), node["summary"]["leaks"]) == (1, 0)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({}, "no problem"),
        ({"attachments": [attachment("dbnet", "red", drift=None)]}, "drift of 1 unknown"),
        ({"releases": [{**RELEASE, "flaws": ["portmap 1.8.0: x"]}]}, "1 known flaw"),
        ({"findings": [{**FINDING, "severity": "error"}]}, "1 error"),
    ],
)
def test_the_heading_of_a_node_says_what_is_wrong_or_unknown(parts: t.Any, words: str) -> None:
    text = page.render(fleet({"one": facts(**parts)}))
    assert words in text
    assert ("no problem" in text) is (words == "no problem")


@pytest.mark.parametrize(
    ("size", "taken", "percent"), [(65533, 2, 0), (253, 252, 99), (5, 5, 100), (5, 7, 100), (0, 0, 100)]
)
def test_only_a_full_pool_has_a_hundred_percent(size: int, taken: int, percent: int) -> None:
    pool = {"network": "x", "range": "y", "size": size, "taken": taken, "free": 0}
    (node,) = fleet({"one": facts(leases=[pool])})["nodes"]
    assert node["pools"][0]["percent"] == percent


def _differences(**nodes: t.Any) -> dict[str, dict[str, list[str]]]:
    return {
        difference["what"]: {group["value"]: group["nodes"] for group in difference["values"]}
        for difference in fleet(nodes)["fleet"]["differences"]
    }


def test_equal_nodes_do_not_differ() -> None:
    assert _differences(one=facts(), two=facts()) == {}


def test_different_releases_are_listed_with_their_nodes() -> None:
    old = facts(releases=[{**RELEASE, "version": "1.8.0"}, {**RELEASE, "version": "1.7.1", "current": False}])
    assert _differences(one=facts(), two=old, three=facts()) == {
        "release of reference plugins in /opt/cni/bin": {"1.9.1": ["one", "three"], "1.8.0": ["two"]}
    }


def test_networks_may_differ_in_their_addresses_only() -> None:
    one = facts(networks=[network("dbnet", bridge("10.1.0.0/24"))])
    assert _differences(one=one, two=facts(networks=[network("dbnet", bridge("10.2.0.0/24"))])) == {}
    differing = _differences(one=one, two=facts(networks=[network("dbnet", bridge("10.1.0.0/24", mtu=1400))]))
    assert [list(nodes) for nodes in differing["network dbnet"].values()] == [["one"], ["two"]]
    assert list(_differences(one=one, two=facts(networks=[]))["network dbnet"])[-1] == "none"


def _subnets(**nodes: t.Any) -> dict[str, list[str]]:
    return {entry["range"]: entry["overlaps"] for entry in fleet(nodes)["fleet"]["subnets"]}


def test_overlapping_subnets_of_different_networks_are_found_also_on_different_nodes() -> None:
    one = facts(networks=[network("a", bridge("10.1.0.0/16"))])
    two = facts(networks=[network("b", bridge("10.1.128.0/24"))])
    assert _subnets(one=one, two=two) == {
        "10.1.0.1-10.1.255.254": ["b (10.1.128.0/24)"],
        "10.1.128.1-10.1.128.254": ["a (10.1.0.0/16)"],
    }


def test_a_network_that_is_the_same_on_all_nodes_does_not_overlap_with_itself() -> None:
    assert _subnets(one=facts(), two=facts()) == {"10.1.0.1-10.1.255.254": [], "192.0.2.100-192.0.2.254": []}


def test_two_networks_with_one_subnet_overlap() -> None:
    both = facts(networks=[network("a", bridge("10.1.0.0/16")), network("b", bridge("10.1.0.0/16"))])
    assert _subnets(one=both) == {"10.1.0.1-10.1.255.254": ["a and b have the same addresses"]}


def test_nodes_that_share_a_link_and_assign_the_same_addresses_collide() -> None:
    (collision,) = fleet({"one": facts(), "two": facts()})["fleet"]["collisions"]
    assert "192.0.2.100 to 192.0.2.254 of the network 'lan' is on 2 nodes: one and two" in collision
    assert "(/etc/cni/net.d/10-lan.conflist)" in collision


def test_a_plugin_without_a_release_differs_where_it_is_missing() -> None:
    plugin = {
        "type": "calico",
        "path": "/opt/cni/bin/calico",
        "release": "",
        "versions": [],
        "shadowed": False,
        "flaws": [],
    }
    assert _differences(one=facts(plugins=[plugin]), two=facts()) == {
        "plugin calico": {"installed": ["one"], "none": ["two"]}
    }


@pytest.mark.parametrize(
    "info",
    [
        3,
        {"attachments": [{}]},
        facts(networks=[{}]),
        facts(networks=[network("a")]),
        facts(networks=[network("a", {"type": []})]),
        facts(links=[link("a", addresses="x")]),
        facts(findings=[{**FINDING, "line": "7"}]),
        facts(findings=[{"severity": "error", "code": "x", "file": "y"}]),
        facts(attachments=[{"network": "a", "netns_state": "gone", "network_state": "same", "interrupted": None}]),
        facts(leases=[{"network": "x", "range": "y", "size": float("nan"), "taken": 0, "free": 0}]),
    ],
)
def test_a_node_with_an_invalid_answer_does_not_hide_the_others(info: t.Any) -> None:
    report = fleet_report({"one": {"node": info}, "two": {"node": facts()}}, ["one", "two"], "node")
    first, second = report["nodes"]
    assert first["error"].startswith("its results have an unexpected form: ")
    assert (first["read"], second["read"]) == (False, True)
    assert "its results have an unexpected form" in page.render(report)


def test_an_interface_without_a_name_is_left_out() -> None:
    unnamed = attachment("gone", "red", result={"interfaces": [{"mac": "02:00:00:00:00:01"}, {"name": "cni0"}]})
    (node,) = fleet({"one": facts(networks=[], attachments=[unnamed])})["nodes"]
    assert node["attachments"][0]["node_interfaces"] == ["cni0"]


@pytest.mark.parametrize(("hostvars", "hosts"), [([], []), ({}, "one")])
def test_arguments_of_another_type_are_refused(hostvars: t.Any, hosts: t.Any) -> None:
    with pytest.raises(
        AnsibleFilterError, match=r"fleet_report: (hosts: .+; expected: a list of names|expected a dictionary)"
    ):
        fleet_report(hostvars, hosts, "node")


def test_results_are_read_from_the_variables_of_the_hosts() -> None:
    hostvars = {"one": {"node": facts(), "gc": {"findings": [LEAK]}}, "two": {}}
    report = fleet_report(hostvars, ["one", "two", "three"], "node", leaks="gc")
    assert [node["read"] for node in report["nodes"]] == [True, False, False]
    assert report["summary"]["leaks"] == 1


def test_an_empty_fleet_is_a_report() -> None:
    report = fleet_report({}, [], "node")
    assert report["summary"]["nodes"] == 0
    assert "Container networks" in page.render(report)
