# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin that is missing, fails, dies, hangs or prints nonsense: one clear error, and earlier plugins are undone."""

from __future__ import annotations

import pathlib
import signal
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    EngineNode,
    attachment,
    wait_for_result,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, busy
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

UNDONE = "the DEL that followed succeeded; nothing is left behind"
ODD = "/opt/cni/bin/odd"
MEBIBYTES = 3 * 1024 * 1024


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    """Return an attachment whose second plugin, `odd`, works until the test changes it."""
    node.plugins.write("odd")
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "odd"}))
    made = attachment("net", blue)
    node.attach_and_detach(made)
    node.plugins.forget()
    return made


CASES: dict[str, tuple[ScriptedAnswer, int, tuple[str, ...]]] = {
    "its own error": (
        ScriptedAnswer(error={"code": 102, "msg": "the cable is cut", "details": "by a mouse"}),
        102,
        ("plugin odd failed (ADD): the cable is cut", "by a mouse", f"ADD by {ODD}: exit status 1"),
    ),
    "no words": (ScriptedAnswer(stdout="", exit=3), 0, ("plugin odd failed (ADD): exit status 3",)),
    "last words": (
        ScriptedAnswer(stdout="", stderr="first\nsecond\n", exit=1),
        0,
        ("plugin odd failed (ADD): exit status 1", "stderr (last lines): first\nsecond"),
    ),
    "nonsense and an exit status": (
        ScriptedAnswer(stdout="hello", exit=1),
        0,
        ("plugin odd failed (ADD): exit status 1", "stdout (not a CNI error): hello"),
    ),
    "a crash": (ScriptedAnswer(stdout="", signal=signal.SIGSEGV), 5, ("plugin odd failed (ADD): killed by SIGSEGV",)),
    "a crash after a good result": (
        ScriptedAnswer(signal=signal.SIGABRT),
        5,
        ("plugin odd failed (ADD): killed by SIGABRT",),
    ),
    "no result": (ScriptedAnswer(stdout=""), 6, ("the result of plugin odd is not valid JSON: it is empty",)),
    "garbage": (
        ScriptedAnswer(stdout="\x00\x01<html>"),
        6,
        ("the result of plugin odd is not valid JSON: line 1, column 1",),
    ),
    "half a result": (
        ScriptedAnswer(stdout='{"ips": ['),
        6,
        ("the result of plugin odd is not valid JSON", "(the text ends there)"),
    ),
    "a list": (ScriptedAnswer(stdout="[]"), 6, ("the result of plugin odd: expected an object, found a list",)),
    "a wrong type": (
        ScriptedAnswer(result={"ips": {}}),
        6,
        ("the result of plugin odd: /ips: expected a list, found an object",),
    ),
    "no address": (
        ScriptedAnswer(result={"ips": [{"address": "10.1.0.2"}]}),
        6,
        ("the result of plugin odd: /ips/0/address: '10.1.0.2' is not an address with a prefix length",),
    ),
    "an unknown version": (
        ScriptedAnswer(result={"cniVersion": "9.9.9"}),
        1,
        ("the result of plugin odd: /cniVersion: unknown version '9.9.9'", "known versions: 0.1.0"),
    ),
    "megabytes": (
        ScriptedAnswer(stdout_bytes=MEBIBYTES),
        5,
        ("plugin odd failed (ADD): printed more than 1048576 bytes",),
    ),
    "megabytes of an error": (
        ScriptedAnswer(stdout="", stderr_bytes=MEBIBYTES, exit=1),
        0,
        ("plugin odd failed (ADD): exit status 1", "stderr (last lines): xxx"),
    ),
}


@pytest.mark.parametrize(("answer", "code", "fragments"), CASES.values(), ids=CASES)
def test_a_failed_add_leaves_no_resources(
    node: EngineNode, item: JsonObject, answer: ScriptedAnswer, code: int, fragments: tuple[str, ...]
) -> None:
    node.plugins.write("odd", ADD=answer)
    error = node.refusal(item, *fragments, UNDONE)
    assert error["code"] == code
    assert [call.command for call in node.plugins.calls()] == ["ADD", "DEL"]
    assert len(error["text"]) < 10_000


def test_a_failure_on_a_new_bridge_does_not_affect_later_attachments(node: EngineNode, blue: Namespace) -> None:
    gives = ScriptedAnswer(result={"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16"}]})
    node.plugins.write("odd", ADD=[ScriptedAnswer(error={"code": 102, "msg": "not today"}), gives])
    node.write(reference_networks.network(reference_networks.bridge(ipam={"type": "odd"})))
    item = attachment("net", blue)
    node.run("attachments", attachments=[item]).require_failure("not today", UNDONE)
    assert node.attach(item)[0]["action"] == "added"


