# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Masquerade rules that DEL leaves are removed after it, whatever else the firewall has."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    remove,
    require_success,
    wait_for_result,
)
from ansible_collections.cni.node.tests.support.namespaces import namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

FOREIGN = (["-m", "comment", "--comment", "two\nlines \"' \\"], ["-o", "it's"], ["-o", 'an"inch'], ["-o", '"'])


def _nat() -> str:
    return subprocess.run(["iptables-save", "-t", "nat"], check=True, capture_output=True, text=True).stdout


def test_foreign_rules_do_not_stop_the_removal(node: EngineNode, engine: Engine) -> None:
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True)))
    for words in FOREIGN:
        subprocess.run(["iptables", "-t", "nat", "-A", "POSTROUTING", *words, "-j", "ACCEPT"], check=True)
    with namespace("lost") as lost:
        item = attachment("net", lost)
        assert require_success(engine.ensure(item, check="drift"))[0] == "added"
        assert require_success(engine.ensure(item, check="drift"))[0] == "checked"
        remove(lost)
        assert 'id: \\"lost\\"' in _nat()
        assert require_success(engine.ensure(item, present=False))[0] == "removed"
    assert ("lost" in _nat(), _nat().count("-j ACCEPT")) == (False, len(FOREIGN))


def test_an_add_that_fails_with_its_namespace_removed_leaves_no_rule(node: EngineNode) -> None:
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True), {"type": "stall"}))
    with namespace("lost") as lost, node.plugins.gate() as gate:
        node.plugins.write("stall", ADD=ScriptedAnswer(hold=gate, error={"code": 100, "msg": "no"}))
        running = node.start("attachments", attachments=[attachment("net", lost)])
        node.plugins.wait_for_held(1)
        assert 'id: \\"lost\\"' in _nat()
        remove(lost, wait=False)  # the run has entered it and may still be there
    wait_for_result(running).require_failure("plugin stall failed (ADD): no", "nothing is left behind")
    assert "lost" not in _nat()


def test_deleting_one_of_two_interfaces_with_a_shared_chain_keeps_the_other_masqueraded(
    node: EngineNode, engine: Engine
) -> None:
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True)))
    with namespace("red") as red:
        stays, goes = attachment("net", red), attachment("net", red, ifname="eth1")
        node.attach(stays, goes)
        whole = [line for line in _nat().splitlines() if "POSTROUTING" not in line and "-j" in line]
        removed, mended = node.attach({**goes, "state": "absent"}, stays)
        assert (removed["action"], mended["action"]) == ("removed", "repaired")
        assert [line for line in _nat().splitlines() if "POSTROUTING" not in line and "-j" in line] == whole
        assert [entry["action"] for entry in node.attach({**goes, "state": "absent"}, stays)] == [
            "unchanged",
            "checked",
        ]
        node.attach(stays, goes)
        assert [entry["action"] for entry in node.detach(stays, goes)] == ["removed", "removed"]
    assert "red" not in _nat()
