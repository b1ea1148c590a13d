# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryAnswer,
    MemoryCall,
    fails_at,
    succeeds,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_runtime import AttachedRuntime, network


def answers_with(**keys: object) -> MemoryAnswer:
    """Return an answer that is, at ADD, prevResult with the given keys set."""
    return lambda call: {**call.request.get("prevResult", {}), **keys} if call.command == "ADD" else None


def test_add_runs_the_plugins_in_order_and_passes_results_on(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, a=answers_with(dns={"domain": "a"}), b=answers_with(vendor=1))
    final = node.runtime.add(network(), node.attachment)
    assert node.executor.run() == [("ADD", "a"), ("ADD", "b"), ("ADD", "c")]
    assert [request.get("prevResult") for request in node.executor.requests("ADD")] == [
        None,
        {"cniVersion": "1.1.0", "dns": {"domain": "a"}},
        {"cniVersion": "1.1.0", "dns": {"domain": "a"}, "vendor": 1},
    ]
    assert final.keys == {"cniVersion": "1.1.0", "dns": {"domain": "a"}, "vendor": 1}


def test_add_records_its_inputs_and_leaves_no_intent(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    final = node.runtime.add(network(), node.attachment)
    assert node.record is not None
    assert (node.record.attachment, node.record.result, node.record.config) == (
        node.attachment,
        final,
        network().content,
    )
    assert (node.record.version, node.record.command, node.intent) == ("1.1.0", "", None)


def test_the_intent_precedes_the_first_plugin_and_the_record_follows_the_last(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    seen: list[tuple[str, str, bool]] = []

    def inspect(call: MemoryCall) -> None:
        intent = node.intent
        seen.append((call.command, intent.command if intent else "", node.record is not None))

    node.executor.plugins.update(a=inspect, c=inspect)
    node.runtime.add(network(), node.attachment)
    node.runtime.delete(t.cast("Record", node.record))
    assert seen == [("ADD", "ADD", False), ("ADD", "ADD", False), ("DEL", "DEL", True), ("DEL", "DEL", True)]


def test_a_failed_add_is_followed_by_del_of_the_whole_list(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, b=fails_at("ADD", code=117))
    error = error_of(node.runtime.add, network(), node.attachment)
    assert node.executor.run() == [("ADD", "a"), ("ADD", "b"), ("DEL", "c"), ("DEL", "b"), ("DEL", "a")]
    assert (error.code, error.msg) == (117, "b fails at ADD")
    assert "nothing is left behind" in error.details
    assert (node.record, node.intent) == (None, None)


def test_the_del_of_a_failed_add_gets_the_last_result(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, a=answers_with(vendor=1), b=fails_at("ADD"))
    error_of(node.runtime.add, network(), node.attachment)
    assert [request.get("prevResult") for request in node.executor.requests("DEL")] == [
        {"cniVersion": "1.1.0", "vendor": 1}
    ] * 3


def test_when_add_and_its_del_fail_both_errors_are_reported_and_the_intent_stays(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, b=fails_at("ADD"), a=fails_at("DEL"))
    error = error_of(node.runtime.add, network(), node.attachment)
    assert error.msg == "b fails at ADD"
    assert "a fails at DEL" in error.details
    assert (node.record, node.intent and node.intent.command) == (None, "DEL")


@pytest.mark.parametrize("printed", ["", "hello", "[]", '{"cniVersion": "9.9.9"}', '{"ips": [{}]}'])
def test_an_add_with_a_result_that_cannot_be_read_has_failed(tmp_path: pathlib.Path, printed: str) -> None:
    node = AttachedRuntime(tmp_path, b=lambda call: printed if call.command == "ADD" else None)
    assert "plugin b" in error_of(node.runtime.add, network(), node.attachment).msg
    assert node.executor.run("DEL") == [("DEL", "c"), ("DEL", "b"), ("DEL", "a")]


def test_an_attachment_is_not_added_twice(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    node.add()
    assert error_of(node.runtime.add, network(), node.attachment).code == Code.INVALID_ENVIRONMENT
    assert node.executor.calls == []


def test_an_attachment_is_not_added_to_another_network_than_its_own(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    assert error_of(node.runtime.add, network(name="other"), node.attachment).code == Code.INVALID_CONFIG
    assert (node.executor.calls, node.intent) == ([], None)


def test_no_plugin_runs_where_one_is_missing(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    assert error_of(node.runtime.add, network("a", "missing"), node.attachment).code == Code.INVALID_CONFIG
    assert (node.executor.calls, node.intent) == ([], None)


def test_the_record_names_the_plugins_that_were_built_in(tmp_path: pathlib.Path) -> None:
    attached = AttachedRuntime(tmp_path, ipam=succeeds)
    attached.executor.builtin = {"a", "ipam"}
    plugins = [{"type": "a", "ipam": {"type": "ipam"}}, {"type": "b"}]
    assert attached.add(network(plugins=plugins)).builtin == ("a@1.9.1", "ipam@1.9.1")


def test_an_executable_does_not_get_a_built_in_ipam_plugin(tmp_path: pathlib.Path) -> None:
    attached = AttachedRuntime(tmp_path, ipam=succeeds)
    attached.executor.builtin = {"ipam"}
    with pytest.raises(CniError, match="memory:a cannot run the built-in one"):
        attached.add(network(plugins=[{"type": "a", "ipam": {"type": "ipam"}}]))
    assert (attached.executor.calls, attached.record, attached.intent) == ([], None, None)


def test_check_runs_every_plugin_in_order_with_the_final_result(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, c=answers_with(vendor=1))
    checked = node.runtime.check(node.add())
    assert (checked.was_run, checked.ignored_errors) == (True, ())
    assert node.executor.run() == [("CHECK", "a"), ("CHECK", "b"), ("CHECK", "c")]
    assert [request["prevResult"] for request in node.executor.requests("CHECK")] == [
        {"cniVersion": "1.1.0", "vendor": 1}
    ] * 3
    assert all(call.attachment == node.attachment for call in node.executor.calls)


def test_check_skips_built_in_plugins_that_the_caller_has_compared(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    node.executor.builtin = {"a", "c"}
    record = node.add()
    node.runtime.check(record)
    assert node.executor.run("CHECK") == [("CHECK", "a"), ("CHECK", "b"), ("CHECK", "c")]
    node.executor.calls.clear()
    assert node.runtime.check(record, skips_builtin=True).was_run
    assert node.executor.run("CHECK") == [("CHECK", "b")]


def test_check_stops_at_the_first_failure(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, b=fails_at("CHECK"))
    assert error_of(node.runtime.check, node.add()).msg == "b fails at CHECK"
    assert node.executor.run() == [("CHECK", "a"), ("CHECK", "b")]
    assert node.record is not None


def test_a_tolerated_failure_of_check_is_returned_and_the_other_plugins_run(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, a=fails_at("CHECK"))
    checked = node.runtime.check(node.add(), lambda record, plugin, error: plugin.type == "a")
    assert [error.msg for error in checked.ignored_errors] == ["a fails at CHECK"]
    assert node.executor.run() == [("CHECK", "a"), ("CHECK", "b"), ("CHECK", "c")]


def test_del_runs_the_plugins_in_reverse_order_and_removes_the_record(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    node.runtime.delete(node.add())
    assert node.executor.run() == [("DEL", "c"), ("DEL", "b"), ("DEL", "a")]
    assert (node.record, node.intent) == (None, None)


def test_del_continues_after_failures_reports_all_and_keeps_the_record(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, a=fails_at("DEL"), c=fails_at("DEL"))
    error = error_of(node.runtime.delete, node.add())
    assert node.executor.run() == [("DEL", "c"), ("DEL", "b"), ("DEL", "a")]
    assert "2 failures" in error.msg
    assert error.details.splitlines() == ["c fails at DEL", "a fails at DEL"]
    assert (node.record is not None, node.intent and node.intent.command) == (True, "DEL")


def test_the_error_has_both_failures_if_the_del_of_a_failed_add_fails(tmp_path: pathlib.Path) -> None:
    def cleans_up(error: CniError | None) -> bool:
        raise CniError(Code.IO_FAILURE, "the rules cannot be listed")

    node = AttachedRuntime(tmp_path, b=fails_at("DEL"))
    error = error_of(node.runtime.delete, node.add(), None, cleans_up)
    assert (error.code, "b fails at DEL" in error.msg) == (100, True)
    assert error.details == "leaked links, rules and files could not be removed either: the rules cannot be listed"
    assert node.intent is not None


def test_del_accepts_a_plugin_that_does_not_know_the_container(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, b=fails_at("DEL", code=Code.UNKNOWN_CONTAINER))
    node.runtime.delete(node.add())
    assert (len(node.executor.calls), node.record) == (3, None)


def test_a_missing_plugin_does_not_stop_del_of_the_others(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    record = node.add()
    del node.executor.plugins["b"]
    assert "'b' is not installed" in error_of(node.runtime.delete, record).msg
    assert node.executor.run() == [("DEL", "c"), ("DEL", "a")]


def test_del_of_an_intent_has_no_previous_result(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path)
    node.runtime.delete(Record(node.attachment, network().content, version="1.1.0", command="ADD"))
    assert [request.get("prevResult") for request in node.executor.requests("DEL")] == [None] * 3


RESTORATION = Restoration(("/opt/cni/bin",), 60.0, ("10.1.0.2",))


def test_a_restoration_is_on_disk_at_every_moment(tmp_path: pathlib.Path) -> None:
    """Between DEL and ADD, and after a failed ADD, only the disk has the restoration."""
    marks: list[bool] = []

    def inspect(call: MemoryCall) -> None:
        marks.append(any(file is not None and file.restoration == RESTORATION for file in (node.record, node.intent)))

    node = AttachedRuntime(tmp_path, a=inspect, c=inspect)
    node.runtime.add(network(), node.attachment, RESTORATION)
    node.runtime.delete(t.cast("Record", node.record), RESTORATION)
    assert node.record is None
    assert node.intent is not None
    assert (node.intent.command, node.intent.restoration) == ("DEL", RESTORATION)
    error_of(node.runtime.add, network("a", "nowhere"), node.attachment, RESTORATION, is_replacement=True)
    assert node.intent.restoration == RESTORATION
    node.runtime.add(network(), node.attachment, RESTORATION, is_replacement=True)
    made = t.cast("Record | None", node.record)
    assert made is not None
    assert (made.restoration, t.cast("Record | None", node.intent)) == (RESTORATION, None)
    assert marks == [True] * 6


def test_a_failed_restoration_leaves_an_intent_to_restore(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, b=fails_at("ADD"))
    error_of(node.runtime.add, network(), node.attachment, RESTORATION, is_replacement=True)
    assert node.record is None
    assert node.intent is not None
    assert (node.intent.command, node.intent.restoration) == ("DEL", RESTORATION)
    assert node.intent.restoration is not None
    assert node.intent.restoration.addresses == ("10.1.0.2",)


@pytest.mark.parametrize("restoration", [None, RESTORATION])
def test_removal_of_a_restored_attachment_is_durable(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, restoration: Restoration | None
) -> None:
    node = AttachedRuntime(tmp_path)
    node.runtime.add(network(), node.attachment, restoration)
    synced: list[str] = []
    monkeypatch.setattr(durable, "sync_directory", synced.append)
    node.runtime.delete(t.cast("Record", node.record))
    stores = [node.runtime.intents.directory, node.runtime.records.directory]
    assert synced == (stores if restoration else [])


def test_an_unexpected_error_is_followed_by_del(tmp_path: pathlib.Path) -> None:
    def raise_error(call: MemoryCall) -> None:
        if call.command == "ADD":
            raise OverflowError("too large")

    node = AttachedRuntime(tmp_path, b=raise_error)
    error = error_of(node.runtime.add, network(), node.attachment)
    assert (error.code, "the DEL that followed succeeded" in error.details) == (Code.INTERNAL, True)
    assert (node.record, node.intent) == (None, None)


@pytest.mark.parametrize("deep", ["result", "arguments"])
def test_an_unreadable_result_is_not_recorded(tmp_path: pathlib.Path, deep: str) -> None:
    nested: t.Any = 0
    for dummy in range(198 if deep == "arguments" else 189):
        nested = [nested]
    node = AttachedRuntime(tmp_path, c=answers_with(x=nested) if deep == "result" else succeeds)
    capability_args = {"x": nested} if deep == "arguments" else {}
    node.attachment = node.attachment._replace(capability_args=capability_args)
    node.runtime.add(network(), node.attachment)
    assert node.record is not None
    node.runtime.delete(node.record)
    nested = [nested]
    node = AttachedRuntime(tmp_path, c=answers_with(x=nested) if deep == "result" else succeeds)
    capability_args = {"x": nested} if deep == "arguments" else {}
    node.attachment = node.attachment._replace(capability_args=capability_args)
    assert "levels deep" in error_of(node.runtime.add, network(), node.attachment).msg
    assert (node.record, node.intent) == (None, None)


def test_an_add_that_fails_at_first_is_not_restored(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, b=fails_at("ADD"))
    error_of(node.runtime.add, network(), node.attachment, RESTORATION)
    assert (node.record, node.intent) == (None, None)


def test_a_final_del_discards_the_restoration_before_any_plugin_runs(tmp_path: pathlib.Path) -> None:
    """A reboot in the middle of DEL must not restore the attachment."""
    node = AttachedRuntime(tmp_path, a=fails_at("DEL"))
    node.runtime.add(network(), node.attachment, RESTORATION)
    error_of(node.runtime.delete, node.record)
    assert node.intent is not None
    assert node.intent.restoration is None


@pytest.mark.parametrize("fate", ["gone", "replaced"])
def test_del_has_no_netns_if_the_netns_of_add_is_gone(tmp_path: pathlib.Path, fate: str) -> None:
    node = AttachedRuntime(tmp_path)
    record = node.add()
    (tmp_path / "new").touch()
    node.netns.unlink() if fate == "gone" else (tmp_path / "new").replace(node.netns)
    node.runtime.delete(record)
    assert [call.attachment and call.attachment.netns for call in node.executor.calls] == [""] * 3


@pytest.mark.parametrize("operation", ["check", "delete"])
def test_a_recorded_configuration_that_cannot_be_read_is_an_error(tmp_path: pathlib.Path, operation: str) -> None:
    node = AttachedRuntime(tmp_path)
    record = Record(node.attachment, b"{", version="1.1.0")
    assert isinstance(error_of(getattr(node.runtime, operation), record), CniError)
    assert node.executor.calls == []


def test_status_asks_every_plugin_up_to_the_first_that_is_not_ready(tmp_path: pathlib.Path) -> None:
    node = AttachedRuntime(tmp_path, b=fails_at("STATUS", code=Code.LIMITED_CONNECTIVITY))
    assert error_of(network_operations.status, node.runtime, network()).code == Code.LIMITED_CONNECTIVITY
    assert node.executor.run() == [("STATUS", "a"), ("STATUS", "b")]
    assert all(call.attachment is None for call in node.executor.calls)
