# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decisions after a failed CHECK or drift in the kernel, and the state after a failed ADD or DEL."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import AttachmentState, DesiredAttachment
from ansible_collections.cni.node.plugins.module_utils._reference import attachment_drift
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import MemoryAnswer, MemoryCall
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import MakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode


class Plugin:
    """A plugin that fails at given commands until a test repairs it."""

    def __init__(self) -> None:
        self.fails: set[str] = set()
        self.recovers = False
        self.code = 100

    def __call__(self, call: MemoryCall) -> CniError | None:
        if call.command not in self.fails:
            return None
        if self.recovers:
            self.fails.discard(call.command)
        return CniError(self.code, f"{call.command} fails")


@pytest.fixture
def plugin() -> Plugin:
    return Plugin()


@pytest.fixture
def node(make_node: MakeNode, plugin: Plugin) -> FakeNode:
    made = make_node(b=t.cast(MemoryAnswer, plugin))
    made.make_namespace()
    return made


# The decision after a failed CHECK of an existing attachment: action, changed, error.
EXISTING = {
    ("always", "recreate"): ("recreated", True, False),
    ("always", "fail"): ("failed", False, True),
    ("always", "report"): ("checked", False, True),
    **{
        (check, on_drift): ("unchanged", False, False)
        for check in ("changed", "never")
        for on_drift in ("recreate", "fail", "report")
    },
}
# The same right after ADD.
NEW = {
    **{
        (check, on_drift): ("failed", True, True)
        for check in ("always", "changed")
        for on_drift in ("recreate", "fail")
    },
    **{(check, "report"): ("added", True, True) for check in ("always", "changed")},
    **{("never", on_drift): ("added", True, False) for on_drift in ("recreate", "fail", "report")},
}


@pytest.mark.parametrize(("policy", "expected"), EXISTING.items())
def test_a_failed_check_of_an_existing_attachment_follows_on_drift(
    node: FakeNode, plugin: Plugin, policy: tuple[str, str], expected: tuple[str, bool, bool]
) -> None:
    check, on_drift = policy
    node.ensure(node.attachment())
    plugin.fails = {"CHECK"}
    predicted = node.ensure(node.attachment(), check=check, on_drift=on_drift, dry_run=True)
    assert node.commands() == (["CHECK"] if check == "always" else [])
    plugin.recovers = True
    done = node.ensure(node.attachment(), check=check, on_drift=on_drift)
    for outcome in (predicted, done):
        assert (outcome.action, outcome.changed, outcome.error is not None) == expected
    assert predicted.reason == done.reason
    assert done.reason.startswith("CHECK failed: CHECK fails" if check == "always" else "")
    asked = {"recreate": ["CHECK", "DEL", "ADD", "CHECK"], "fail": ["CHECK"], "report": ["CHECK"]}
    assert node.commands() == (asked[on_drift] if check == "always" else [])


@pytest.mark.parametrize("code", [Code.TRY_AGAIN, Code.IO_FAILURE, Code.INCOMPATIBLE_VERSION])
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_check_without_evidence_of_drift_keeps_the_attachment(
    node: FakeNode, plugin: Plugin, code: Code, dry_run: bool
) -> None:
    node.ensure(node.attachment())
    plugin.fails, plugin.code = {"CHECK"}, code
    node.patience = 0
    done = node.ensure(node.attachment(), dry_run=dry_run)
    assert (done.action, done.changed, done.after, node.commands()) == ("failed", False, AttachmentState(), ["CHECK"])
    assert "kept as it is, because this error is not evidence of drift" in str(done.error)


