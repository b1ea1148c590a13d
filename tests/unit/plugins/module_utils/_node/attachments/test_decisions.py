# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decisions about an attachment follow from facts, and check mode decides the same."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support.descriptors import refuse_file
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

ARGS: JsonObject = {"args": {"K": "V"}, "capability_args": {"mac": "02::1"}, "config_args": {"mac": "02::2"}}
WITHOUT: JsonObject = {**ARGS, "config_args": {}}
Spoil = t.Callable[[FakeNode], object]
ANEW = ["DEL", "ADD", "CHECK"]


def _attach(node: FakeNode) -> None:
    node.make_namespace()
    assert node.ensure(node.attachment(**ARGS)).action == "added"


def _rewrites_the_same(node: FakeNode) -> None:
    path = node.write()
    document = json.loads(path.read_text(encoding="utf-8"))
    turned = dict(reversed(list(document.items())))
    path.unlink()
    (node.conf_dir / "99-elsewhere.conflist").write_text(json.dumps(turned, indent=4), encoding="utf-8")


def _interrupt(command: str, *, recorded: bool) -> Spoil:
    def spoil(node: FakeNode) -> None:
        record = node.record()
        assert record is not None
        node.runtime().intents.write(record._replace(command=command))
        if not recorded:
            node.record_file().unlink()

    return spoil


def _write_record(content: bytes) -> Spoil:
    return lambda node: node.record_file().write_bytes(content)


def _write_intent(content: bytes) -> Spoil:
    def spoil(node: FakeNode) -> None:
        node.intent_file().parent.mkdir(parents=True, exist_ok=True)
        node.intent_file().write_bytes(content)

    return spoil


def _loses_power_in_add(node: FakeNode) -> None:
    node.record_file().unlink()
    _write_intent(b"")(node)


def _records(change: t.Callable[[JsonObject], object]) -> Spoil:
    def spoil(node: FakeNode) -> None:
        document = json.loads(node.record_file().read_text(encoding="utf-8"))
        change(document)
        node.record_file().write_text(json.dumps(document), encoding="utf-8")

    return spoil


def _make_foreign(*missing: str) -> Spoil:
    return _records(lambda document: [document.pop(key) for key in ("cni.node", *missing)])


class Row(t.NamedTuple):
    """A change since the attachment was added, and the expected result."""

    since: Spoil
    action: str
    reason: str = ""
    commands: t.Sequence[str] = ANEW
    desired: JsonObject = ARGS


CHECKED = ["CHECK"]
ROWS = {
    "nothing": Row(lambda node: None, "checked", commands=CHECKED),
    "no record": Row(lambda node: node.record_file().unlink(), "added", commands=["ADD", "CHECK"]),
    "the same, written otherwise": Row(_rewrites_the_same, "checked", commands=CHECKED),
    "another namespace": Row(
        lambda node: node.make_namespace(), "recreated", "its network namespace has been replaced"
    ),
    "another path": Row(
        lambda node: node.make_namespace("red"),
        "recreated",
        "its network namespace has been replaced",
        desired={**ARGS, "netns": "red"},
    ),
    "the same namespace at another path": Row(
        lambda node: (node.netns / "blue").rename(node.netns / "red"),
        "recreated",
        "its network namespace moved from NETNS/blue to NETNS/red",
        desired={**ARGS, "netns": "red"},
    ),
    "another configuration": Row(
        lambda node: node.write(plugins=[{"type": "a", "new": 1}, {"type": "b"}]),
        "recreated",
        "the network's configuration has changed",
    ),
    "what plugins are not told": Row(lambda node: node.write(disableGC=True), "checked", commands=CHECKED),
    "other arguments": Row(
        lambda node: None, "recreated", "its arguments have changed", desired={**ARGS, "args": {"K": "W"}}
    ),
    "no arguments": Row(lambda node: None, "recreated", "its arguments have changed", desired={**ARGS, "args": {}}),
    "other capability arguments": Row(
        lambda node: None, "recreated", "its capability arguments have changed", desired={**ARGS, "capability_args": {}}
    ),
    "other arguments for args.cni": Row(
        lambda node: None,
        "recreated",
        "its arguments for args.cni have changed",
        desired={**ARGS, "config_args": {"ips": ["10.1.0.9"]}},
    ),
    "no arguments for args.cni": Row(
        lambda node: None, "recreated", "its arguments for args.cni have changed", desired=WITHOUT
    ),
    "an empty record": Row(_write_record(b""), "recreated", "its record is broken: "),
    "a record cut off": Row(_write_record(b'{"kind": "cniCacheV1", "con'), "recreated", "its record is broken: "),
    "a record of zeros": Row(_write_record(bytes(100)), "recreated", "its record is broken: "),
    "a record of something else": Row(_write_record(b'{"kind": "other"}'), "recreated", "its record is broken: "),
    "a record without configuration": Row(
        _records(lambda document: document.update(config="e30=")), "recreated", "its record is broken: "
    ),
    "killed in ADD": Row(_interrupt("ADD", recorded=False), "recreated", "an earlier run was interrupted at ADD"),
    "killed after ADD": Row(_interrupt("ADD", recorded=True), "checked", commands=CHECKED),
    "killed in DEL": Row(_interrupt("DEL", recorded=True), "recreated", "an earlier run was interrupted at DEL"),
    "killed after DEL": Row(_interrupt("DEL", recorded=False), "recreated", "an earlier run was interrupted at DEL"),
    "power lost in DEL": Row(_write_intent(b""), "recreated", "an earlier run was interrupted at DEL"),
    "power lost in ADD": Row(_loses_power_in_add, "recreated", "its record is broken: "),
    # Only our own part of a record has arguments for args.cni.
    "taken over by another runtime": Row(_make_foreign(), "checked", commands=CHECKED, desired=WITHOUT),
    "taken over by libcni before 1.2": Row(_make_foreign("netns"), "checked", commands=CHECKED, desired=WITHOUT),
}


