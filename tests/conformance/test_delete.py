# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 3, "Deleting an attachment"."""

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


def test_plugins_are_run_in_reverse_order_and_the_attachment_is_forgotten(node: ConformanceNode) -> None:
    node.runtime.delete(node.add(node.network("a", "b", "c")))
    assert node.ran() == [("DEL", "c"), ("DEL", "b"), ("DEL", "a")]
    assert node.records_and_intents() == ([], [])


@pytest.mark.parametrize("stdout", ["", "hello", "{"])
def test_output_of_a_plugin_that_succeeds_is_ignored(node: ConformanceNode, stdout: str) -> None:
    node.write("a", DEL=ScriptedAnswer(stdout=stdout))
    node.runtime.delete(node.add(node.network("a")))
    assert node.records_and_intents() == ([], [])


def test_del_continues_after_a_plugin_fails_differs_from_libcni(node: ConformanceNode) -> None:
    node.write("c", DEL=ScriptedAnswer(error={"code": 5, "msg": "no disk"}))
    error = error_of(node.runtime.delete, node.add(node.network("a", "b", "c")))
    assert node.ran() == [("DEL", "c"), ("DEL", "b"), ("DEL", "a")]
    assert (error.code, "no disk" in error.msg) == (5, True)


def test_the_error_of_del_lists_every_failure_differs_from_libcni(node: ConformanceNode) -> None:
    node.write("a", DEL=ScriptedAnswer(error={"code": 5, "msg": "no disk"}))
    node.write("c", DEL=ScriptedAnswer(exit=3, stderr="a complaint"))
    error = error_of(node.runtime.delete, node.add(node.network("a", "b", "c")))
    assert all(
        words in str(error)
        for words in ("plugin a failed (DEL): no disk", "plugin c failed", "exit status 3", "a complaint")
    )


def test_del_keeps_the_record_until_all_plugins_have_succeeded(node: ConformanceNode) -> None:
    node.write("b", DEL=[ScriptedAnswer(exit=3), ScriptedAnswer()])
    record = node.add(node.network("a", "b"))
    error_of(node.runtime.delete, record)
    assert node.record() == record
    node.runtime.delete(node.record())
    assert node.records_and_intents() == ([], [])


def test_del_may_be_followed_by_additional_dels(node: ConformanceNode) -> None:
    record = node.add(node.network("a"))
    for dummy in range(3):
        node.runtime.delete(record)
    assert node.ran() == [("DEL", "a")] * 3


def test_del_succeeds_if_a_plugin_does_not_know_the_container_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    node.write("b", DEL=ScriptedAnswer(error={"code": Code.UNKNOWN_CONTAINER, "msg": "no such container"}))
    node.runtime.delete(node.add(node.network("a", "b")))
    assert (node.ran(), node.records_and_intents()) == ([("DEL", "b"), ("DEL", "a")], ([], []))


def test_del_runs_the_other_plugins_if_one_is_missing_differs_from_libcni(node: ConformanceNode) -> None:
    record = node.add(node.network("a", "b", "c"))
    (node.plugins.path / "b").unlink()
    assert "'b' is not installed" in error_of(node.runtime.delete, record).msg
    assert (node.ran(), node.record()) == ([("DEL", "c"), ("DEL", "a")], record)


def test_del_uses_the_recorded_configuration_and_arguments_differs_from_libcni(node: ConformanceNode) -> None:
    plugin = {"type": "a", "capabilities": {"mac": True}, "mtu": 1400}
    node.add(node.network(plugin), node.attachment(args={"K": "V"}, capability_args={"mac": "x"}))
    node.new_runtime().delete(node.record())
    (call,) = node.calls()
    assert call.env["CNI_ARGS"] == "K=V"
    assert (call.request["mtu"], call.request["runtimeConfig"]) == (1400, {"mac": "x"})


def test_del_runs_a_recorded_plugin_that_the_list_no_longer_has_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    record = node.add(node.network("a", "b"))
    node.network("a")
    node.runtime.delete(record)
    assert node.ran() == [("DEL", "b"), ("DEL", "a")]


def test_del_uses_the_version_of_add(node: ConformanceNode) -> None:
    record = node.add(node.network("a", cniVersions=["0.4.0", "1.0.0", "1.1.0"]))
    node.plugins.write("a", versions=["0.4.0"])
    node.runtime.delete(record)
    assert node.requests("DEL")[0]["cniVersion"] == "1.1.0"


def test_a_result_that_only_the_record_has_is_passed_on_unchanged(node: ConformanceNode) -> None:
    record = node.add(node.network("a"))
    path = node.cache / "results" / "net-blue-eth0"
    kept = json.loads(path.read_bytes())
    kept["result"]["interfaces"] = [{"name": "eth0", "sandbox": "/x"}]
    path.write_text(json.dumps(kept), encoding="utf-8")
    node.runtime.delete(node.record())
    assert record.result is not None
    assert node.requests("DEL")[0]["prevResult"] == {
        **record.result.keys,
        "interfaces": [{"name": "eth0", "sandbox": "/x"}],
    }


def test_del_keeps_other_attachments_of_the_container(node: ConformanceNode) -> None:
    network = node.network("a")
    for ifname in ("eth0", "eth1"):
        node.runtime.add(network, node.attachment(ifname=ifname))
    node.runtime.delete(node.record())
    assert [record.attachment.ifname for record in node.records_and_intents()[0]] == ["eth1"]