@pytest.mark.parametrize("hang", ["yes", "deaf"])
def test_a_hanging_plugin_is_killed_with_its_children(
    node: EngineNode, item: JsonObject, hang: t.Literal["yes", "deaf"]
) -> None:
    node.plugins.write("odd", ADD=ScriptedAnswer(hang=hang, grandchild="same group"))
    node.refusal(item, "plugin odd failed (ADD): ran out of time (limit 5 s) and was killed", UNDONE, timeout=5)
    call = node.plugins.calls(command="ADD")[0]
    processes = [pathlib.Path(f"/proc/{pid}") for pid in (call.pid, call.grandchild)]
    until(lambda: not any(process.exists() for process in processes) or None)


def test_a_missing_plugin_is_reported_before_any_plugin_runs(node: EngineNode, item: JsonObject) -> None:
    (node.plugins.path / "odd").unlink()
    error = node.refusal(item, "plugin 'odd' is not installed", "looked in /opt/cni/bin, /usr/lib/cni, ", "install it")
    assert error["code"] == 7
    assert UNDONE not in error["text"]


def test_a_missing_delegated_plugin_is_reported_before_any_plugin_runs(node: EngineNode, item: JsonObject) -> None:
    node.write(reference_networks.network({"type": "odd"}, reference_networks.bridge(ipam={"type": "nobody"})))
    node.refusal(item, "plugin 'nobody' is not installed")
    assert node.plugins.calls() == []


def test_a_plugin_that_is_not_executable_is_named(node: EngineNode, item: JsonObject) -> None:
    (node.plugins.path / "odd").chmod(0o644)
    node.refusal(item, f"plugin {ODD} is not executable", "expected: mode 0755")
    assert node.plugins.calls() == []


def test_a_plugin_for_another_architecture_is_reported(node: EngineNode, item: JsonObject) -> None:
    (node.plugins.path / "odd").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(64))
    done = node.run("attachments", attachments=[item])
    done.require_failure(f"plugin {ODD} cannot be started for ADD: Exec format error", "built for this architecture")


def test_a_plugin_that_stays_busy_is_an_error(node: EngineNode, item: JsonObject) -> None:
    """Report an error at DEL, where libcni reports a success and forgets the attachment."""
    with busy(node.plugins.path / "odd"):
        done = node.run("attachments", attachments=[item], timeout=5)
        done.require_failure(
            f"plugin {ODD} cannot be started for ADD: Text file busy", "no process is writing to it", "DEL"
        )
        assert node.plugins.calls() == []
    assert node.attach(item)[0]["action"] == "recreated"
    assert len(node.leases("net")) == 1


def test_a_plugin_that_is_busy_briefly_is_retried(node: EngineNode, item: JsonObject) -> None:
    with busy(node.plugins.path / "odd"):
        running = node.start("attachments", attachments=[item])
        until(lambda: node.leases("net") or None)
    assert wait_for_result(running).succeeded().entries[0]["action"] == "added"
    assert [call.command for call in node.plugins.calls()] == ["ADD", "CHECK"]


def test_a_result_in_another_supported_version_is_converted(node: EngineNode, item: JsonObject) -> None:
    ip = {"address": "10.1.0.99/16", "gateway": "10.1.0.1"}
    node.plugins.write("odd", ADD=ScriptedAnswer(result={"cniVersion": "0.4.0", "ips": [{**ip, "version": "4"}]}))
    node.plugins.write("next")
    node.write(reference_networks.network({"type": "odd"}, {"type": "next"}))
    (entry,) = node.attach(item)
    assert entry["result"] == {"cniVersion": "1.0.0", "ips": [ip]}
    for call in node.plugins.calls("next"):
        assert call.request["prevResult"] == entry["result"]


def test_stderr_of_a_successful_plugin_is_not_an_error(node: EngineNode, item: JsonObject) -> None:
    node.plugins.write("odd", ADD=ScriptedAnswer(stderr_bytes=MEBIBYTES))
    assert node.attach(item)[0]["action"] == "added"


def test_a_failed_delete_is_reported_after_the_other_plugins_ran(node: EngineNode, item: JsonObject) -> None:
    """Continue after a failed plugin, so that address and interface go; libcni stops at the first failure."""
    node.attach(item)
    node.plugins.write("odd", DEL=ScriptedAnswer(stdout="", signal=signal.SIGSEGV))
    done = node.run("attachments", attachments=[{**item, "state": "absent"}])
    done.require_failure(
        "DEL of the attachment of blue (eth0) to network net: plugin odd failed (DEL): killed by SIGSEGV"
    )
    assert (node.leases("net"), node.record_of(item).exists()) == ([], True)
    node.plugins.write("odd")
    assert node.detach(item)[0]["action"] == "removed"
    assert (node.intents(), node.record_of(item).exists()) == ([], False)


