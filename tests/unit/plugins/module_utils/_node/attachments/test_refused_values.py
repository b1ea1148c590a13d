# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Undecodable values are refused before ADD, and attachments with other refused values can be deleted."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import MemoryCall, supports_only
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import MakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

CAPABLE: JsonObject = {"plugins": [{"type": "a"}, {"type": "b", "capabilities": {"ips": True, "portMappings": True}}]}
PORTS: JsonObject = {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}
BAD_PORTS: JsonObject = {"portMappings": {"hostPort": 8080, "containerPort": 80}}
WHAT = "capability_args: /portMappings: found an object"
REFUSED: JsonObject = {"ips": ["10.1.0.999"]}
# An error message of the plugin itself.
SAID = "plugin b failed ({}): failed to parse config: invalid IP address: 10.1.0.999"
BUSY = "plugin b failed ({}): running [iptables]: exit status 4: busy"


def _refuses(call: MemoryCall) -> CniError | None:
    values = call.request.get("runtimeConfig", {})
    return CniError(999, SAID.format(call.command)) if values.get("ips") == REFUSED["ips"] else None


@pytest.fixture
def node(make_node: MakeNode) -> FakeNode:
    node = make_node(b=_refuses)
    node.write(**CAPABLE)
    node.make_namespace()
    return node


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_value_that_no_plugin_can_decode_is_refused_before_add(node: FakeNode, dry_run: bool) -> None:
    outcome = node.ensure(node.attachment(capability_args=BAD_PORTS), dry_run=dry_run)
    assert (outcome.action, outcome.changed, node.commands(), node.files()) == ("failed", False, [], {})
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.msg) == (Code.INVALID_CONFIG, WHAT)


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_attachment_is_kept_when_its_new_values_cannot_be_decoded(node: FakeNode, dry_run: bool) -> None:
    node.ensure(node.attachment(capability_args=PORTS))
    before = node.files()
    outcome = node.ensure(node.attachment(capability_args=BAD_PORTS), dry_run=dry_run)
    assert (outcome.action, outcome.changed, node.commands(), node.files()) == ("failed", False, [], before)


def test_an_attachment_is_kept_when_its_replacement_has_invalid_values(node: FakeNode) -> None:
    node.write("other", **CAPABLE)
    node.ensure(node.attachment())
    old, new = node.attachment(), node.attachment(network="other", capability_args=BAD_PORTS)
    outcomes = node.converge(DesiredAttachment(old, present=False), DesiredAttachment(new))
    assert [outcome.action for outcome in outcomes] == ["failed", "failed"]
    assert all(WHAT in str(outcome.error) for outcome in outcomes)
    assert node.commands() == []


def _add_refused_values(node: FakeNode) -> None:
    outcome = node.ensure(node.attachment(capability_args=REFUSED))
    assert "the DEL that followed failed too" in str(outcome.error)
    assert node.intent() is not None


def test_del_uses_the_current_value_after_a_plugin_refused_the_recorded_one(node: FakeNode) -> None:
    _add_refused_values(node)
    outcome = node.ensure(node.attachment(capability_args={"ips": ["10.1.0.9"]}))
    assert (outcome.action, outcome.error, node.intent()) == ("recreated", None, None)
    asked = [request.get("runtimeConfig") for request in node.executor.requests("DEL")]
    assert asked == [REFUSED, None, {"ips": ["10.1.0.9"]}, None]


def test_del_uses_the_current_config_args_after_a_plugin_refused_the_recorded_ones(make_node: MakeNode) -> None:
    def refuses(call: MemoryCall) -> CniError | None:
        given = call.request.get("args", {}).get("cni", {})
        return CniError(999, SAID.format(call.command)) if given == REFUSED else None

    node = make_node(b=refuses)
    node.make_namespace()
    outcome = node.ensure(node.attachment(config_args=REFUSED))
    assert "the DEL that followed failed too" in str(outcome.error)
    outcome = node.ensure(node.attachment(config_args={"ips": ["10.1.0.9"]}))
    assert (outcome.action, outcome.error, node.intent()) == ("recreated", None, None)


