# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attachments of built-in plugins and of executables are the same to each other: checked, repaired, deleted."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.tests.integration.builtin.networks import (
    BUILT_IN_CASES,
    CASES,
    GATEWAYS,
    Case,
    as_set,
    complete_state,
    parameters,
    ping,
    prepare,
    require_check,
    run_damage,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.support.state import State

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]


@pytest.fixture(autouse=True)
def uplink(node: EngineNode) -> t.Iterator[None]:
    """Give the node a link with the name of the container's interface, as most nodes have one."""
    subprocess.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "uplink"], check=True)
    yield
    subprocess.run(["ip", "link", "delete", "eth0"], check=True)


def state_after_executables(node: EngineNode, there: Engine, blue: Namespace, item: JsonObject) -> State:
    """Return the state that executables leave after ADD and DEL: a bridge, empty chains and settings stay by design."""
    there.add(item)
    there.delete(item)
    return complete_state(node, blue)


def repair_each_damage(
    node: EngineNode, here: Engine, blue: Namespace, case: Case, item: JsonObject, result: JsonObject
) -> None:
    """Damage the attachment; require that a repair returns everything and makes no other interface."""
    index = blue.links()[item["ifname"]]["ifindex"]
    attached = as_set(complete_state(node, blue))
    for command in case.sampled_damage():
        run_damage(command, result, blue)
        action, changed, reason = require_success(here.ensure(item))
        assert (action, changed) == ("repaired", True), f"{command}: {reason}"
        assert attached.difference(as_set(complete_state(node, blue))) == "", command
        assert blue.links()[item["ifname"]]["ifindex"] == index, command
        ping(blue, case)
        require_check(here, item)


@pytest.mark.parametrize("case", parameters(CASES, 0))
def test_executables_check_and_delete_attachments_of_the_engine(
    node: EngineNode, here: Engine, there: Engine, blue: Namespace, case: Case
) -> None:
    item = prepare(node, blue, case)
    before = state_after_executables(node, there, blue, item)
    here.add(item)
    assert here.record(item).builtin
    require_check(there, item)
    require_check(here, item)
    ping(blue, case)
    there.delete(item)
    assert before.difference(complete_state(node, blue)) == ""


@pytest.mark.parametrize("case", parameters(CASES, 1))
def test_the_engine_checks_repairs_and_deletes_attachments_of_executables(
    node: EngineNode, here: Engine, there: Engine, blue: Namespace, case: Case
) -> None:
    item = prepare(node, blue, case)
    before = state_after_executables(node, there, blue, item)
    result = there.add(item)
    assert not there.record(item).builtin
    require_check(here, item)
    repair_each_damage(node, here, blue, case, item, result)
    require_check(there, item)
    here.delete(item)
    assert as_set(before).difference(as_set(complete_state(node, blue))) == ""


@pytest.mark.parametrize("case", parameters(BUILT_IN_CASES, 0))
def test_built_in_plugins_repair_and_delete_what_executables_do_not_support(
    node: EngineNode, here: Engine, blue: Namespace, case: Case
) -> None:
    item = prepare(node, blue, case)
    here.add(item)
    here.delete(item)
    before = complete_state(node, blue)
    result = here.add(item)
    require_check(here, item)
    ping(blue, case)
    repair_each_damage(node, here, blue, case, item, result)
    here.delete(item)
    assert as_set(before).difference(as_set(complete_state(node, blue))) == ""


@pytest.mark.other_kernel
def test_verify_reaches_the_gateways_of_a_network_in_a_vrf(node: EngineNode, blue: Namespace) -> None:
    prepare(node, blue, BUILT_IN_CASES["vrf with routes"])
    (tried,) = node.run("verify", networks=["net"], builtin="always").succeeded().result["networks"]
    assert {gateway["address"]: gateway["answered"] for gateway in tried["gateways"]} == dict.fromkeys(GATEWAYS, True)


@pytest.mark.other_kernel
def test_two_containers_may_make_the_gateway_of_a_vlan_at_the_same_time(
    node: EngineNode, here: Engine, blue: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(node, blue, CASES["bridge in a VLAN"])
    here.add(attachment("net", blue))
    found, missed = rtnetlink.link, {"cni0.97"}

    def miss_once(name: str, *netns: str) -> Link | None:
        if name not in missed:
            return found(name, *netns)
        missed.remove(name)
        return None

    monkeypatch.setattr(rtnetlink, "link", miss_once)
    with namespace("green") as green:
        here.add(attachment("net", green))
        assert missed == set()
        green.run("ping", "-c1", "-W5", GATEWAYS[0])


def test_gc_finishes_a_delete_that_executables_would_refuse(node: EngineNode, here: Engine, blue: Namespace) -> None:
    firewall = {"type": "firewall", "backend": "iptables", "ingressPolicy": "isolated"}
    node.write(reference_networks.network(reference_networks.bridge(), firewall))
    item = attachment("net", blue)
    here.add(item)
    # As in release 1.1.0, before the policy was known.
    refusal = ScriptedAnswer(error={"code": 999, "msg": 'unknown ingress policy: "isolated"'})
    node.plugins.write("firewall", DEL=refusal)
    interrupted = here.record(item)._replace(command="DEL")
    here.runtime.intents.write(interrupted)
    collected = node.run("gc", builtin="missing").succeeded()
    assert (node.intents(), node.leases("net"), node.plugins.calls()) == ([], [], []), collected.result