def test_a_failed_delete_after_a_failed_add_is_repeated_by_the_next_run(node: EngineNode, item: JsonObject) -> None:
    error = {"code": 100, "msg": "not now"}
    node.plugins.write(
        "odd", ADD=[ScriptedAnswer(error=error), ScriptedAnswer()], DEL=[ScriptedAnswer(error=error), ScriptedAnswer()]
    )
    done = node.run("attachments", attachments=[item])
    done.require_failure(
        "plugin odd failed (ADD): not now", "the DEL that followed failed too and will be repeated by the next run"
    )
    (entry,) = node.attach(item)
    assert (entry["action"], entry["reason"]) == ("recreated", "an earlier run was interrupted at DEL")
    assert [call.command for call in node.plugins.calls()] == ["ADD", "DEL", "DEL", "ADD", "CHECK"]
    assert (len(node.leases("net")), node.intents()) == (1, [])


LATER = ScriptedAnswer(error={"code": 11, "msg": "the pool is being rebuilt"})


def test_an_add_that_asks_for_a_retry_is_retried(node: EngineNode, item: JsonObject) -> None:
    node.plugins.write("odd", ADD=[LATER, LATER, ScriptedAnswer()])
    predicted = node.attach(item, _ansible_check_mode=True)
    assert node.plugins.calls() == []
    (entry,) = node.attach(item)
    assert (entry["action"], entry["error"]) == (predicted[0]["action"], None) == ("added", None)
    assert [call.command for call in node.plugins.calls()] == ["ADD", "DEL", "ADD", "DEL", "ADD", "CHECK"]
    assert (len(node.leases("net")), node.intents()) == (1, [])


def test_an_add_that_always_asks_for_a_retry_fails_with_that_error(node: EngineNode, item: JsonObject) -> None:
    node.plugins.write("odd", ADD=LATER)
    error = node.refusal(item, "plugin odd failed (ADD): the pool is being rebuilt", UNDONE, "(limit 2 s)", timeout=2)
    assert error["code"] == 11
    assert len(node.plugins.calls(command="ADD")) > 2
    assert (node.leases("net"), node.intents()) == ([], [])


@pytest.mark.parametrize("command", ["CHECK", "DEL"])
def test_a_check_and_a_del_that_ask_for_a_retry_are_retried(node: EngineNode, item: JsonObject, command: str) -> None:
    node.attach(item)
    node.plugins.forget()
    answers: JsonObject = {command: [LATER, LATER, ScriptedAnswer()]}
    node.plugins.write("odd", **answers)
    (entry,) = node.attach({**item, "state": "absent" if command == "DEL" else "present"})
    assert (entry["action"], entry["error"]) == ("removed" if command == "DEL" else "checked", None)
    assert [call.command for call in node.plugins.calls()] == [command] * 3


PROBES: dict[str, tuple[ScriptedAnswer | None, str]] = {
    "garbage": (ScriptedAnswer(stdout="hello"), "the answer of plugin odd to VERSION is not valid JSON"),
    "no versions": (ScriptedAnswer(stdout="{}"), "the answer of plugin odd to VERSION: /supportedVersions: None"),
    "others": (ScriptedAnswer(stdout='{"cniVersion": "0.4.0", "supportedVersions": ["0.4.0"]}'), "odd supports 0.4.0"),
    "a crash": (ScriptedAnswer(stdout="", signal=signal.SIGSEGV), "plugin odd failed (VERSION): killed by SIGSEGV"),
    "nothing": (ScriptedAnswer(hang="yes"), "plugin odd failed (VERSION): ran out of time (limit 5 s)"),
    "it is missing": (None, "plugin 'odd' is not installed"),
}


@pytest.mark.parametrize(("answer", "fragment"), PROBES.values(), ids=PROBES)
def test_conflists_writes_no_network_that_its_plugin_does_not_support(
    node: EngineNode, answer: ScriptedAnswer | None, fragment: str
) -> None:
    if answer is not None:
        node.plugins.write("odd", VERSION=answer)
    before = node.state()
    configuration = reference_networks.network(reference_networks.bridge(), {"type": "odd"})
    node.run("conflists", conflists=[{"config": configuration}], timeout=5).require_failure("10-net.conflist", fragment)
    assert before.difference(node.state()) == ""
