# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values of args.cni reach the reference plugins: they are applied, checked, changed and removed."""

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import (
    RESTORES,
    boot,
    interface_addresses,
    item,
    make,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import reboot
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

MACS = ("02:00:00:00:05:01", "02:00:00:00:05:02")
LABELS = [{"key": "app", "value": "orders"}]
# The plugin that sets the MAC address.
CHAINS: dict[str, list[JsonObject]] = {
    "bridge": [reference_networks.bridge()],
    "tuning": [reference_networks.PTP, reference_networks.TUNING],
}


def _mac(namespace: Namespace) -> str:
    (link,) = json.loads(namespace.run("ip", "-json", "link", "show", "eth0").stdout)
    return str(link["address"])


@pytest.mark.parametrize("plugins", CHAINS.values(), ids=CHAINS)
def test_the_requested_address_and_mac_are_assigned(
    node: EngineNode, blue: Namespace, plugins: list[JsonObject]
) -> None:
    node.write(reference_networks.network(*plugins))
    network = plugins[0]["ipam"]["ranges"][0][0]["subnet"].rpartition(".0.")[0]
    desired, other = (
        attachment("net", blue, config_args={"ips": [f"{network}.0.{last}"], "mac": mac, "labels": LABELS})
        for last, mac in zip((77, 78), MACS)
    )
    before = node.attach_and_detach(desired)
    predicted = node.attach(desired, _ansible_check_mode=True)
    assert [entry["action"] for entry in node.attach(desired)] == [predicted[0]["action"]] == ["added"]
    assert f"{network}.0.77" in node.leases("net")
    assert _mac(blue) == MACS[0]
    assert [entry["action"] for entry in node.attach(desired)] == ["checked"]
    for options in ({"_ansible_check_mode": True}, {}):
        (entry,) = node.attach(other, **options)
        assert (entry["action"], entry["reason"]) == ("recreated", "its arguments for args.cni have changed")
    assert f"{network}.0.78" in node.leases("net")
    assert _mac(blue) == MACS[1]
    node.detach(other)
    assert before.difference(node.state()) == ""


def test_an_unavailable_address_is_an_error_and_the_attachment_is_rolled_back(
    node: EngineNode, blue: Namespace
) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    desired = attachment("net", blue, config_args={"ips": ["10.1.0.77"]})
    node.attach(desired)
    wrong = {**desired, "config_args": {"ips": ["10.9.0.77"]}}
    node.run("attachments", attachments=[wrong]).require_failure("10.9.0.77", "has been added again as it was before")
    assert node.leases("net") == ["10.1.0.77"]
    assert [entry["action"] for entry in node.attach(desired)] == ["checked"]


def test_undecodable_values_are_refused_before_any_plugin_runs(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    for options in ({}, {"_ansible_check_mode": True}):
        wrong = attachment("net", blue, config_args={"mac": 5577})
        error = node.refusal(wrong, "config_args: /mac: found a number", **options)
        assert "5577" not in error["text"]
    assert node.intents() == []


class TestReboot:
    pytestmark = list(RESTORES)

    def test_the_requested_address_is_assigned_again_after_a_reboot(self, restorable: EngineNode) -> None:
        node = restorable
        node.write(reference_networks.network(reference_networks.bridge()))
        make(node, "blue")
        desired = item(config_args={"ips": ["10.1.0.77"], "mac": MACS[0]})
        node.attach(desired)
        with reboot():
            assert boot() == "recreated: the attachment of blue (eth0) to network net, 10.1.0.77\n"
            assert interface_addresses("blue") == ["10.1.0.77/16"]
            assert _mac(Namespace("blue")) == MACS[0]
            assert node.attach(desired)[0]["action"] == "checked"
