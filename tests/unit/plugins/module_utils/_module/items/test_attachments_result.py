# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of the module attachments: entries, diff, time, and the message with the failures."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._module.items.attachments_result import (
    complete_result,
    entries_and_diff,
    timing,
    warnings,
)
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    Action,
    AttachmentResult,
    AttachmentState,
)
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import (
    PluginCall,
    Stopwatch,
    make_executor,
)

BLUE, RED = (Attachment("net", name, "eth0", f"/run/netns/{name}") for name in ("blue", "red"))
ATTACHED = AttachmentState()
RESTORED = AttachmentState(Restoration(("/opt/cni/bin", "/usr/lib/cni"), 60.0))
RESTORED_TEXT = "attached, restored at boot (plugins in /opt/cni/bin:/usr/lib/cni, time limit 60 s)"
FAILURE = CniError(Code.TRY_AGAIN, "the plugin bridge failed", "wait")
NO_PLUGIN: JsonObject = {"total": 0.1, "plugins": 0.0, "workers": 4, "slowest": None}


@pytest.fixture
def stopwatch() -> Stopwatch:
    return make_executor([], 60)


CHANGES: dict[str, tuple[JsonObject, str | None, str | None]] = {
    "unchanged": ({"before": ATTACHED, "after": ATTACHED}, None, None),
    "added": ({"action": Action.ADDED, "after": ATTACHED, "touched": True}, "absent", "attached"),
    "removed": ({"action": Action.REMOVED, "before": ATTACHED, "touched": True}, "attached", "absent"),
    "recreated": (
        {"action": Action.RECREATED, "before": ATTACHED, "after": ATTACHED, "reason": "its netns was replaced"},
        "attached, but its netns was replaced",
        "attached anew",
    ),
    "repaired": (
        {"action": Action.REPAIRED, "before": ATTACHED, "after": ATTACHED, "repairs": ("iptables -A x",)},
        "attached",
        "attached\niptables -A x",
    ),
    "restored from now on": ({"before": ATTACHED, "after": RESTORED}, "attached", RESTORED_TEXT),
    "failed half-way": (
        {"action": Action.FAILED, "before": RESTORED, "touched": True, "error": FAILURE},
        RESTORED_TEXT,
        "absent",
    ),
    "failed after a new ADD": (
        {"action": Action.FAILED, "before": ATTACHED, "after": ATTACHED, "touched": True, "error": FAILURE},
        "attached",
        "attached anew",
    ),
}


@pytest.mark.parametrize(("keys", "before", "after"), CHANGES.values(), ids=CHANGES)
def test_the_diff_shows_the_attachments_that_change(
    stopwatch: Stopwatch, keys: JsonObject, before: str | None, after: str | None
) -> None:
    parts = entries_and_diff([AttachmentResult(BLUE, **keys)], stopwatch)
    assert parts["diff"]["before"].get(str(BLUE)) == before
    assert parts["diff"]["after"].get(str(BLUE)) == after
    assert parts["attachments"][0]["changed"] is (before is not None)


def test_the_time_of_plugins_comes_from_the_calls_for_the_attachment(stopwatch: Stopwatch) -> None:
    stopwatch.calls += [
        PluginCall("bridge", "ADD", 0.5, BLUE.key),
        PluginCall("portmap", "ADD", 0.25, BLUE.key),
        PluginCall("bridge", "ADD", 2.0, RED.key),
        PluginCall("bridge", "VERSION", 4.0, None),
    ]
    parts = entries_and_diff([AttachmentResult(BLUE), AttachmentResult(RED)], stopwatch)
    assert [entry["plugin_seconds"] for entry in parts["attachments"]] == [0.75, 2.0]
    slowest = {"type": "bridge", "command": "VERSION", "seconds": 4.0}
    assert timing(stopwatch.calls, 4, 3.0) == {"total": 3.0, "plugins": 6.75, "workers": 4, "slowest": slowest}


def test_warnings_come_from_missing_prerequisites_and_tolerated_ports_alone() -> None:
    missing, tolerated = CniError(7, "no network"), CniError(7, "port in use")
    results = [
        AttachmentResult(BLUE, error=FAILURE, false_alarms=(FAILURE,)),
        AttachmentResult(BLUE, missing_prerequisite=missing, tolerated=tolerated),
    ]
    assert list(warnings(results)) == ["no network", "port in use"]


def entry(action: str, *, changed: bool = False, attachment: Attachment = BLUE) -> JsonObject:
    error = FAILURE.as_dict() if action == "failed" else None
    names = {"network": attachment.network, "container_id": attachment.container_id, "ifname": attachment.ifname}
    return {**names, "action": action, "changed": changed, "error": error}


def complete(*entries: JsonObject, predicted: bool = False, **parts: t.Any) -> JsonObject:
    return complete_result({"attachments": list(entries), "timing": NO_PLUGIN, **parts}, predicted=predicted)


entries = st.lists(st.builds(entry, st.sampled_from([action.value for action in Action]), changed=st.booleans()))


@settings(max_examples=40)
@given(entries, st.booleans(), st.sampled_from([{}, {"files": []}, {"files": [{"path": "/x", "action": "created"}]}]))
def test_a_result_changes_or_fails_if_an_entry_does(
    entries: list[JsonObject], predicted: bool, parts: JsonObject
) -> None:
    result = complete(*entries, predicted=predicted, **parts)
    assert result["changed"] is (any(entry["changed"] for entry in entries) or bool(parts.get("files")))
    failures = [entry for entry in entries if entry["action"] == "failed"]
    assert result["failed"] is bool(failures)
    assert sum(result["summary"].values()) == len(entries)
    assert result["msg"].count("\n") == len(failures)


def test_the_message_has_a_line_for_each_failure() -> None:
    result = complete(entry("added", changed=True), entry("failed", attachment=RED))
    assert result["msg"] == f"attachments: 1 added, 1 failed\n{RED}: {FAILURE}"


def test_an_incomplete_restoration_fails_the_task_although_all_attachments_are_there() -> None:
    result = complete(entry("unchanged"), error=FAILURE.as_dict())
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["msg"].endswith(f"\nthe files for restoration at boot are incomplete: {FAILURE}")


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (False, "attachments: 1 added; files for restoration at boot: 1 created"),
        (True, "attachments: 1 would be added; files for restoration at boot: 1 would be created"),
    ],
)
def test_the_message_of_check_mode_says_what_would_be_done(predicted: bool, message: str) -> None:
    files = [{"path": "/x", "action": "created"}]
    assert complete(entry("added", changed=True), predicted=predicted, files=files)["msg"] == message


@pytest.mark.parametrize(("workers", "where"), [(1, ""), (4, ", summed over 4 workers")])
def test_the_message_has_the_time_if_a_plugin_ran(workers: int, where: str) -> None:
    spent = timing([PluginCall("bridge", "ADD", 2.5, BLUE.key)], workers, 1.25)
    assert complete(timing=spent)["msg"] == f"attachments: none; 1.2 s, 2.5 s in plugins{where}"
