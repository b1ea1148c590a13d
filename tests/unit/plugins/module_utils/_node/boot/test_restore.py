# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restoration at boot follows the records on disk, read while their lock is held."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot import journal, restore_command
from ansible_collections.cni.node.plugins.module_utils._node.boot import main as boot_main
from ansible_collections.cni.node.plugins.module_utils._node.boot import restore as boot_restore
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

MEANS = Restoration(("/opt/cni/bin",), 60.0)


@pytest.fixture
def node(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """Return a node whose namespaces count as named ones."""
    monkeypatch.setattr(NetnsDirectory, "create", lambda dummy, name: node.make_namespace(name))
    monkeypatch.setattr(boot_restore, "make_executor", lambda *dummy, **keys: node.executor)
    return node


def attach(node: FakeNode, **keys: t.Any) -> Record:
    node.make_namespace()
    (outcome,) = node.converge(DesiredAttachment(node.attachment(**keys), restoration=MEANS))
    assert outcome.error is None
    record = node.record()
    assert record is not None
    return record


def restore(node: FakeNode) -> AttachmentResult:
    node.executor.calls.clear()
    (outcome,) = boot_restore.restore(str(node.cache_dir), 1, node.paths)[0]
    return outcome


def with_host_local(node: FakeNode, **plugin: t.Any) -> None:
    node.write(plugins=[{"type": "a", "ipam": {"type": "host-local", "dataDir": str(node.cache_dir)}, **plugin}])
    node.executor.plugins["host-local"] = lambda call: None


def read_add_request(node: FakeNode) -> t.Any:
    (request,) = node.executor.requests("ADD")
    return request.get("args")


def test_only_missing_attachments_are_restored_as_recorded(node: FakeNode) -> None:
    made = attach(node, args={"K": "V"}, capability_args={"mac": "02::1"})
    node.write(disableGC=True)
    assert (restore(node).action, node.commands()) == ("unchanged", [])
    node.drop_namespace()
    assert (restore(node).action, node.commands()) == ("recreated", ["DEL", "ADD"])
    record = node.record()
    assert record is not None
    assert record._replace(netns_identity=made.netns_identity) == made


def test_a_namespace_that_cannot_be_created_does_not_stop_other_restorations(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("blue", "red"):
        node.make_namespace(name)
        node.converge(DesiredAttachment(node.attachment(name), restoration=MEANS))
        node.drop_namespace(name)

    def create(dummy: NetnsDirectory, name: str) -> None:
        if name == "blue":
            raise ValueError("embedded null byte")
        node.make_namespace(name)

    monkeypatch.setattr(NetnsDirectory, "create", create)
    blue, red = boot_restore.restore(str(node.cache_dir), 1, node.paths)[0]
    assert (blue.action, red.action) == ("failed", "recreated")
    assert "unexpected ValueError: embedded null byte" in str(blue.error)


def test_an_attachment_that_another_run_changed_is_not_restored(node: FakeNode) -> None:
    old = attach(node)
    desired = DesiredAttachment(old.attachment, restoration=MEANS)
    for present in (True, False):
        node.converge(
            DesiredAttachment(node.attachment(args={"K": "W"}), present, restoration=MEANS if present else None)
        )
        before = node.files()
        node.make_namespace()
        node.executor.calls.clear()
        stale = boot_restore.RecordReconciler(node.runtime(), {old.attachment.key: old})
        (outcome,) = reconcile_all(stale, [desired], 1)
        assert (outcome.action, outcome.reason) == ("unchanged", "another run has changed it in the meantime")
        assert (node.commands(), node.files()) == ([], before)


def test_the_old_address_is_requested_and_the_request_is_not_recorded(node: FakeNode) -> None:
    with_host_local(node, args={"labels": {"a": "b"}})
    attach(node)
    node.drop_namespace()
    assert restore(node).error is None
    assert read_add_request(node) == {"labels": {"a": "b"}, "cni": {"ips": ["10.1.0.2"]}}
    record = node.record()
    assert record is not None
    assert b"10.1.0.2" not in record.config
    (outcome,) = node.converge(DesiredAttachment(node.attachment(), restoration=MEANS))
    assert (outcome.action, outcome.changed) == ("checked", False)


UNASKED: dict[str, tuple[JsonObject, JsonObject]] = {
    "asked for already": ({}, {"args": {"IP": "10.1.0.2"}}),
    "asked for by capability": ({}, {"capability_args": {"ips": ["10.1.0.2/16"]}}),
    "asked for by config_args": ({}, {"config_args": {"ips": ["10.1.0.9"]}}),
    "asked for by the configuration": ({"args": {"cni": {"ips": ["10.1.0.9"]}}}, {}),
    "another kind of arguments": ({"args": ["cni"]}, {}),
}


@pytest.mark.parametrize(("plugin", "keys"), UNASKED.values(), ids=UNASKED)
def test_an_attachment_that_requests_addresses_gets_no_second_request(
    node: FakeNode, plugin: JsonObject, keys: JsonObject
) -> None:
    with_host_local(node, **plugin)
    attach(node, **keys)
    node.drop_namespace()
    assert restore(node).error is None
    expected = {"cni": keys["config_args"]} if "config_args" in keys else plugin.get("args")
    assert read_add_request(node) == expected


def test_config_args_are_passed_beside_the_old_address(node: FakeNode) -> None:
    with_host_local(node)
    attach(node, config_args={"mac": "02:00:00:00:00:01"})
    node.drop_namespace()
    assert restore(node).error is None
    assert read_add_request(node) == {"cni": {"ips": ["10.1.0.2"], "mac": "02:00:00:00:00:01"}}
    assert [request["args"] for request in node.executor.requests("DEL")] == [{"cni": {"mac": "02:00:00:00:00:01"}}] * 1


def test_a_taken_address_is_not_requested(node: FakeNode) -> None:
    with_host_local(node)
    attach(node)
    (node.cache_dir / "net").mkdir()
    for name in ("10.1.0.2", "last_reserved_ip.0"):
        (node.cache_dir / "net" / name).touch()
    node.drop_namespace()
    assert restore(node).error is None
    assert read_add_request(node) is None


def test_a_record_of_another_runtime_with_restoration_is_restored(node: FakeNode) -> None:
    """The other runtime's record does not identify its namespace; the updated record does."""
    made = attach(node)
    node.runtime().records.write(made._replace(version="", netns_identity="", restoration=None))
    (outcome,) = node.converge(DesiredAttachment(node.attachment(), restoration=MEANS))
    assert (outcome.action, outcome.changed) == ("checked", True)
    node.make_namespace()
    assert restore(node).action == "recreated"


def test_a_namespace_outside_the_directory_fails_on_one_line(
    node: FakeNode, capsys: pytest.CaptureFixture[str]
) -> None:
    made = attach(node)
    node.runtime().records.write(made._replace(attachment=made.attachment.with_netns("/elsewhere/blue")))
    assert boot_main.main([str(node.cache_dir)], node.paths) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("failed: the attachment of blue (eth0) to network net: /elsewhere/blue is not restored;")


def test_a_line_of_the_journal_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    journal.write_line("failed: caf\udce9\x1b[2J\nmore\r\n")
    assert capsys.readouterr().out == "failed: caf\\udce9\\x1b[2J; more\\r\n"


def test_an_unexpected_error_is_a_line_of_the_journal(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*dummy: t.Any) -> t.NoReturn:
        raise ValueError("never foreseen")

    monkeypatch.setattr(restore_command, "restore", breaks)
    assert boot_main.main([str(node.cache_dir)], node.paths) == 1
    assert capsys.readouterr().out.startswith("failed: unexpected ValueError: never foreseen; in breaks")