@pytest.mark.parametrize(("policy", "expected"), NEW.items())
def test_a_failed_check_right_after_add_keeps_the_attachment(
    node: FakeNode, plugin: Plugin, policy: tuple[str, str], expected: tuple[str, bool, bool]
) -> None:
    check, on_drift = policy
    plugin.fails = {"CHECK"}
    done = node.ensure(node.attachment(), check=check, on_drift=on_drift)
    assert (done.action, done.changed, done.error is not None) == expected
    assert node.commands() == ["ADD"] + ["CHECK"] * (check != "never")
    assert node.record() is not None
    if expected[0] == "failed":
        assert "CHECK fails right after ADD, so recreating the attachment will not help: CHECK fails" in str(done.error)


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_attachment_is_not_recreated_if_its_check_failed_in_the_same_way_right_after_add(
    node: FakeNode, plugin: Plugin, dry_run: bool
) -> None:
    plugin.fails = {"CHECK"}
    node.ensure(node.attachment())
    node.commands()
    again = node.ensure(node.attachment(), dry_run=dry_run)
    assert (again.action, again.changed, node.commands()) == ("failed", False, ["CHECK"])
    assert "kept as it is, because CHECK failed in this way right after ADD" in str(again.error)
    node.write(plugins=[{"type": "a", "new": 1}, {"type": "b"}])
    plugin.fails = set()
    assert node.ensure(node.attachment(), dry_run=dry_run).action == "recreated"


@pytest.mark.parametrize("keys", [{"disableCheck": True}, {"cniVersion": "0.3.1"}], ids=str)
def test_disable_check_runs_no_check(node: FakeNode, plugin: Plugin, keys: JsonObject) -> None:
    node.write(**keys)
    plugin.fails = {"CHECK"}
    assert node.ensure(node.attachment()).action == "added"
    again = node.ensure(node.attachment())
    assert (again.action, again.result is not None, node.commands()) == ("unchanged", True, [])


def test_a_failed_add_is_undone_without_leaving_files(node: FakeNode, plugin: Plugin) -> None:
    plugin.fails = {"ADD"}
    failed = node.ensure(node.attachment())
    assert (failed.action, failed.changed, node.commands()) == ("failed", False, ["ADD", "DEL"])
    assert "the DEL that followed succeeded; nothing is left behind" in str(failed.error)
    assert node.files() == {}


def test_an_add_that_cannot_be_undone_is_undone_by_the_next_run(node: FakeNode, plugin: Plugin) -> None:
    plugin.fails = {"ADD", "DEL"}
    failed = node.ensure(node.attachment())
    assert "the DEL that followed failed too and will be repeated by the next run: " in str(failed.error)
    plugin.fails.clear()
    mended = node.ensure(node.attachment())
    assert (mended.action, mended.reason) == ("recreated", "an earlier run was interrupted at DEL")
    assert node.commands() == ["DEL", "ADD", "CHECK"]


def test_an_attachment_is_not_added_again_after_del_failed(node: FakeNode, plugin: Plugin) -> None:
    node.ensure(node.attachment())
    node.write(plugins=[{"type": "a", "new": 1}, {"type": "b"}])
    plugin.fails = {"DEL"}
    failed = node.ensure(node.attachment())
    assert (failed.action, node.commands()) == ("failed", ["DEL"])
    assert "DEL of the attachment of blue (eth0) to network net" in str(failed.error)
    assert node.record() is not None
    plugin.fails.clear()
    assert node.ensure(node.attachment()).reason == "an earlier run was interrupted at DEL"
    assert node.commands() == ["DEL", "ADD", "CHECK"]


def test_a_removed_attachment_counts_as_changed_if_add_fails(node: FakeNode, plugin: Plugin) -> None:
    node.ensure(node.attachment())
    node.write(plugins=[{"type": "a", "new": 1}, {"type": "b"}])
    plugin.fails = {"ADD"}
    failed = node.ensure(node.attachment())
    assert (failed.action, failed.changed) == ("failed", True)
    assert node.record() is None


def test_a_failed_recreation_has_no_result(node: FakeNode, plugin: Plugin) -> None:
    node.ensure(node.attachment())
    plugin.fails = {"CHECK", "ADD"}
    failed = node.ensure(node.attachment())
    assert (failed.action, failed.after, failed.result) == ("failed", None, None)


def test_a_removal_that_fails_keeps_the_record(node: FakeNode, plugin: Plugin) -> None:
    node.ensure(node.attachment())
    plugin.fails = {"DEL"}
    assert node.ensure(node.attachment(), present=False).action == "failed"
    # Every plugin has been asked nevertheless.
    assert node.executor.run("DEL") == [("DEL", "b"), ("DEL", "a")]
    plugin.fails.clear()
    assert node.ensure(node.attachment(), present=False).action == "removed"
    assert node.files() == {}


