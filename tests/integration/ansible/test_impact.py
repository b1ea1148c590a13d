# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode says which containers a run interrupts, and the run does what check mode said."""

from __future__ import annotations

import socket
import typing as t

from ansible_collections.cni.node.plugins.filter.fleet_impact import fleet_impact
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import (
    PROVISION,
    REMOVE,
    TWO,
    UPGRADE,
    _release,
    _remove_directories,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip

NODE = "one"
SHOWN, REQUIRED = "Show the impact", "Require that no container would be interrupted"
CHANGED = "the network's configuration has changed"
PORTS: t.Final[JsonObject] = {"capability_args": {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}}


def ptp(number: int, *others: JsonObject, **keys: t.Any) -> list[JsonObject]:
    ipam = reference_networks.host_local(f"10.{number}.0.0/16")
    return [{"type": "ptp", "ipam": ipam, **keys}, *others]


class Change(t.NamedTuple):
    """A change of one network and of the container of the same name.

    Attributes:
        before, after: The plugins of the network; None if the variables do not list it.
        action, reason: What happens to the container, and the first reason; both are empty if nothing happens.
        interrupts: The address and the ports that are interrupted, or None.
        item_before, item_after: Keys of the attachment.
    """

    before: list[JsonObject] | None
    after: list[JsonObject] | None
    action: str = ""
    reason: str = ""
    interrupts: JsonObject | None = None
    item_before: JsonObject = {}
    item_after: JsonObject = {}


def lost(number: int, *ports: str) -> JsonObject:
    return {"addresses": [f"10.{number}.0.2"], "ports": list(ports)}


CORPUS = {
    "range": Change(ptp(20), ptp(21), "recreated", CHANGED, lost(20)),
    "mtu": Change(ptp(22), ptp(22, mtu=1400), "recreated", CHANGED, lost(22)),
    "chain": Change(ptp(23), ptp(23, {"type": "tuning", "mtu": 1400}), "recreated", CHANGED, lost(23)),
    "mapped": Change(
        ptp(24, reference_networks.PORTMAP),
        ptp(24, reference_networks.PORTMAP, mtu=1400),
        "recreated",
        CHANGED,
        lost(24, "8080->80/tcp"),
        PORTS,
        PORTS,
    ),
    "port": Change(
        ptp(25, reference_networks.PORTMAP),
        ptp(25, reference_networks.PORTMAP),
        "recreated",
        "its capability arguments have changed",
        lost(25),
        item_after={"capability_args": {"portMappings": [{"hostPort": 8081, "containerPort": 80}]}},
    ),
    "removed": Change(ptp(26), None, "removed", "", lost(26)),
    "absent": Change(ptp(27), ptp(27), "removed", "", lost(27), item_after={"state": "absent"}),
    "same": Change(ptp(28), ptp(28)),
    "new": Change(None, ptp(29), "added", ""),
    # These lose something between the two runs.
    "lost": Change(ptp(30), ptp(30), "recreated", "its network namespace has been replaced"),
    "cut": Change(ptp(31), ptp(31), "recreated", "interface eth0 is gone", lost(31)),
    "bare": Change(ptp(32), ptp(32), "repaired", "address 10.32.0.2/16 is missing"),
}
INTERRUPTED = sorted(name for name, change in CORPUS.items() if change.interrupts)


def variables(which: t.Literal["before", "after"]) -> JsonObject:
    listed = {name: change._asdict() for name, change in CORPUS.items() if getattr(change, which) is not None}
    networks = {name: reference_networks.network(*keys[which], name=name) for name, keys in listed.items()}
    return {
        "cni_node_conflists": [{"config": network} for network in networks.values()],
        "cni_node_attachments": [
            {"network": name, "netns": name, **keys[f"item_{which}"]} for name, keys in listed.items()
        ],
        "cni_node_concerns": ["plugins", "networks", "attachments"],
        "cni_node_purge": True,
        "cni_node_verify": False,
    }


def list_predicted_rows(played: PlaybookRun) -> list[JsonObject]:
    """Return the rows of the first node that a run in check mode passes on as data."""
    rows = played["Return the impact as data"].result["ansible_stats"]["data"]["cni_impact"]
    return [row for row in rows if row["node"] == NODE]


def list_done_rows(played: PlaybookRun) -> list[JsonObject]:
    """Return the rows of what the module has done."""
    results = [task.result for task in played.tasks if task.module == "cni.node.attachments"]
    return [row for result in results for row in fleet_impact({NODE: {"done": result}}, [NODE], "done")["rows"]]


def test_a_run_interrupts_the_attachments_that_check_mode_names(node: EngineNode, project: Project) -> None:
    _remove_directories(node)
    release, later = _release(project, "1.0.1"), _release(project, "1.0.2")
    project.inventory = f"{NODE},"
    project.run(PROVISION, **variables("before"), **release).succeeded()
    ip("netns", "delete", "lost")
    Namespace("cut").run("ip", "link", "delete", "eth0")
    Namespace("bare").run("ip", "address", "flush", "dev", "eth0")
    after = {**variables("after"), "cni_node_fail_on_impact": "true"}

    project.inventory = TWO
    predicted = project.run(PROVISION, "--check", **after, **release, cni_node_serial=1)
    assert predicted.status == 2, predicted.output
    rows = list_predicted_rows(predicted)
    assert {row["container_id"]: (row["action"], row["interrupts"]) for row in rows} == {
        name: (change.action, change.interrupts) for name, change in CORPUS.items() if change.action
    }
    for row in rows:
        assert row["reason"].partition(";")[0] == CORPUS[row["container_id"]].reason
    table = predicted[SHOWN].result["msg"]
    assert len(table) == 1 + 2 * len(rows) + 2
    summary = f"{2 * len(INTERRUPTED)} containers on 2 nodes: one, two"
    assert table[-1] == f"interrupted: {summary}"
    assert predicted[REQUIRED].require_failure() == f"cni_node_fail_on_impact: this would interrupt {summary}"
    assert predicted.output.index(table[0]) < predicted.output.index("cni_node_fail_on_impact: ")

    project.inventory = f"{NODE},"
    with socket.create_server(("", 0)) as server:
        in_use = [{"hostPort": server.getsockname()[1], "containerPort": 80}]
        clash = {"network": "mapped", "netns": "clash", "capability_args": {"portMappings": in_use}}
        items = [*after["cni_node_attachments"], clash]
        refused = project.run(
            PROVISION, "--check", **{**after, "cni_node_attachments": items, "cni_node_no_log": "yes"}, **release
        )
    hidden = list_predicted_rows(refused)
    others = [row for row in hidden if row["container_id"] != "clash"]
    assert others == [{**row, "reason": ""} for row in rows]
    assert [(row["action"], row["reason"]) for row in hidden if row not in others] == [("failed", "")]

    assert list_done_rows(project.run(PROVISION, **after, **release).succeeded()) == rows

    predicted = project.run(UPGRADE, "--check", **after, **later).succeeded()
    assert predicted[SHOWN].result["msg"] == ["interrupted: no container"]
    assert list_predicted_rows(predicted) == list_done_rows(project.run(UPGRADE, **after, **later).succeeded()) == []

    predicted = project.run(REMOVE, "--check", **{**after, "cni_node_fail_on_impact": ""}).succeeded()
    rows = list_predicted_rows(predicted)
    assert {row["action"] for row in rows} == {"removed"}
    assert all(row["interrupts"] for row in rows)
    assert list_done_rows(project.run(REMOVE, **after).succeeded()) == rows
