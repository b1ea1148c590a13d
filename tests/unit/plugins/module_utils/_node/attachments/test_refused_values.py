# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A value that a plugin refuses is found before it is sent, and what it has spoiled all the same can be ended."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory import Call, speaks_only
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import Make
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.laboratory import Json, Laboratory

CAPABLE: Json = {"plugins": [{"type": "a"}, {"type": "b", "capabilities": {"ips": True, "portMappings": True}}]}
PORTS: Json = {"portMappings": [{"hostPort": 8080, "containerPort": 80}]}
BAD_PORTS: Json = {"portMappings": {"hostPort": 8080, "containerPort": 80}}
WHAT = "capability_args: /portMappings: found an object"
REFUSED: Json = {"ips": ["10.1.0.999"]}
# The words of a plugin's own.
SAID = "plugin b failed ({}): failed to parse config: invalid IP address: 10.1.0.999"
BUSY = "plugin b failed ({}): running [iptables]: exit status 4: busy"


def _refuses(call: Call) -> CniError | None:
    values = call.request.get("runtimeConfig", {})
    return CniError(999, SAID.format(call.command)) if values.get("ips") == REFUSED["ips"] else None


@pytest.fixture
def lab(make: Make) -> Laboratory:
    lab = make(b=_refuses)
    lab.write(**CAPABLE)
    lab.make_namespace()
    return lab


@pytest.mark.parametrize("dry_run", [True, False])
def test_what_no_plugin_can_decode_is_sent_to_none(lab: Laboratory, dry_run: bool) -> None:
    outcome = lab.ensure(lab.wanted(capability_args=BAD_PORTS), dry_run=dry_run)
    assert (outcome.action, outcome.changed, lab.commands(), lab.files()) == ("failed", False, [], {})
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.msg) == (Code.INVALID_CONFIG, WHAT)


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_attachment_stays_where_its_new_values_cannot_be_decoded(lab: Laboratory, dry_run: bool) -> None:
    lab.ensure(lab.wanted(capability_args=PORTS))
    before = lab.files()
    outcome = lab.ensure(lab.wanted(capability_args=BAD_PORTS), dry_run=dry_run)
    assert (outcome.action, outcome.changed, lab.commands(), lab.files()) == ("failed", False, [], before)


def test_a_container_stays_where_it_cannot_join_the_other_network_with_such_values(lab: Laboratory) -> None:
    lab.write("other", **CAPABLE)
    lab.ensure(lab.wanted())
    old, new = lab.wanted(), lab.wanted(network="other", capability_args=BAD_PORTS)
    outcomes = lab.converge(DesiredAttachment(old, present=False), DesiredAttachment(new))
    assert [outcome.action for outcome in outcomes] == ["failed", "failed"]
    assert all(WHAT in str(outcome.error) for outcome in outcomes)
    assert lab.commands() == []


def _spoiled(lab: Laboratory) -> None:
    outcome = lab.ensure(lab.wanted(capability_args=REFUSED))
    assert "the DEL that followed failed too" in str(outcome.error)
    assert lab.intent() is not None


def test_what_a_refused_value_has_spoiled_is_ended_with_the_one_given_now(lab: Laboratory) -> None:
    _spoiled(lab)
    outcome = lab.ensure(lab.wanted(capability_args={"ips": ["10.1.0.9"]}))
    assert (outcome.action, outcome.error, lab.intent()) == ("recreated", None, None)
    asked = [request.get("runtimeConfig") for request in lab.executor.requests("DEL")]
    assert asked == [REFUSED, None, {"ips": ["10.1.0.9"]}, None]


def test_what_refused_config_args_have_spoiled_is_ended_with_those_given_now(make: Make) -> None:
    def refuses(call: Call) -> CniError | None:
        given = call.request.get("args", {}).get("cni", {})
        return CniError(999, SAID.format(call.command)) if given == REFUSED else None

    lab = make(b=refuses)
    lab.make_namespace()
    outcome = lab.ensure(lab.wanted(config_args=REFUSED))
    assert "the DEL that followed failed too" in str(outcome.error)
    outcome = lab.ensure(lab.wanted(config_args={"ips": ["10.1.0.9"]}))
    assert (outcome.action, outcome.error, lab.intent()) == ("recreated", None, None)


