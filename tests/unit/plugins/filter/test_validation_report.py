# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings about files, results and variables of all hosts are one report."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.conflist_findings import conflist_findings
from ansible_collections.cni.node.plugins.filter.validation_report import validation_report

GOOD: JsonObject = {"cniVersion": "1.0.0", "name": "good", "plugins": [{"type": "loopback"}]}
ODD: JsonObject = {**GOOD, "name": "odd", "plugins": [{"type": "loopback", "colour": "red"}]}
TYPO: JsonObject = {**GOOD, "name": "typo", "plugins": [{"type": "bridge", "isGatway": True}]}


def report_results(**results: t.Any) -> JsonObject:
    return validation_report(
        {host: {"validated": result} for host, result in results.items()}, list(results), "validated"
    )


def write(path: pathlib.Path, network: JsonObject) -> str:
    path.write_text(json.dumps(network), encoding="utf-8")
    return str(path)


def test_results_of_several_hosts_are_merged() -> None:
    (finding,) = conflist_findings([TYPO])
    report = report_results(
        a={"findings": [finding], "msg": "2 errors"},
        b={"findings": [finding], "conflists": []},
        c={"skipped": True},
        d={"conflists": [], "findings": []},
        e={"msg": "conflists[1]: template x cannot be rendered", "findings": []},
        f={"msg": "no connection: it is gone"},
    )
    first, second, third = report["findings"]
    assert first == {**finding, "hosts": ["a", "b"]}
    assert (second["file"], second["message"], second["hosts"]) == (
        "conflists[1]",
        "template x cannot be rendered",
        ["e"],
    )
    assert (third["file"], third["message"], third["severity"]) == ("conflists", "no connection: it is gone", "error")
    assert report["lines"][1] == "error: e: conflists[1]: template x cannot be rendered (invalid-configuration)"
    assert report["summary"] == "3 errors and 0 warnings in 0 files and the variables of 5 hosts"


def test_misspelled_variables_are_findings_of_their_hosts() -> None:
    hostvars = {
        **{f"h{number}": {"cni_node_prge": True, "cni_node_purge": True} for number in range(7)},
        "other": {"cni_kernel_zzz": 1, "mine": 2},
    }
    report = validation_report(hostvars, list(hostvars))
    assert report["lines"] == [
        "error: h0, h1, h2, h3, h4 and 2 more: cni_node_prge: the variable is unknown; did you mean cni_node_purge?"
        " (misspelled-key)",
        "error: other: cni_kernel_zzz: the variable is unknown; names that begin with cni_kernel_ belong to the collection"
        " cni.node, so rename variables of your own (invalid-configuration)",
    ]
    assert report["summary"] == "2 errors and 0 warnings in 0 files and the variables of 8 hosts"
    assert (report["passed"], report["unevaluated"]) == (False, [])


def test_wrong_values_are_findings_of_their_hosts() -> None:
    wrong = {
        "cni_node_repair_interval": "often",
        "cni_node_check": "sometimes",
        "cni_node_keep": "{{ later }}",
        "cni_node_attachments": [{"network": "net", "netns": "red", "ifname": "eth0:1"}],
        "cni_node_conflists": 7,
    }
    report = validation_report({"a": wrong, "b": {"cni_node_repair_interval": "30s"}}, ["a", "b"])
    texts = [(found["file"], found["message"].partition(" ")[0]) for found in report["findings"]]
    assert texts == [
        ("cni_node_attachments", "[0]:"),
        ("cni_node_check", "value"),
        ("cni_node_repair_interval", "'often';"),
    ]
    assert "error: a: cni_node_repair_interval: 'often'; expected: a time span of systemd" in report["lines"][2]
    assert report["passed"] is False


def test_a_host_whose_networks_cannot_be_evaluated_has_one_finding() -> None:
    unevaluated = {"cni_node_conflists": ["{{ facts.x }}"], "cni_node_attachments": "{{ facts.y }}", "cni_node_prge": 1}
    report = validation_report({"a": unevaluated, "b": {"cni_node_conflists": []}}, ["a", "b"])
    assert report["unevaluated"] == ["a"]
    assert [(found["file"], found["hosts"]) for found in report["findings"]] == [
        ("cni_node_prge", ["a"]),
        ("cni_node_conflists", ["a"]),
    ]
    assert "facts of the node are not gathered here" in report["lines"][1]


def test_networks_of_the_hosts_are_compared() -> None:
    def lan(subnet: str) -> list[JsonObject]:
        return [{"config": {**GOOD, "plugins": [{"type": "bridge", "ipam": {"type": "host-local", "subnet": subnet}}]}}]

    subnets = {"a": "10.64.0.0/16", "b": "10.64.1.0/24", "c": "{{ facts.x }}"}
    hostvars = {host: {"cni_node_conflists": lan(subnet)} for host, subnet in subnets.items()}
    report = validation_report(hostvars, list(hostvars))
    assert [(found["code"], found["file"]) for found in report["findings"]] == [
        ("invalid-configuration", "cni_node_conflists"),
        ("node-subnets-collide", "b: conflists[0]"),
    ]
    assert report["lines"][1].startswith(
        "error: b: conflists[0]: /plugins/0/ipam: 10.64.0.1 to 10.64.255.254 of the network"
    )


def test_files_are_paths_or_lines_and_validated_with_attachments(tmp_path: pathlib.Path) -> None:
    files = [write(tmp_path / "good.conflist", GOOD), write(tmp_path / "typo.conflist", TYPO)]
    items = [{"network": "good", "netns": "a", "capability_args": {"mac": "02:00:00:00:00:01"}}]
    report = validation_report({}, [], files=files, attachments=items)
    assert [found["code"] for found in report["findings"]] == ["misspelled-key", "undeclared-capability"]
    assert report["lines"][0].startswith(f"error: {files[1]}, line 1: /plugins/0/isGatway: ")
    assert report["summary"] == "2 errors and 0 warnings in 2 files and the variables of 0 hosts"
    assert validation_report({}, [], files="\n \n".join(files), attachments=items) == report


@pytest.mark.parametrize("strict", [False, True])
def test_warnings_are_faults_only_with_strict(tmp_path: pathlib.Path, strict: bool) -> None:
    report = validation_report({}, [], files=[write(tmp_path / "odd.conflist", ODD)], strict=strict)
    assert report["summary"] == "0 errors and 1 warning in 1 file and the variables of 0 hosts"
    assert report["passed"] is not strict


@pytest.mark.parametrize("files", ["", "\n", []])
def test_a_report_about_nothing_says_what_to_set(files: object) -> None:
    report = validation_report({"a": {"validated": {"skipped": True}}}, ["a"], "validated", files=files)
    assert (report["passed"], report["lines"]) == (False, [])
    assert report["summary"].startswith("nothing to validate: set cni_node_conflist_files to paths of files")


def test_values_of_the_wrong_type_are_refused_with_a_message() -> None:
    with pytest.raises(AnsibleFilterError, match="expected a dictionary of host names to variables"):
        validation_report([], [])
    with pytest.raises(AnsibleFilterError, match="a: expected: a result of "):
        report_results(a=5)
    with pytest.raises(AnsibleFilterError, match="validation_report: levels: "):
        validation_report({}, [], levels=["node"])