def test_the_result_of_an_attachment_is_the_result_of_add(node: FakeNode) -> None:
    added, checked = node.ensure(node.attachment()), node.ensure(node.attachment())
    unchecked = node.ensure(node.attachment(), check="never")
    removed = node.ensure(node.attachment(), present=False)
    assert added.result == checked.result == unchecked.result
    assert added.result is not None
    assert added.result["ips"] == [{"address": "10.1.0.2/16"}]
    assert removed.result is None
    assert [outcome.seconds > 0 for outcome in (added, checked, unchecked, removed)] == [True] * 4


def test_an_attachment_that_fails_check_after_add_is_recorded_for_restoration(node: FakeNode, plugin: Plugin) -> None:
    plugin.fails = {"CHECK"}
    restoration = Restoration(("/opt/cni/bin",), 60.0)
    (outcome,) = node.converge(DesiredAttachment(node.attachment(), restoration=restoration))
    record = node.record()
    assert record is not None
    assert (outcome.action, outcome.after) == ("failed", AttachmentState(record.restoration))
    assert record.restoration == restoration


@pytest.fixture
def drifted(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """Return a node with a drifted attachment."""
    node.make_namespace()
    node.ensure(node.attachment())
    monkeypatch.setattr(
        attachment_drift,
        "find_link_drift",
        lambda *dummy, **options: LinkDrift(("eth0 is gone", "so is its address"), ()),
    )
    return node


MESSAGES = "eth0 is gone; so is its address"


@pytest.mark.parametrize("check", ["always", "drift"])
@pytest.mark.parametrize("on_drift", ["recreate", "fail", "report"])
def test_on_drift_decides_the_action_for_drift_in_the_kernel(drifted: FakeNode, check: str, on_drift: str) -> None:
    outcome = drifted.ensure(drifted.attachment(), check=check, on_drift=on_drift, dry_run=True)
    assert (outcome.action, outcome.changed, outcome.error is not None) == EXISTING["always", on_drift]
    assert (outcome.reason.startswith(MESSAGES), drifted.commands()) == (True, [])


PLACES = {
    "in the container": (LinkDrift(("eth0 is gone",), ()), "looked for in {netns}"),
    "on the node": (LinkDrift((), ("cni0 is gone",)), "looked for on the node"),
    "in both": (
        LinkDrift(("eth0 is gone",), ("cni0 is gone",)),
        "looked for in {netns} and on the node",
    ),
}


@pytest.mark.parametrize(("drift", "details"), PLACES.values(), ids=PLACES)
def test_the_details_of_drift_name_the_place(
    drifted: FakeNode, monkeypatch: pytest.MonkeyPatch, drift: LinkDrift, details: str
) -> None:
    monkeypatch.setattr(attachment_drift, "find_link_drift", lambda *dummy, **options: drift)
    outcome = drifted.ensure(drifted.attachment(), on_drift="fail")
    netns = drifted.attachment().netns
    assert outcome.error is not None
    assert outcome.error.details == details.format(netns=netns)


@pytest.mark.parametrize("check", ["changed", "never"])
def test_some_values_of_check_ignore_drift(drifted: FakeNode, check: str) -> None:
    assert drifted.ensure(drifted.attachment(), check=check).action == "unchanged"


def test_drift_right_after_add_is_an_error(drifted: FakeNode) -> None:
    outcome = drifted.ensure(drifted.attachment())
    assert (outcome.action, drifted.commands()) == ("failed", ["DEL", "ADD"])
    assert f"right after ADD, so recreating the attachment will not help: {MESSAGES}" in str(outcome.error)


def test_check_drift_runs_no_plugin(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment_drift, "find_link_drift", lambda *dummy, **options: LinkDrift((), ()))
    node.make_namespace()
    assert node.ensure(node.attachment(), check="drift").action == "added"
    again = node.ensure(node.attachment(), check="drift")
    assert (again.action, again.changed, again.result is not None) == ("checked", False, True)
    assert node.executor.calls == []


def test_an_attachment_with_nothing_to_compare_is_unchanged(node: FakeNode) -> None:
    node.make_namespace()
    node.ensure(node.attachment(), check="drift")
    assert node.ensure(node.attachment(), check="drift").action == "unchanged"