def _desire(node: FakeNode, keys: JsonObject) -> t.Any:
    netns = {"netns": str(node.netns / keys["netns"])} if "netns" in keys else {}
    return node.attachment(**{**keys, **netns})


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_facts_determine_the_action_and_check_mode_predicts_it(node: FakeNode, row: Row) -> None:
    _attach(node)
    row.since(node)
    before, desired = node.files(), _desire(node, row.desired)
    predicted = node.ensure(desired, dry_run=True)
    assert set(node.commands()) <= {"CHECK"}
    assert node.files() == before
    done = node.ensure(desired)
    assert (done.error, done.action, done.changed) == (None, row.action, row.action != "checked")
    assert done.reason.startswith(row.reason.replace("NETNS", str(node.netns)))
    assert bool(done.reason) == bool(row.reason)
    assert (predicted.action, predicted.reason, predicted.changed) == (done.action, done.reason, done.changed)
    assert node.commands() == list(row.commands)
    assert node.intent() is None or row.action == "checked"
    assert node.ensure(desired).action == "checked"


ABSENT = {
    "recorded": (lambda node: None, "removed"),
    "never made": (lambda node: node.record_file().unlink(), "unchanged"),
    "its namespace gone": (lambda node: node.drop_namespace(), "removed"),
    "its network gone": (lambda node: (node.conf_dir / "10-net.conflist").unlink(), "removed"),
    "its network changed": (lambda node: node.write(plugins=[{"type": "nowhere"}]), "removed"),
    "its record broken": (_write_record(b""), "removed"),
    "killed in ADD": (_interrupt("ADD", recorded=False), "removed"),
    "killed in DEL": (_interrupt("DEL", recorded=True), "removed"),
    "another runtime's": (_make_foreign(), "removed"),
}


@pytest.mark.parametrize(("since", "action"), ABSENT.values(), ids=ABSENT)
def test_absent_requires_only_the_record(node: FakeNode, since: Spoil, action: str) -> None:
    _attach(node)
    since(node)
    before, attachment = node.files(), node.attachment()
    predicted = node.ensure(attachment, present=False, dry_run=True)
    assert (node.commands(), node.files()) == ([], before)
    done = node.ensure(attachment, present=False)
    assert (done.action, done.changed, done.error) == (action, action == "removed", None)
    assert (predicted.action, predicted.reason) == (done.action, done.reason)
    assert node.commands() == (["DEL"] if action == "removed" else [])
    assert (node.record(), node.intent()) == (None, None)
    assert node.ensure(attachment, present=False).action == "unchanged"


def test_del_uses_the_recorded_configuration_and_arguments(node: FakeNode) -> None:
    node.write(plugins=[{"type": "a", "capabilities": {"mac": True}, "old": 1}, {"type": "b"}])
    _attach(node)
    node.write(plugins=[{"type": "b"}])
    node.make_namespace()
    assert node.ensure(node.attachment(args={"K": "W"})).action == "recreated"
    assert node.executor.run("DEL") == [("DEL", "b"), ("DEL", "a")]
    (call,) = (call for call in node.executor.calls if (call.command, call.plugin) == ("DEL", "a"))
    assert call.attachment is not None
    assert dict(call.attachment.args) == ARGS["args"]
    # What the path names now is another one's.
    assert call.attachment.netns == ""
    assert (call.request["old"], call.request["runtimeConfig"]) == (1, ARGS["capability_args"])
    assert call.request["args"] == {"cni": ARGS["config_args"]}
    assert node.executor.run("ADD") == [("ADD", "b")]


def test_del_uses_the_current_path_of_the_namespace(node: FakeNode) -> None:
    _attach(node)
    (node.netns / "blue").rename(node.netns / "red")
    assert node.ensure(node.attachment(netns=str(node.netns / "red")), present=False).action == "removed"
    paths = [call.attachment.netns for call in node.executor.calls if call.attachment and call.command == "DEL"]
    assert paths == [str(node.netns / "red")] * 2


def test_a_broken_record_of_an_unknown_network_is_an_error(node: FakeNode) -> None:
    _attach(node)
    node.record_file().write_bytes(b"")
    (node.conf_dir / "10-net.conflist").unlink()
    for present in (True, False):
        before = node.files()
        outcome = node.ensure(node.attachment(), present=present)
        assert outcome.error is not None
        assert (outcome.action, outcome.error.code) == ("failed", Code.DECODE_FAILURE)
        assert "add the network again, or remove the record" in outcome.error.details
        assert (node.commands(), node.files()) == ([], before)


