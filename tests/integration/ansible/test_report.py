# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report shows lost parts of attachments and missing plugins as problems, and is written as a page, as data and as metrics."""

from __future__ import annotations

import json
import pathlib
import subprocess
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import (
    PROVISION,
    REPORT,
    _capabilities,
    _mapped,
    _release,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import ip
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report.example_fleet import details_of

RED = {"network": "mapped", "netns": "red", **_capabilities()}
BLUE = {"network": "mapped", "netns": "blue"}


def _read_report(played: PlaybookRun) -> list[list[str]]:
    """Return the cells of the lines of the report."""
    lines: list[str] = played.succeeded()["Show the report"].result["msg"]
    return [[cell for cell in line.split("  ") if cell] for line in lines]


def _variables(project: Project) -> JsonObject:
    network = {**reference_networks.full("1.0.0"), "name": "mapped", "plugins": _mapped()}
    return {
        "cni_node_concerns": ["plugins", "networks", "attachments"],
        "cni_node_conflists": [{"config": network}],
        "cni_node_attachments": [RED, BLUE],
        "cni_node_verify": False,
        **_release(project, "1.0.1"),
    }


def _cut_bridge(dummy: EngineNode) -> None:
    ip("link", "delete", "cni1")


def _flush_rules(dummy: EngineNode) -> None:
    subprocess.run(["iptables", "-t", "nat", "-F"], check=True)


def _lose_plugin(node: EngineNode) -> None:
    (node.plugins.path / "bridge").unlink()


LOSSES: dict[str, tuple[t.Callable[[EngineNode], None], str, str]] = {
    "bridge": (_cut_bridge, "2 attachments drifted", "interface cni1 of the node is gone"),
    "rules": (_flush_rules, "2 attachments drifted", "the masquerade rule of 10.2.0."),
    "plugin": (_lose_plugin, "plugin missing: bridge", ""),
}


@pytest.mark.parametrize(("lose", "trouble", "drift"), LOSSES.values(), ids=LOSSES)
def test_lost_parts_are_shown_as_problems(
    node: EngineNode, project: Project, lose: t.Callable[[EngineNode], None], trouble: str, drift: str
) -> None:
    node.plugins.path.rmdir()
    dummy, green = _read_report(project.run(PROVISION, **_variables(project)))
    assert green[-1].strip() == "-"
    lose(node)
    looked = project.run(REPORT)
    dummy, row, *attachments = _read_report(looked)
    assert row[-1].strip() == trouble
    red = next(cells for cells in attachments if "red" in [cell.strip() for cell in cells])
    *names, address, ports, problems = [cell.strip() for cell in red]
    assert (names, ports) == (["node", "mapped", "red", "eth0"], "8080->80/tcp")
    assert address.startswith("10.2.0.")
    assert drift in problems
    assert all(task.require_unchanged_node() for task in looked.tasks)


UNREACHABLE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
METRICS = pathlib.Path("/var/lib/node_exporter/cni.prom")


def test_a_page_its_data_and_metrics_are_written(node: EngineNode, project: Project) -> None:
    provisioned = _variables(project)
    project.run(PROVISION, **provisioned).succeeded()
    _flush_rules(node)
    ip("link", "set", "cni1", "down")
    project.inventory = str(
        project.write("hosts.yml", yaml.safe_dump({"all": {"hosts": {"node": {}, "unreachable": UNREACHABLE}}}))
    )
    page = project.path / "networks.html"
    asked = {"cni_node_report_path": page.name, "cni_node_metrics_path": str(METRICS), "cni_node_gc_min_age": 0}
    project.run(REPORT, "--check", **asked)
    assert (page.exists(), METRICS.exists()) == (False, False)
    table: list[str] = project.run(REPORT, **asked)["Show the report"].result["msg"]
    (row,) = [line for line in table if line.startswith("unreachable")]
    assert "not reached: " in row
    report = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    described, lost = report["nodes"]
    assert (described["name"], described["read"]) == ("node", True)
    assert (lost["name"], lost["read"], lost["problems"][0]["problem"]) == ("unreachable", False, "not read")
    assert "Connection refused" in lost["error"]
    assert described["summary"]["drifted"] == 2
    assert {pool["network"]: pool["taken"] for pool in described["pools"]} == {"mapped": 2}
    assert "cni1" in [link["name"] for link in described["links"]]
    assert [diagnosis["steps"][-1]["command"] for diagnosis in described["diagnoses"]] == ["ip link set cni1 up"] * 2
    text = page.read_text(encoding="utf-8")
    details = json.dumps(details_of(text))
    for words in ("bridge cni1", "8080->80/tcp", "the masquerade rule of 10.2.0.", "cni1 is down"):
        assert words in details
    for words in ("cni.node.repair --limit node", "not read: ", "Connection refused"):
        assert words in text
    assert 'cni_node_attachments_drifted{network="mapped",owner="cni.node"} 2\n' in METRICS.read_text(encoding="utf-8")
    project.run(REPORT, **asked)
    again = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert [problem["since"] for problem in again["nodes"][0]["problems"]] == [report["generated"]]


def test_a_loop_around_the_role_writes_each_page(node: EngineNode, project: Project) -> None:
    role = {"name": "cni.node.cni_node", "tasks_from": "report"}
    looped = {"loop": ["one", "two"], "vars": {"cni_node_report_path": "{{ item }}.html"}}
    project.play([{"ansible.builtin.include_role": role, **looped}], ignore_errors=False).succeeded()
    written = [path.name for path in project.path.iterdir() if path.stem in looped["loop"]]
    assert sorted(written) == ["one.html", "one.json", "two.html", "two.json"]


def test_the_table_of_a_failed_run_says_where_it_failed(project: Project) -> None:
    variables = {**_variables(project), "cni_node_plugins_source": "/nowhere.tgz"}
    table: list[str] = project.run(PROVISION, **variables)["Show the report"].result["msg"]
    assert table[1].split("  ")[-1].strip() == "failed at: plugins"


@pytest.mark.parametrize("path", ["report.txt", "/nowhere/report.html"])
def test_a_page_that_cannot_be_written_is_refused_before_nodes_are_read(project: Project, path: str) -> None:
    played = project.run(REPORT, cni_node_report_path=path)
    assert [task.name for task in played.tasks if task.status == "failed"] == ["Require a place for the page"]
    assert f"cni_node_report_path: {path}; expected: a file whose name ends in .html" in played.output
    assert [task for task in played.tasks if task.module.startswith("cni.node.")] == []