@pytest.mark.parametrize("dry_run", [True, False])
def test_config_args_that_no_plugin_can_decode_are_refused_and_not_shown(node: FakeNode, dry_run: bool) -> None:
    outcome = node.ensure(node.attachment(config_args={"mac": 5577}), dry_run=dry_run)
    assert (outcome.action, outcome.changed, node.commands(), node.files()) == ("failed", False, [], {})
    assert str(outcome.error) == "config_args: /mac: found a number; expected: a string"


@pytest.mark.parametrize("configured", [True, False])
def test_an_interrupted_attachment_is_removed_without_values_or_a_configuration(
    node: FakeNode, configured: bool
) -> None:
    _add_refused_values(node)
    if not configured:
        (node.conf_dir / "10-net.conflist").unlink()
    # The item may still have the value, as an attachment that gc removes does.
    outcome = node.ensure(node.attachment(capability_args=REFUSED), present=False)
    assert (outcome.action, outcome.error, node.files()) == ("removed", None, {})


def test_del_uses_the_current_configuration_after_a_plugin_refused_the_recorded_one(make_node: MakeNode) -> None:
    node = make_node(
        b=lambda call: CniError(6, f"plugin b failed ({call.command}): no") if "bad" in call.request else None
    )
    node.write(plugins=[{"type": "a"}, {"type": "b", "bad": True}])
    node.make_namespace()
    assert "the DEL that followed failed too" in str(node.ensure(node.attachment()).error)
    node.write()
    assert node.ensure(node.attachment()).action == "recreated"


@pytest.mark.parametrize("other", ["b", "a"], ids=["one plugin", "every plugin"])
def test_del_uses_the_current_version_after_a_plugin_refused_the_recorded_one(make_node: MakeNode, other: str) -> None:
    node = make_node(**{"b": supports_only("0.4.0", "1.0.0"), other: supports_only("0.4.0", "1.0.0")})
    node.write(cniVersion="1.1.0")
    node.make_namespace()
    assert "the DEL that followed failed too" in str(node.ensure(node.attachment()).error)
    node.write(cniVersion="1.0.0")
    outcome = node.ensure(node.attachment())
    assert (outcome.action, outcome.error, node.intent()) == ("recreated", None, None)


def test_del_keeps_the_recorded_values_unless_a_plugin_refused_them(make_node: MakeNode) -> None:
    def is_busy(call: MemoryCall) -> CniError | None:
        got = call.request.get("runtimeConfig") and call.command in ("ADD", "DEL")
        return CniError(999, BUSY.format(call.command)) if got else None

    node = make_node(b=is_busy)
    node.write(**CAPABLE)
    node.make_namespace()
    _add_refused_values(node)
    error = node.ensure(node.attachment(), present=False).error
    assert error is not None
    assert error.msg.endswith(BUSY.format("DEL"))
    assert f"{node.intent_file()} records the operation" in error.details
    assert node.intent() is not None


def test_the_error_says_that_the_current_values_are_refused_too(node: FakeNode) -> None:
    _add_refused_values(node)
    node.executor.plugins["b"] = t.cast(t.Any, lambda call: CniError(999, SAID.format(call.command)))
    error = node.ensure(node.attachment()).error
    assert "DEL with the current configuration and arguments failed too: " in str(error)
    assert f"{node.intent_file()} records the operation" in str(error)


def test_del_of_a_complete_attachment_keeps_the_recorded_values(node: FakeNode) -> None:
    node.ensure(node.attachment(capability_args=PORTS))
    node.executor.plugins["b"] = t.cast(t.Any, lambda call: CniError(999, SAID.format(call.command)))
    node.ensure(node.attachment(capability_args=PORTS), present=False)
    asked = [request.get("runtimeConfig") for request in node.executor.requests("DEL")]
    assert asked == [PORTS, None]
