# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An attachment that is replaced by another one is not lost."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    AttachmentState,
    DesiredAttachment,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryCall,
    fails_at,
    succeeds,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import MakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import (
    FakeNode,
    return_address,
)

NEW = [{"type": "a"}, {"type": "new"}]


def _move(node: FakeNode) -> AttachmentResult:
    """Return the result of a run after the network's plugins have changed."""
    node.make_namespace()
    node.ensure(node.attachment(args={"K": "V"}), check="never")
    node.write(plugins=NEW)
    return node.ensure(node.attachment(args={"K": "V"}), check="never")


def test_an_attachment_is_rolled_back_when_it_cannot_be_recreated(make_node: MakeNode) -> None:
    node = make_node(new=fails_at("ADD"))
    failed = _move(node)
    assert (failed.action, failed.changed, failed.after) == ("failed", True, AttachmentState())
    assert "to network net has been added again as it was before" in str(failed.error)
    record = node.record()
    assert record is not None
    assert [plugin.type for plugin in record.network().plugins] == ["a", "b"]
    assert record.result is not None
    assert failed.result == record.result.keys
    assert (record.attachment.args, node.intent()) == ({"K": "V"}, None)
    assert node.commands() == ["DEL", "ADD", "DEL", "ADD"]


def test_the_next_run_after_a_roll_back_recreates_the_attachment(make_node: MakeNode) -> None:
    node = make_node(new=fails_at("ADD"))
    _move(node)
    node.executor.plugins["new"] = succeeds
    again = node.ensure(node.attachment(args={"K": "V"}))
    assert (again.action, again.reason) == ("recreated", "the network's configuration has changed")


def test_a_failed_roll_back_reports_both_errors(make_node: MakeNode) -> None:
    calls: list[str] = []

    def works_once(call: MemoryCall) -> JsonObject | CniError | None:
        calls.append(call.command)
        if call.command == "ADD" and calls.count("ADD") > 1:
            return CniError(100, "once is enough")
        return return_address(call)

    node = make_node(a=works_once, new=fails_at("ADD"))
    failed = _move(node)
    assert (failed.action, failed.after, node.record()) == ("failed", None, None)
    assert "to network net could not be added again as it was before: " in str(failed.error)


def test_an_attachment_is_kept_when_a_plugin_is_missing(node: FakeNode) -> None:
    failed = _move(node)
    assert (failed.action, failed.changed, node.commands()) == ("failed", False, [])
    assert node.record() is not None


def test_an_attachment_recreated_because_of_drift_is_not_rolled_back(make_node: MakeNode) -> None:
    """Rolling back would only repeat the failed ADD."""
    node = make_node(b=lambda call: CniError(100, "no") if call.command in fails else None)
    fails: set[str] = set()
    node.make_namespace()
    node.ensure(node.attachment())
    fails |= {"CHECK", "ADD"}
    failed = node.ensure(node.attachment())
    assert (failed.action, failed.after) == ("failed", None)
    assert node.commands() == ["CHECK", "DEL", "ADD", "DEL"]


@pytest.mark.parametrize("old_is_first", [True, False])
def test_a_container_leaves_networks_before_it_joins_others(node: FakeNode, old_is_first: bool) -> None:
    """Both attachments have the same interface name."""
    node.make_namespace()
    node.ensure(node.attachment())
    node.write("other")
    desired = [DesiredAttachment(node.attachment(), present=False), DesiredAttachment(node.attachment(network="other"))]
    outcomes = node.converge(*(desired if old_is_first else reversed(desired)), check="never")
    assert sorted(outcome.action for outcome in outcomes) == ["added", "removed"]
    assert node.commands() == ["DEL", "ADD"]


def _rename(node: FakeNode, **policy: t.Any) -> list[AttachmentResult]:
    """Return the results of a run after the network has been renamed."""
    node.make_namespace()
    node.ensure(node.attachment(args={"K": "V"}), check="never")
    node.write("other", plugins=NEW)
    return node.converge(
        DesiredAttachment(node.attachment(network="other")),
        DesiredAttachment(node.attachment(), present=False),
        **policy,
    )


def test_a_removed_attachment_is_rolled_back_when_its_replacement_fails(make_node: MakeNode) -> None:
    node = make_node(new=fails_at("ADD"))
    joined, former = _rename(node)
    assert (joined.action, former.action, former.changed, former.after) == (
        "failed",
        "recreated",
        True,
        AttachmentState(),
    )
    assert "to network net has been added again as it was before" in str(joined.error)
    assert former.reason == "its replacement, the attachment of blue (eth0) to network other, could not be added"
    record = node.record()
    assert record is not None
    assert (record.attachment.args, node.intent()) == ({"K": "V"}, None)


def test_an_attachment_is_kept_when_a_plugin_of_its_replacement_is_missing(node: FakeNode) -> None:
    joined, former = _rename(node)
    assert (joined.action, former.action, former.changed, node.commands()) == ("failed", "failed", False, [])
    assert "kept because its replacement, the attachment of blue (eth0) to network other, cannot be added" in str(
        former.error
    )
    assert node.record() is not None


def test_an_attachment_is_removed_when_its_replacement_is_added(make_node: MakeNode) -> None:
    node = make_node(new=succeeds)
    joined, former = _rename(node, check="never")
    assert (joined.action, former.action, node.record(), node.commands()) == ("added", "removed", None, ["DEL", "ADD"])


def test_an_attachment_at_another_interface_is_not_a_replacement(make_node: MakeNode) -> None:
    node = make_node(new=fails_at("ADD"))
    node.make_namespace()
    node.ensure(node.attachment(), check="never")
    node.write("other", plugins=NEW)
    joined, former = node.converge(
        DesiredAttachment(node.attachment(network="other", ifname="eth1")),
        DesiredAttachment(node.attachment(), present=False),
    )
    assert (joined.action, former.action, node.record()) == ("failed", "removed", None)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    "wrong", [{"args": {"K": "a=b"}}, {"ifname": "eth0", "netns": "/proc/self/ns/net"}], ids=["args", "netns"]
)
def test_an_attachment_is_kept_when_its_replacement_is_invalid(
    make_node: MakeNode, wrong: JsonObject, dry_run: bool
) -> None:
    node = make_node(new=succeeds)
    node.make_namespace()
    node.ensure(node.attachment(), check="never")
    node.write("other", plugins=NEW)
    joined, former = node.converge(
        DesiredAttachment(node.attachment(network="other", **wrong)),
        DesiredAttachment(node.attachment(), present=False),
        dry_run=dry_run,
    )
    assert (joined.action, former.action, former.changed, node.commands()) == ("failed", "failed", False, [])
    assert "kept because its replacement, the attachment of blue (eth0) to network other, cannot be added" in str(
        former.error
    )
