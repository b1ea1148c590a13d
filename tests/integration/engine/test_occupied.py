# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An existing interface stays unchanged: a DEL after the failed ADD would remove it."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment, replace
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    node.write(reference_networks.network(reference_networks.bridge()))
    node.write({**reference_networks.network(reference_networks.bridge(bridge="cni8")), "name": "other"})
    return attachment("net", blue)


def test_an_interface_of_another_network_stays(node: EngineNode, item: JsonObject) -> None:
    node.attach(item)
    before = node.state()
    error = node.refusal(
        {**item, "network": "other"}, "its interface belongs to the attachment of blue (eth0) to network net"
    )
    assert error["code"] == 4
    assert before.difference(node.state()) == ""
    assert node.attach(item)[0]["action"] == "checked"


def test_an_attachment_of_a_lost_namespace_keeps_an_interface_of_the_new_one(
    node: EngineNode, blue: Namespace, item: JsonObject
) -> None:
    node.attach(item)
    replace(blue)
    other = {**item, "network": "other"}
    node.attach(other)
    before = node.state()
    node.refusal(item, "its interface belongs to the attachment of blue (eth0) to network other")
    assert before.difference(node.state()) == ""
    node.detach(other)
    subprocess.run(["ip", "-n", blue.name, "link", "add", "eth0", "type", "bridge"], check=True)
    before = node.state()
    node.refusal(item, f"{blue.path} already has an interface of that name")
    node.refusal(item, f"{blue.path} already has an interface of that name", _ansible_check_mode=True)
    assert before.difference(node.state()) == ""


def test_an_unrecorded_interface_stays(node: EngineNode, blue: Namespace, item: JsonObject) -> None:
    subprocess.run(["ip", "-n", blue.name, "link", "add", "eth0", "type", "bridge"], check=True)
    before = node.state()
    problem = (f"{blue.path} already has an interface of that name", "give the attachment another ifname")
    node.refusal(item, *problem)
    node.refusal(item, *problem, _ansible_check_mode=True)
    assert before.difference(node.state()) == ""
    assert node.attach({**item, "ifname": "eth1"})[0]["action"] == "added"


def test_check_mode_expects_that_an_attachment_leaves_before_another_network_gets_its_interface(
    node: EngineNode, item: JsonObject
) -> None:
    node.attach(item)
    for arguments in (
        {"attachments": [{**item, "network": "other"}, {**item, "state": "absent"}]},
        {"attachments": [{**item, "network": "other"}], "purge": True},
    ):
        predicted = node.run("attachments", **arguments, _ansible_check_mode=True).succeeded()
        assert sorted(entry["action"] for entry in predicted.entries) == ["added", "removed"]
        assert "already has an interface" not in str(predicted.result)
    assert node.attach({**item, "network": "other"}, purge=True)[0]["action"] == "added"


def test_an_interface_that_a_task_requests_for_two_containers_is_made_for_none(
    node: EngineNode, item: JsonObject
) -> None:
    second = {**item, "network": "other", "container_id": "second"}
    for options in ({"_ansible_check_mode": True}, {}):
        errors = node.refusals([item, second], **options)
        assert "is requested for the attachment of second (eth0) to network other as well" in errors[0]["text"]
        assert "is requested for the attachment of blue (eth0) to network net as well" in errors[1]["text"]
    node.attach(item)
    both = node.run("attachments", attachments=[item, second])
    both.require_failure("is requested for the attachment of blue (eth0) to network net as well")
    assert [entry["action"] for entry in both.entries] == ["checked", "failed"]
