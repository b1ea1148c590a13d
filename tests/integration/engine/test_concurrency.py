# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several processes on the same attachments: each is added once, and a container has one writer at a time."""

from __future__ import annotations

import contextlib
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    wait_for_result,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespaces
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

SLOW = {"type": "slow"}


def test_one_of_several_processes_adds_and_the_others_check(node: EngineNode, blue: Namespace) -> None:
    node.plugins.write("slow")
    node.write(reference_networks.network(reference_networks.bridge(), SLOW))
    item = attachment("net", blue)
    running = [node.start("attachments", attachments=[item]) for dummy in range(4)]
    entries = [wait_for_result(process).succeeded().entries[0] for process in running]
    assert sorted(entry["action"] for entry in entries) == ["added", "checked", "checked", "checked"]
    assert len({str(entry["result"]) for entry in entries}) == 1
    assert len(node.plugins.calls("slow", "ADD")) == 1
    assert len(node.leases("net")) == 1


def test_two_processes_with_the_same_list_share_the_work(node: EngineNode, engine: Engine) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    with namespaces(*(f"n{number}" for number in range(8))) as made:
        items = [attachment("net", container) for container in made]
        before = node.attach_and_detach(items[0])
        running = [node.start("attachments", attachments=items) for items in (items, items[::-1])]
        first, second = (wait_for_result(process).succeeded().entries for process in running)
        for entry, other in zip(first, second[::-1]):
            assert {entry["action"], other["action"]} == {"added", "checked"}
            assert entry["result"] == other["result"]
        assert len(node.leases("net")) == len(items)
        running = [
            node.start("attachments", attachments=[{**item, "state": "absent"} for item in items]) for dummy in range(2)
        ]
        first, second = (wait_for_result(process).succeeded().entries for process in running)
        for entry, other in zip(first, second):
            assert {entry["action"], other["action"]} == {"removed", "unchanged"}
        assert before.difference(node.state()) == ""


def test_a_container_in_use_is_waited_for_until_the_timeout(node: EngineNode, blue: Namespace) -> None:
    with node.plugins.gate() as gate:
        node.plugins.write("slow", ADD=ScriptedAnswer(hold=gate))
        node.write(reference_networks.network(reference_networks.bridge(), SLOW))
        node.write(reference_networks.network(reference_networks.bridge(), name="other"))
        item = attachment("net", blue)
        first = node.start("attachments", attachments=[item])
        node.plugins.wait_for_held(1)
        for network in ("net", "other"):
            same = {**item, "network": network, "ifname": "eth1" if network == "other" else "eth0"}
            done = node.run("attachments", attachments=[same], timeout=0.2)
            done.require_failure(
                "container blue is in use by another process; waited 0.2 s", "the lock is /var/lib/cni/"
            )
            assert done.entries[0]["error"]["code"] == 11
    assert wait_for_result(first).succeeded().entries[0]["action"] == "added"
    assert len(node.plugins.calls("slow", "ADD")) == 1
    assert node.attach(item)[0]["action"] == "checked"


def test_an_attachment_as_desired_is_checked_while_its_container_is_in_use(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), reference_networks.PORTMAP))
    mappings = [{"hostPort": 8081, "containerPort": 80, "protocol": "tcp"}]
    item = attachment("net", blue, capability_args={"portMappings": mappings})
    options = {"attachments": [item], "builtin": "always", "timeout": 0.2}
    node.run("attachments", **options).succeeded()
    with Engine(node).runtime.exclusion.lock_attachment(Attachment(**item)):
        for check in ("always", "drift"):
            assert node.run("attachments", check=check, **options).succeeded().entries[0]["action"] == "checked"
        blue.run("ip", "link", "set", "eth0", "down")
        node.run("attachments", on_drift="fail", **options).require_failure("container blue is in use")
    node.run("attachments", on_drift="fail", **options).require_failure("interface eth0 is down")


def test_other_containers_are_not_blocked(node: EngineNode) -> None:
    """Hold all calls at the same time: none waits for another, in one process or in two."""
    with namespaces("n1", "n2", "n3", "n4") as made, contextlib.ExitStack() as release:
        node.plugins.write("slow", ADD=ScriptedAnswer(hold=release.enter_context(node.plugins.gate())))
        node.write(reference_networks.network(reference_networks.bridge(), SLOW))
        items = [attachment("net", container) for container in made]
        running = [node.start("attachments", attachments=some, workers=2) for some in (items[:2], items[2:])]
        node.plugins.wait_for_held(4)
        release.close()
        for process in running:
            assert [entry["action"] for entry in wait_for_result(process).succeeded().entries] == ["added", "added"]


def test_one_container_never_has_two_plugins_at_once(node: EngineNode, blue: Namespace) -> None:
    node.plugins.write("slow")
    for name, link in (("net", "cni0"), ("other", "cni1")):
        ipam = reference_networks.host_local(f"10.{link[-1]}.0.0/16")
        node.write(
            reference_networks.network(SLOW_FIRST, reference_networks.bridge(bridge=link, ipam=ipam), SLOW, name=name)
        )
    node.plugins.write("slow-first", ADD=ScriptedAnswer(result={}))
    items = [attachment("net", blue), attachment("other", blue, ifname="eth1")]
    assert [entry["action"] for entry in node.attach(*items, workers=8)] == ["added", "added"]
    spans = sorted(
        (call.started, call.ended or 0.0, call.env["CNI_IFNAME"]) for call in node.plugins.calls(command="ADD")
    )
    assert [ifname for dummy, dummy2, ifname in spans] in (
        ["eth0", "eth0", "eth1", "eth1"],
        ["eth1", "eth1", "eth0", "eth0"],
    )


SLOW_FIRST = {"type": "slow-first"}


def test_a_namespace_is_created_and_removed_by_one_of_several_processes(node: EngineNode) -> None:
    names = [f"n{number}" for number in range(40)]
    for state in ("present", "absent"):
        running = [node.start("netns", names=names, state=state) for dummy in range(3)]
        changed = [name for process in running for name in wait_for_result(process).succeeded().result["changed_names"]]
        assert sorted(changed) == sorted(names)
        mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").split()
        is_present = state == "present"
        assert [mounts.count(f"/run/netns/{name}") for name in names] == [int(is_present)] * len(names)
