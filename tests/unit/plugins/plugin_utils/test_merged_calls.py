# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of several calls are merged into the result of a single call."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

from ansible_collections.cni.node.plugins.module_utils._module.items.attachments_result import complete_result
from ansible_collections.cni.node.plugins.plugin_utils._merged_calls import MergedCalls

ERROR: JsonObject = {"code": 7, "msg": "no", "details": "not at all"}


def entry(container: str, action: str = "added") -> JsonObject:
    failed = action == "failed"
    names = {"network": "net", "container_id": container, "ifname": "eth0"}
    return {**names, "action": action, "changed": not failed, "error": ERROR if failed else None}


def timing(seconds: float, plugin: str = "bridge", workers: int = 2) -> JsonObject:
    slowest = {"type": plugin, "command": "ADD", "seconds": seconds / 2}
    return {"total": seconds, "plugins": seconds, "workers": workers, "slowest": slowest}


def result(*entries: JsonObject, remaining: t.Sequence[int] = (), **keys: t.Any) -> JsonObject:
    names = [f"attachment of {entry['container_id']}" for entry in entries if entry["changed"]]
    diff = {"before": dict.fromkeys(names, "absent"), "after": dict.fromkeys(names, "attached")}
    done = complete_result(
        {"timing": timing(1.0), "diff": diff, "invocation": {"module_args": {}}, **keys, "attachments": list(entries)},
        predicted=False,
    )
    return {**done, "_controller": {"remaining": list(remaining), "purged": []}} if remaining else done


def merge(*results: JsonObject) -> MergedCalls:
    first, *others = results
    calls = MergedCalls(first, predicted=False)
    for later in others:
        calls.take(later)
    return calls


def test_the_result_of_several_calls_equals_that_of_one_call() -> None:
    entries = [entry("a"), entry("b", "failed"), entry("c", "removed"), entry("d", "checked"), entry("e")]
    several = merge(
        result(entries[0], entries[3], remaining=[1, 2, 4], timing=timing(1.0, "portmap"), warnings=["x", "y"]),
        result(entries[1], remaining=[2, 4], timing=timing(4.0)),
        result(entries[2], entries[4], timing=timing(2.0, workers=1), warnings=["y", "z"]),
    )
    assert several.continuation == {}
    slowest = {"type": "bridge", "command": "ADD", "seconds": 2.0}
    took = {"total": 7.0, "plugins": 7.0, "workers": 2, "slowest": slowest}
    assert several.result() == result(*entries, timing=took, warnings=["x", "y", "z"])
    assert several.result()["msg"] == (
        "attachments: 2 added, 1 checked, 1 failed, 1 removed; 7.0 s, 7.0 s in plugins, summed over 2 workers\n"
        "attachment of b (eth0) to network net: no; not at all"
    )


def test_the_last_call_reports_the_boot_state() -> None:
    files = [{"path": "/x", "action": "created"}]
    of_file = {"before_header": "/x", "before": "", "after_header": "/x", "after": "1"}
    last = result(entry("b"), files=files)
    last["diff"] = [last["diff"], of_file]
    whole = merge(result(entry("a"), remaining=[1]), last).result()
    assert whole["files"] == files
    states, *others = whole["diff"]
    assert (list(states["after"]), others) == (["attachment of a", "attachment of b"], [of_file])
    assert whole["msg"].endswith("; files for restoration at boot: 1 created")
    failed = merge(result(entry("a"), remaining=[1]), result(entry("b"), error=ERROR)).result()
    assert (failed["failed"], failed["error"]) == (True, ERROR)
    assert failed["msg"].endswith("\nthe files for restoration at boot are incomplete: no; not at all")


LOST: dict[str, tuple[JsonObject, JsonObject]] = {
    "a call that crashed": (
        {"failed": True, "msg": "MODULE FAILURE", "module_stderr": "Killed", "rc": 137},
        {"failed": True, "module_stderr": "Killed", "rc": 137},
    ),
    "a call that is refused": (
        {"failed": True, "changed": False, "msg": "a file is broken", "error": ERROR, "warnings": ["y"]},
        {"failed": True, "error": ERROR, "warnings": ["x", "y"]},
    ),
    "a node that is gone": ({"unreachable": True, "msg": "no route"}, {"unreachable": True, "failed": False}),
}


@pytest.mark.parametrize(("lost", "expected"), LOST.values(), ids=LOST)
def test_earlier_results_are_returned_with_the_error(lost: JsonObject, expected: JsonObject) -> None:
    calls = merge(result(entry("b"), entry("c"), remaining=[0, 3], warnings=["x"]), lost)
    assert calls.continuation == {}
    whole = calls.result()
    assert {key: whole[key] for key in expected} == expected
    assert (whole["changed"], whole["summary"]) == (True, {"added": 2})
    assert [attachment["container_id"] for attachment in whole["attachments"]] == ["b", "c"]
    assert whole["msg"].startswith(f"{lost['msg']}\nbefore that, of 4 attachments: 2 added; ")


def test_each_call_gets_the_continuation_of_the_one_before() -> None:
    first = result(entry("a"), remaining=[1, 2])
    calls = merge(first)
    assert calls.continuation == first["_controller"]
    assert "_controller" not in calls.result()


@pytest.mark.parametrize(
    ("seconds", "names", "line"),
    [
        (0.1, True, "attachments: 3 of 5, 1 failed, 30/s, slowest portmap 0.41 s"),
        (2.0, True, "attachments: 3 of 5, 1 failed, 1.5/s, slowest portmap 0.41 s"),
        (2.0, False, "attachments: 3 of 5, 1 failed, 1.5/s"),
    ],
)
def test_progress_has_the_rate_and_the_slowest_plugin(seconds: float, names: bool, line: str) -> None:
    entries = entry("a"), entry("b", "failed"), entry("c")
    calls = merge(result(*entries, remaining=[3, 4], timing=timing(0.82, "portmap")))
    assert calls.progress(seconds, names=names) == line


def test_progress_names_no_plugin_if_no_plugin_ran() -> None:
    nothing = {**timing(0.0), "slowest": None}
    calls = merge(
        result(entry("a", "unchanged"), remaining=[1], timing=nothing),
    )
    assert calls.progress(2.0, names=True) == "attachments: 1 of 2, 0.5/s"
    assert calls.result()["msg"] == "attachments: 1 unchanged"