@pytest.mark.parametrize("dry_run", [True, False])
def test_config_args_that_no_plugin_can_decode_are_sent_to_none_and_not_shown(lab: Laboratory, dry_run: bool) -> None:
    outcome = lab.ensure(lab.wanted(config_args={"mac": 5577}), dry_run=dry_run)
    assert (outcome.action, outcome.changed, lab.commands(), lab.files()) == ("failed", False, [], {})
    assert str(outcome.error) == "config_args: /mac: found a number; expected: a string"


@pytest.mark.parametrize("configured", [True, False])
def test_it_is_removed_without_values_or_a_configuration(lab: Laboratory, configured: bool) -> None:
    _spoiled(lab)
    if not configured:
        (lab.conf_dir / "10-net.conflist").unlink()
    # The item may still have the value, as an attachment that gc removes does.
    outcome = lab.ensure(lab.wanted(capability_args=REFUSED), present=False)
    assert (outcome.action, outcome.error, lab.files()) == ("removed", None, {})


def test_what_a_refused_configuration_has_spoiled_is_ended_with_the_one_that_replaces_it(make: Make) -> None:
    lab = make(b=lambda call: CniError(6, f"plugin b failed ({call.command}): no") if "bad" in call.request else None)
    lab.write(plugins=[{"type": "a"}, {"type": "b", "bad": True}])
    lab.make_namespace()
    assert "the DEL that followed failed too" in str(lab.ensure(lab.wanted()).error)
    lab.write()
    assert lab.ensure(lab.wanted()).action == "recreated"


@pytest.mark.parametrize("other", ["b", "a"], ids=["one plugin", "every plugin"])
def test_what_a_version_has_spoiled_is_ended_with_the_one_that_replaces_it(make: Make, other: str) -> None:
    lab = make(**{"b": speaks_only("0.4.0", "1.0.0"), other: speaks_only("0.4.0", "1.0.0")})
    lab.write(cniVersion="1.1.0")
    lab.make_namespace()
    assert "the DEL that followed failed too" in str(lab.ensure(lab.wanted()).error)
    lab.write(cniVersion="1.0.0")
    outcome = lab.ensure(lab.wanted())
    assert (outcome.action, outcome.error, lab.intent()) == ("recreated", None, None)


def test_what_may_have_begun_is_not_ended_with_other_values(make: Make) -> None:
    def is_busy(call: Call) -> CniError | None:
        got = call.request.get("runtimeConfig") and call.command in ("ADD", "DEL")
        return CniError(999, BUSY.format(call.command)) if got else None

    lab = make(b=is_busy)
    lab.write(**CAPABLE)
    lab.make_namespace()
    _spoiled(lab)
    error = lab.ensure(lab.wanted(), present=False).error
    assert error is not None
    assert error.msg.endswith(BUSY.format("DEL"))
    assert f"{lab.intent_file()} says what was begun" in error.details
    assert lab.intent() is not None


def test_an_error_says_that_the_values_given_now_are_refused_too(lab: Laboratory) -> None:
    _spoiled(lab)
    lab.executor.plugins["b"] = t.cast(t.Any, lambda call: CniError(999, SAID.format(call.command)))
    error = lab.ensure(lab.wanted()).error
    assert "with what is configured and asked for now, it failed too: " in str(error)
    assert f"{lab.intent_file()} says what was begun" in str(error)


def test_a_finished_attachment_is_never_ended_with_other_values(lab: Laboratory) -> None:
    lab.ensure(lab.wanted(capability_args=PORTS))
    lab.executor.plugins["b"] = t.cast(t.Any, lambda call: CniError(999, SAID.format(call.command)))
    lab.ensure(lab.wanted(capability_args=PORTS), present=False)
    asked = [request.get("runtimeConfig") for request in lab.executor.requests("DEL")]
    assert asked == [PORTS, None]
