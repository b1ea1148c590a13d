# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service repairs what firewalld removes when it reloads, starts or stops."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.cni.node.tests.integration.engine import firewalld_node, reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import NETWORK, map_port, rules
from ansible_collections.cni.node.tests.integration.engine.firewalld_node import firewall_cmd, firewalld
from ansible_collections.cni.node.tests.integration.engine.watcher import STATE, watch
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [
    pytest.mark.requires_root,
    pytest.mark.requires_plugins,
    pytest.mark.skipif(bool(firewalld_node.find_missing_program()), reason=firewalld_node.find_missing_program()),
]


def cni_rules() -> set[str]:
    return {line for line in rules().splitlines() if "CNI" in line}


def test_rules_return_when_firewalld_starts_reloads_and_stops(node: EngineNode, blue: Namespace) -> None:
    node.write(NETWORK)
    node.attach(map_port(blue))
    before = cni_rules()
    with watch() as watcher:
        watcher.await_idle()
        with firewalld("iptables", trusted="10.1.0.0/16"):
            watcher.await_line("repaired: ", "removed by ")
            watcher.await_idle()
            assert cni_rules() == before
            firewall_cmd("--reload")
            watcher.await_line("repaired: ", "removed by ")
            watcher.await_idle()
            assert cni_rules() == before
        watcher.await_line("repaired: ")
        watcher.await_idle()
        assert cni_rules() == before
        assert not [line for line in watcher.lines if line.startswith("failed")]


def test_addresses_return_to_the_zones_of_firewalld_after_a_reload(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "firewall"}))
    with firewalld("nftables"):
        node.attach(attachment("net", blue))
        assert "10.1.0.2" in _list_trusted()
        with watch() as watcher:
            watcher.await_idle()
            firewall_cmd("--reload")
            watcher.await_line("repaired: ", "10.1.0.2")
            until(lambda: "10.1.0.2" in _list_trusted() or None, 20)
            watcher.await_idle()
            assert json.loads(STATE.read_text(encoding="utf-8"))["counts"]["net"]["cni.node"] == 1


def _list_trusted() -> str:
    command = ["firewall-cmd", "--zone=trusted", "--list-sources"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
