# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a module's run, the only place where an error becomes a failure."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.run import (
    count_entries,
    run,
    summarize_actions,
    warn,
)

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class Ended(Exception):
    pass


class Recorder:
    """A fake module that keeps its results, failures and warnings."""

    def __init__(self) -> None:
        self.argument_spec: JsonObject = {}
        self.params: JsonObject = {}
        self.exits: list[tuple[str, JsonObject]] = []
        self.warnings: list[str] = []

    def exit_json(self, **result: t.Any) -> t.NoReturn:
        self.exits.append(("exit", result))
        raise Ended

    def fail_json(self, **result: t.Any) -> t.NoReturn:
        self.exits.append(("fail", result))
        raise Ended

    def warn(self, warning: str) -> None:
        self.warnings.append(warning)


def _ran(operation: t.Callable[[AnsibleModule], JsonObject]) -> tuple[str, JsonObject]:
    recorder = Recorder()
    with pytest.raises(Ended):
        run(t.cast("AnsibleModule", recorder), operation)
    (exit_call,) = recorder.exits
    return exit_call


def test_actions_are_counted_in_the_order_of_their_names() -> None:
    assert summarize_actions(["removed", "added", "removed"]) == "1 added, 2 removed"
    assert summarize_actions([]) == "none"


def test_an_unexpected_error_is_reported_without_a_traceback() -> None:
    def operation(module: AnsibleModule) -> JsonObject:
        raise ValueError("no closing quotation")

    end, result = _ran(operation)
    assert (end, result["error"]["code"]) == ("fail", 999)
    assert result["msg"].startswith("unexpected ValueError: no closing quotation; in operation, test_run.py:")


def test_the_result_of_a_module_is_returned() -> None:
    assert _ran(lambda module: {"changed": True, "msg": "phrase_action"}) == (
        "exit",
        {"changed": True, "msg": "phrase_action"},
    )


def test_a_result_marked_as_failed_fails_with_all_its_keys() -> None:
    result = {"changed": True, "failed": True, "msg": "one of two", "entries": [1, 2]}
    assert _ran(lambda module: result) == ("fail", result)


def test_a_failed_module_returns_one_sentence_and_the_keys_of_an_error_result() -> None:
    def fails(module: AnsibleModule) -> JsonObject:
        raise CniError(7, "what", "expected")

    error = {"code": 7, "msg": "what", "details": "expected"}
    assert _ran(fails) == ("fail", {"msg": "what; expected", "error": error})


def test_a_warning_is_given_once() -> None:
    recorder = Recorder()
    warn(t.cast("AnsibleModule", recorder), iter(["a", "b", "a"]))
    assert recorder.warnings == ["a", "b"]


@pytest.mark.parametrize("action", ["added", "recreated", "repaired", "removed", "created", "collected"])
def test_check_mode_announces_changes(action: str) -> None:
    assert summarize_actions([action], predicted=True) == f"1 would be {action}"


@pytest.mark.parametrize("action", ["unchanged", "failed", "drifted", "skipped", "checked", "kept"])
def test_check_mode_states_an_unchanged_result_as_a_fact(action: str) -> None:
    assert summarize_actions([action], predicted=True) == f"1 {action}"


@pytest.mark.parametrize(
    ("name", "entries", "text"),
    [
        ("plugins", [{}], "1 plugin"),
        ("netns", [{}], "1 netns"),
        ("netns", [], "0 netns"),
        ("networks", [{"error": None}, {"error": {"code": 7}}], "2 networks (1 with an error)"),
    ],
)
def test_entries_are_counted_with_their_errors(name: str, entries: list[JsonObject], text: str) -> None:
    assert count_entries(name, entries) == text


def test_control_characters_in_a_result_do_not_reach_the_terminal() -> None:
    result = {"changed": False, "msg": "one\ntwo \x1b[2J", "links": [{"\x07": ("\x9b",)}]}
    dummy, escaped = _ran(lambda module: result)
    assert escaped == {"changed": False, "msg": "one\ntwo \\x1b[2J", "links": [{"\\x07": ["\\x9b"]}]}


def test_an_operation_is_not_begun_with_a_path_that_has_a_line_break() -> None:
    recorder = Recorder()
    recorder.argument_spec = {"cache_dir": {"type": "path"}}
    recorder.params = {"cache_dir": "/var/lib/cni\nExecStart=/bin/sh"}
    begun: list[object] = []

    def operation(module: AnsibleModule) -> JsonObject:
        begun.append(module)
        return {}

    with pytest.raises(Ended):
        run(t.cast("AnsibleModule", recorder), operation)
    ((end, result),) = recorder.exits
    assert (end, result["error"]["code"], begun) == ("fail", 7, [])
    assert result["msg"].startswith("cache_dir: ")