def test_a_missing_namespace_or_network_fails_without_running_a_plugin(node: FakeNode) -> None:
    _attach(node)
    node.drop_namespace()
    before = node.files()
    gone, unknown = node.ensure(node.attachment(**ARGS)), node.ensure(node.attachment(network="nowhere"))
    for outcome, text in ((gone, "does not exist"), (unknown, "no network 'nowhere'")):
        assert (outcome.action, outcome.changed) == ("failed", False)
        assert text in str(outcome.error)
    assert (node.commands(), node.files()) == ([], before)


def test_an_attachment_whose_intent_cannot_be_read_for_now_is_not_recreated(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    _attach(node)
    _interrupt("ADD", recorded=True)(node)
    with monkeypatch.context() as patch:
        refuse_file(patch, node.intent_file())
        outcome = node.ensure(node.attachment(**ARGS))
    assert (outcome.action, outcome.changed, node.commands()) == ("failed", False, [])
    assert node.ensure(node.attachment(**ARGS)).action == "checked"


def test_a_del_that_could_not_begin_is_not_a_change(node: FakeNode) -> None:
    _attach(node)
    node.intent_file().parent.rmdir()
    node.intent_file().parent.touch()
    outcome = node.ensure(node.attachment(), present=False)
    assert (outcome.action, outcome.changed, node.commands()) == ("failed", False, [])


def test_check_mode_tolerates_what_another_task_may_create(node: FakeNode) -> None:
    _attach(node)
    node.drop_namespace()
    gone = node.ensure(node.attachment(**ARGS), dry_run=True)
    unknown = node.ensure(node.attachment(network="nowhere"), dry_run=True)
    nothing = node.ensure(node.attachment("red"), dry_run=True)
    assert [outcome.action for outcome in (gone, unknown, nothing)] == ["recreated", "added", "added"]
    assert [outcome.error for outcome in (gone, unknown, nothing)] == [None] * 3
    for outcome, text in ((gone, "does not exist"), (unknown, "no network 'nowhere'"), (nothing, "does not exist")):
        assert text in str(outcome.missing_prerequisite)


def test_check_mode_names_a_missing_plugin(node: FakeNode) -> None:
    node.make_namespace()
    node.write(plugins=[{"type": "a", "ipam": {"type": "nowhere"}}])
    outcome = node.ensure(node.attachment(), dry_run=True)
    assert (outcome.action, outcome.error) == ("added", None)
    assert "plugin 'nowhere' is not installed" in str(outcome.missing_prerequisite)


def test_check_mode_fails_if_a_run_would_always_fail(node: FakeNode) -> None:
    (node.netns / "blue").mkdir()
    outcome = node.ensure(node.attachment(), dry_run=True)
    assert (outcome.action, outcome.missing_prerequisite) == ("failed", None)
    assert "is not a network namespace" in str(outcome.error)


def test_disable_check_changes_without_recreating_the_attachment(node: FakeNode) -> None:
    _attach(node)
    node.write(disableCheck=True)
    assert (node.ensure(node.attachment(**ARGS)).action, node.commands()) == ("unchanged", [])
    for dry_run in (True, False):
        assert (node.ensure(node.attachment(**ARGS), dry_run=dry_run, check="never").action, node.commands()) == (
            "unchanged",
            [],
        )
    node.write()
    assert (node.ensure(node.attachment(**ARGS)).action, node.commands()) == ("checked", ["CHECK"])


@pytest.mark.parametrize(("before", "after"), [(1, True), (False, 0), (1, 1.0)])
def test_a_value_of_another_type_is_a_change(node: FakeNode, before: object, after: object) -> None:
    node.make_namespace()
    node.write(plugins=[{"type": "a", "x": before}, {"type": "b"}])
    assert node.ensure(node.attachment()).action == "added"
    node.write(plugins=[{"type": "a", "x": after}, {"type": "b"}])
    assert node.ensure(node.attachment()).reason == "the network's configuration has changed"
    assert node.ensure(node.attachment(capability_args={"y": before})).action == "recreated"
    assert node.ensure(node.attachment(capability_args={"y": after})).reason == "its capability arguments have changed"


def test_an_equivalent_port_mapping_is_not_a_change(node: FakeNode) -> None:
    """Records of other runtimes and of earlier releases have values that are not normalized."""
    node.make_namespace()
    node.write(plugins=[{"type": "a", "capabilities": {"portMappings": True}}, {"type": "b"}])
    port = {"hostPort": 8080, "containerPort": 80}
    assert (
        node.ensure(node.attachment(capability_args={"portMappings": [{**port, "protocol": "TCP"}]})).action == "added"
    )
    same, other = ({"portMappings": [{**port, "protocol": protocol}]} for protocol in ("tcp", "udp"))
    assert node.ensure(node.attachment(capability_args=same)).action == "checked"
    assert node.ensure(node.attachment(capability_args=other)).reason == "its capability arguments have changed"
