# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of attachments: how many calls a node gets, and the progress shown between them."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.cni.node.plugins.action import attachments
from ansible_collections.cni.node.plugins.action.attachments import ActionModule
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils.test_merged_calls import entry, result

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")


class AttachmentsAction(ActionModule):
    """An action whose node returns the given answers in turn; an answer that is an exception is raised."""

    answers: list[JsonObject | Exception]
    requests: list[JsonObject]

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        self.requests.append(keywords)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class AttachmentsController:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str] = []
        show = types.SimpleNamespace(display=lambda line, stderr: self.shown.append(line) if stderr else None)
        monkeypatch.setattr(attachments, "display", show)

    def run(self, *answers: JsonObject | Exception, **keywords: t.Any) -> tuple[JsonObject, AttachmentsAction]:
        usual = {"async_val": 0, "check_mode": False, "diff": False, "delegate_to": None, "no_log": False}
        task: t.Any = types.SimpleNamespace(args={"attachments": [], "_controller": "forged"}, **{**usual, **keywords})
        connection: t.Any = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir=None), has_native_async=False)
        action = AttachmentsAction(
            task, connection, t.cast("t.Any", None), t.cast("t.Any", None), t.cast("t.Any", None), None
        )
        action.answers, action.requests = list(answers), []
        return action.run(task_vars={"inventory_hostname": "node1"}), action


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> AttachmentsController:
    return AttachmentsController(monkeypatch)


def test_the_result_of_a_single_call_is_returned_unchanged(controller: AttachmentsController) -> None:
    answer = {"msg": "whatever", "failed": True, "invocation": {"module_args": {"_controller": {}, "purge": True}}}
    done, action = controller.run(answer)
    assert done == {"msg": "whatever", "failed": True, "invocation": {"module_args": {"purge": True}}}
    assert [request["module_args"] for request in action.requests] == [{"attachments": [], "_controller": {}}]
    assert controller.shown == []


def test_the_action_calls_the_module_until_all_items_are_done_and_shows_progress(
    controller: AttachmentsController,
) -> None:
    parts = [result(entry("a"), remaining=[1, 2]), result(entry("b"), remaining=[2]), result(entry("c"))]
    continuations = [{}, *(part["_controller"] for part in parts[:-1])]
    done, action = controller.run(*parts)
    assert [request["module_args"]["_controller"] for request in action.requests] == continuations
    assert [attachment["container_id"] for attachment in done["attachments"]] == ["a", "b", "c"]
    first, second = controller.shown
    assert first.startswith("[node1] attachments: 1 of 3, ")
    assert second.startswith("[node1] attachments: 2 of 3, ")
    assert second.endswith("/s, slowest bridge 0.50 s")


def test_a_node_lost_between_calls_is_unreachable_with_the_earlier_results(controller: AttachmentsController) -> None:
    done, dummy = controller.run(result(entry("a"), remaining=[1]), AnsibleConnectionFailure("no route"))
    assert (done["unreachable"], done["changed"], done["summary"]) == (True, True, {"added": 1})
    with pytest.raises(AnsibleConnectionFailure):
        controller.run(AnsibleConnectionFailure("no route"))


def test_a_task_in_the_background_is_one_call_that_does_all(controller: AttachmentsController) -> None:
    done, action = controller.run({"ansible_job_id": "j1"}, async_val=60)
    assert done == {"ansible_job_id": "j1"}
    (request,) = action.requests
    assert (request["module_args"], request["wrap_async"]) == ({"attachments": []}, True)


def test_progress_names_the_delegated_host_and_no_plugin_under_no_log(
    controller: AttachmentsController,
) -> None:
    controller.run(result(entry("a"), remaining=[1]), result(entry("b")), delegate_to="node2", no_log=True)
    (line,) = controller.shown
    assert line.startswith("[node1 -> node2] attachments: 1 of 2, ")
    assert line.endswith("/s")
