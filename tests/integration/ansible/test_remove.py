# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook remove removes the bridges, chains and tables that only the removed networks used, and nothing else."""

from __future__ import annotations

import json
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

PROVISION, REMOVE = "cni.node.provision", "cni.node.remove"
COLLECT = "Remove leaks"
# Tables in which the plugins have rules; the operator's rule in each makes iptables create them first.
HOOKS = (("nat", "PREROUTING"), ("nat", "INPUT"), ("nat", "OUTPUT"), ("nat", "POSTROUTING"), ("filter", "FORWARD"))
FIREWALL: JsonObject = {**reference_networks.FIREWALL, "ingressPolicy": "same-bridge"}
PORTS: JsonObject = {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}


def variables(*plugins: JsonObject, **keys: t.Any) -> JsonObject:
    both = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64", routes=reference_networks.DEFAULT_ROUTES)
    given = plugins or (reference_networks.bridge(ipMasq=True, ipam=both), reference_networks.PORTMAP, FIREWALL)
    return {
        "cni_node_concerns": "networks\nattachments",
        "cni_node_conflists": [{"config": reference_networks.network(*given, version="0.4.0")}],
        "cni_node_attachments": [
            {"network": "net", "netns": "blue", "capability_args": PORTS},
            {"network": "net", "netns": "red"},
        ],
        "cni_node_verify": False,
        **keys,
    }


def operator_rules() -> None:
    """Add an operator's rule to each hook, in both families."""
    for tool in ("iptables", "ip6tables"):
        for table, chain in HOOKS:
            rule = ["-A", chain, "-m", "comment", "--comment", "the operator's", "-j", "ACCEPT"]
            subprocess.run([tool, "-t", table, *rule], check=True)


def firewall(*command: str) -> list[str]:
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in text.splitlines() if not line.startswith("#")]


def links_and_rules() -> JsonObject:
    shown = subprocess.run(["ip", "-j", "link"], check=True, capture_output=True, text=True).stdout
    return {
        "links": json.loads(shown),
        "iptables": firewall("iptables-save"),
        "ip6tables": firewall("ip6tables-save"),
        "nft": firewall("nft", "-s", "list", "ruleset"),
    }


def test_remove_keeps_the_links_and_rules_that_existed_before(node: EngineNode, project: Project) -> None:
    operator_rules()
    before = links_and_rules()
    given = variables()
    project.run(PROVISION, **given).succeeded()
    assert links_and_rules() != before
    predicted = project.run(REMOVE, "--check", "--diff", **given).succeeded()
    assert all(task.require_unchanged_node() for task in predicted.tasks)
    removed = project.run(REMOVE, "--diff", **given).succeeded()
    assert links_and_rules() == before
    assert removed[COLLECT].plan() == predicted[COLLECT].plan()
    again = project.run(REMOVE, **given).succeeded()
    assert not any(task.changed for task in again.tasks)
    assert again[COLLECT].result["findings"] == []


def test_a_bridge_of_another_network_stays(node: EngineNode, project: Project) -> None:
    given = variables()
    project.run(PROVISION, **given).succeeded()
    path = node.write(
        reference_networks.network(reference_networks.bridge(), reference_networks.PORTMAP, name="theirs"),
        "20-theirs.conflist",
    )
    predicted = project.run(REMOVE, "--check", **given).succeeded()
    removed = project.run(REMOVE, **given).succeeded()
    assert removed[COLLECT].plan() == predicted[COLLECT].plan()
    findings = {finding["subject"]: finding for finding in removed[COLLECT].result["findings"]}
    assert (findings["cni0"]["kind"], findings["cni0"]["action"]) == ("bridge", "kept")
    assert f"cni0: the removed network net named it, but {path} has cni0" in removed["Show the evidence"].result["msg"]
    assert "cni0" in {link["ifname"] for link in links_and_rules()["links"]}
    assert "CNI-HOSTPORT-DNAT" in " ".join(links_and_rules()["iptables"])
    assert "CNI-FORWARD" not in " ".join(links_and_rules()["iptables"])


def test_a_removal_that_fails_later_has_removed_what_the_networks_left(node: EngineNode, project: Project) -> None:
    operator_rules()
    before = links_and_rules()
    project.run(PROVISION, **variables()).succeeded()
    saved = node.cache_dir / "cni.node" / "kernel.json"
    saved.write_bytes(b"")
    failed = project.run(REMOVE, **variables(cni_node_concerns=["kernel", "networks", "attachments"]))
    failed["Prepare the kernel"].require_failure(f"{saved} is damaged (")
    assert links_and_rules() == before


def test_a_second_removal_finishes_one_that_was_killed_before_it_collected(node: EngineNode, project: Project) -> None:
    operator_rules()
    before = links_and_rules()
    given = variables()
    project.run(PROVISION, **given).succeeded()
    node.run("attachments", attachments=[], purge=True).succeeded()
    node.run("conflists", conflists=[], purge=True).succeeded()
    assert links_and_rules() != before
    predicted = project.run(REMOVE, "--check", "--diff", **given).succeeded()
    removed = project.run(REMOVE, "--diff", **given).succeeded()
    assert links_and_rules() == before
    assert removed[COLLECT].plan() == predicted[COLLECT].plan()
    again = project.run(REMOVE, **given).succeeded()
    assert not any(task.changed for task in again.tasks)
