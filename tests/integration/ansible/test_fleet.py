# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes on one LAN never allocate the same address: overlaps are refused before any node is changed."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import (
    PROVISION,
    REMOVE,
    UNMANAGED,
    VERIFY,
    _own,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import ip

NODES = ("one", "two", "three")
UNREACHABLE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
ASSIGNED = "cni_node_subnets.json"
CUT = (
    "{{ ('192.168.77.0/24' | cni.node.node_subnets(groups['all'], 28, shared=true, reserved=['192.168.77.1-192.168.77.99'],"
    f" file=inventory_dir ~ '/{ASSIGNED}', save=not ansible_check_mode))[inventory_hostname] }}}}"
)


def _network(ipam: object) -> JsonObject:
    ranges = {"type": "host-local", "ranges": [[ipam]]}
    plugin = {"type": "macvlan", "master": "lan0", "mode": "bridge", "ipam": ranges}
    return {"config": {"cniVersion": "1.0.0", "name": "lan", "plugins": [plugin]}}


def _lan(project: Project, ipam: object, **hosts: JsonObject) -> JsonObject:
    """Write an inventory of three nodes on one LAN, and return the extra variables."""
    ip("link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
    ip("link", "set", "lan1", "up")
    ip("link", "set", "lan0", "up")
    variables = {
        "cni_node_conflists": [_network(ipam)],
        "cni_node_attachments": [{"network": "lan", "netns": "{{ inventory_hostname }}"}],
    }
    listed = {"all": {"hosts": {name: hosts.get(name, {}) for name in NODES}, "vars": variables}}
    project.inventory = str(project.write("inventory/hosts.yml", yaml.safe_dump(listed)))
    return {**UNMANAGED, "cni_node_verify": False}


def _require_one_refusal(played: PlaybookRun) -> str:
    assert played.status != 0
    assert _own(played) == [], played.output
    assert played.output.count("fatal: [") == 1, played.output
    assert "PLAY RECAP" in played.output
    return played["Check the variables and the addresses of all nodes"].require_failure("node-subnets-collide")


@pytest.mark.parametrize("playbook", [PROVISION, VERIFY])
@pytest.mark.parametrize("options", [[], ["--limit", "two"], ["-e", "cni_node_serial=1"], ["--check"]], ids=str)
def test_shared_addresses_are_refused_before_any_node_is_changed(
    project: Project, playbook: str, options: list[str]
) -> None:
    variables = _lan(project, {"subnet": "192.168.77.0/24"})
    message = _require_one_refusal(project.run(playbook, *options, **variables))
    assert message.count("node-subnets-collide") == 1
    assert "192.168.77.1 to 192.168.77.254 of the network 'lan' is on 3 nodes: one, three and two (" in message


def _condition(project: Project, tasks_from: str = "main", first: str = "one") -> str:
    """Write a playbook that imports the role with a condition that is false for the first node, and return its path."""
    role = {"name": "cni.node.cni_node", "tasks_from": tasks_from}
    tasks = [{"name": "Import", "ansible.builtin.import_role": role, "when": f"inventory_hostname != '{first}'"}]
    play = {"hosts": "all", "gather_facts": False, "tasks": tasks}
    return str(project.write("condition.yml", yaml.safe_dump([play], sort_keys=False)))


@pytest.mark.parametrize("tasks_from", ["main", "compare", "preflight"])
def test_shared_addresses_are_refused_if_a_condition_excludes_the_first_node(project: Project, tasks_from: str) -> None:
    variables = _lan(project, {"subnet": "192.168.77.0/24"})
    played = project.run(_condition(project, tasks_from), **variables)
    assert [step.status for step in _own(played)] == ["failed", "failed"], played.output
    assert [step.msg.count("node-subnets-collide") for step in _own(played)] == [1, 1]
    assert all(step.require_unchanged_node() for step in played.tasks)


@pytest.mark.parametrize("tasks_from", ["main", "remove"])
def test_variables_are_checked_if_a_condition_excludes_the_first_node(project: Project, tasks_from: str) -> None:
    project.inventory = "one,two,"
    given = {"cni_node_concerns": "network\nplugins", "cni_node_confirm": "yes"}
    (failed,) = _own(project.run(_condition(project, tasks_from), **given))
    failed.require_failure("cni_node_concerns: unknown: network; expected: ")


def test_remove_needs_a_confirmation_if_a_condition_excludes_the_first_node(project: Project) -> None:
    project.inventory = ",".join(NODES)
    refused = project.run(_condition(project, "remove"), **UNMANAGED)
    failed = [step for step in refused.tasks if step.status == "failed"]
    assert len(failed) == 2, refused.output
    failed[0].require_failure("cni_node_confirm: this would remove container networks from 3 nodes")
    assert _own(refused) == []


def test_remove_works_on_nodes_with_shared_addresses_if_a_condition_excludes_the_first_node(project: Project) -> None:
    variables = _lan(project, {"subnet": "192.168.77.0/24"})
    given = {**variables, "cni_node_confirm": True}
    project.run(_condition(project, "remove"), "--limit", "one,two", **given).succeeded()


def test_remove_works_on_nodes_that_share_addresses(project: Project) -> None:
    variables = _lan(project, {"subnet": "192.168.77.0/24"})
    project.run(REMOVE, **variables, cni_node_confirm=True, cni_node_serial=1).succeeded()


def test_the_addresses_of_a_node_out_of_reach_are_compared(project: Project) -> None:
    variables = _lan(project, {"subnet": "192.168.77.0/24"}, three=UNREACHABLE)
    _require_one_refusal(project.run(PROVISION, **variables))


@pytest.mark.parametrize("playbook", [PROVISION, VERIFY, "cni.node.preflight"])
def test_the_pattern_of_nodes_may_be_a_list(project: Project, playbook: str) -> None:
    variables = _lan(project, {"subnet": "192.168.77.0/24"})
    refused = project.run(playbook, "--limit", "two", **variables, cni_node_hosts=["three", "two"])
    assert " of the network 'lan' is on 2 nodes: three and two (" in _require_one_refusal(refused)


def test_a_variable_that_cannot_be_evaluated_is_named_and_does_not_fail_the_play(project: Project) -> None:
    later = {"cni_node_conflists": [_network({"subnet": "{{ ansible_facts['lan'] }}"})]}
    variables = _lan(project, {"subnet": "192.168.77.0/24", "rangeStart": "192.168.77.9"}, two=later, three=later)
    played = project.run(PROVISION, "--check", "--limit", "one", **variables).succeeded()
    (first, second) = played["Check the variables and the addresses of all nodes"].result["msg"]
    assert first.startswith("three: its networks were not compared with those of other hosts: cni_node_conflists: ")
    assert second.startswith("two: ")


def test_three_nodes_on_a_lan_allocate_distinct_addresses(node: EngineNode, project: Project) -> None:
    variables = _lan(project, CUT)
    kept = project.path / "inventory" / ASSIGNED
    project.run(PROVISION, "--check", **variables).succeeded()
    assert not kept.exists()
    leases = pathlib.Path("/var/lib/cni/networks")
    given = []
    for name in NODES:
        played = project.run(PROVISION, "--limit", name, **variables).succeeded()
        (entry,) = played["Attach the network namespaces"].entries
        given.append(entry["result"]["ips"][0]["address"])
        project.run(VERIFY, "--limit", name, **variables, cni_node_gateway_timeout=0).succeeded()
        # Nodes do not know each other's leases.
        shutil.rmtree(leases)
    assert len(set(given)) == len(NODES), given
    (assigned,) = json.loads(kept.read_text(encoding="utf-8")).values()
    assert set(assigned) == set(NODES)
    assert node.conf_dir.exists()
