# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugins of modules run them from the library, send it when it is missing, and run them without it elsewhere.

In a plan, they take the results that an earlier call has returned.
"""

from __future__ import annotations

import gc
import json
import pathlib
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible import constants, template
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.action import ActionBase
from ansible.template import Templar
from ansible.utils.display import Display

from ansible_collections.cni.node.plugins.action.netns import ActionModule
from ansible_collections.cni.node.plugins.module_utils._base.library import (
    ANSWER,
    MISSING,
    NEEDS_MORE,
    REQUEST,
    UNUSABLE,
)
from ansible_collections.cni.node.plugins.module_utils._module.arguments import ANSWERS_KEY, FOLLOWING_KEY
from ansible_collections.cni.node.plugins.plugin_utils._library_action import PLAN
from ansible_collections.cni.node.plugins.plugin_utils._role_action import RoleAction
from ansible_collections.cni.node.plugins.plugin_utils._task_arguments import AttachmentsArguments, PluginsArguments
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.unit.plugins.action.encrypted import Encrypted

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")

DONE: JsonObject = {"changed": False, "msg": "done"}


class Call(t.NamedTuple):
    """One execution of a module.

    Attributes:
        module: Its name; None is the module of the task.
        archive: Path of the archive on the node; an empty string if none was sent.
    """

    module: str | None
    archive: str
    top: str


class Controller:
    """Runs an action plugin; the node gives scripted answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[Call] = []
        self.answers: list[JsonObject] = []
        self.following: list[JsonObject] | None = None
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(ActionModule, "_remove_tmp_path", lambda *dummy, **dummies: None)
        monkeypatch.setattr(ActionModule, "_transfer_file", lambda dummy, source, target: None)
        monkeypatch.setattr(ActionModule, "_fixup_perms2", lambda *dummy: None)

    def run(self, *answers: JsonObject, host: str = "blue", **keys: t.Any) -> JsonObject:
        """Run the task; the node has the answers for its launcher, and then does the work."""
        self.answers = [*answers, DONE]
        self.calls.clear()
        variables = {"inventory_hostname": host, **keys.pop("variables", {})}
        settings: JsonObject = {"async_val": 0, "check_mode": False, "delegate_to": None, "diff": False}
        task: t.Any = types.SimpleNamespace(
            args=keys.pop("args", {}), action="cni.node.netns", environment=[{"A": "1"}], **{**settings, **keys}
        )

        def execute(dummy: ActionBase, module_name: str | None = None, **keywords: t.Any) -> JsonObject:
            self.following = keywords["module_args"].get(FOLLOWING_KEY)
            (own,) = (entry for entry in task.environment if REQUEST in entry)
            request = json.loads(own[REQUEST])
            assert request["digest"] == libraries.describe_checkout().digest
            self.calls.append(Call(module_name, request["archive"], request["top"]))
            return dict(self.answers.pop(0))

        self._monkeypatch.setattr(ActionBase, "_execute_module", execute)
        shell = types.SimpleNamespace(tmpdir="/tmp/task", join_path=lambda *parts: "/".join(parts))
        connection: t.Any = types.SimpleNamespace(_shell=shell, has_native_async=False, become=None)
        loader = DataLoader()
        templar = Templar(loader=loader, variables=variables)
        action = ActionModule(task, connection, t.cast("t.Any", None), loader, templar, None)
        self.action = action
        result: JsonObject = action.run(task_vars=variables)
        assert task.environment == [{"A": "1"}]
        return result


@pytest.fixture
def controller(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Controller:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    return Controller(monkeypatch)


def answer(state: str, reason: str = "") -> JsonObject:
    return {ANSWER: {"state": state, "reason": reason}}


FROM_LIBRARY = Call("cni.node.launcher", "", "/opt/cni/lib/cni.node")
WITH_ARCHIVE = FROM_LIBRARY._replace(archive="/tmp/task/cni_node_library.zip")
WITHOUT = FROM_LIBRARY._replace(module=None)


def test_a_module_runs_from_the_library_in_one_call(controller: Controller) -> None:
    assert controller.run()["msg"] == "done"
    assert controller.calls == [FROM_LIBRARY]


def test_a_missing_library_is_sent_once(controller: Controller) -> None:
    assert controller.run(answer(MISSING))["msg"] == "done"
    assert controller.calls == [FROM_LIBRARY, WITH_ARCHIVE]


def test_a_damaged_library_is_sent_again_with_a_warning(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda dummy, msg: warnings.append(msg))
    assert controller.run(answer(MISSING, "/opt/x.py: missing"))["msg"] == "done"
    assert controller.calls == [FROM_LIBRARY, WITH_ARCHIVE]
    assert warnings == ["blue: the library is damaged and is sent again: /opt/x.py: missing"]


def test_check_mode_installs_nothing(controller: Controller) -> None:
    assert controller.run(answer(MISSING), check_mode=True)["msg"] == "done"
    assert controller.calls == [FROM_LIBRARY, WITHOUT]
    controller.run(check_mode=True)
    assert controller.calls == [WITHOUT]
    controller.run(answer(MISSING))
    assert controller.calls == [FROM_LIBRARY, WITH_ARCHIVE]


def test_a_task_that_needs_more_than_the_library_has_runs_without_it(controller: Controller) -> None:
    controller.run(answer(NEEDS_MORE, "this task needs ansible.module_utils.urls"))
    assert controller.calls == [FROM_LIBRARY, WITHOUT]
    controller.run()
    assert controller.calls == [FROM_LIBRARY]


@pytest.mark.parametrize("answers", [[answer(UNUSABLE, "no")], [answer(MISSING), answer(UNUSABLE, "no")]])
def test_a_node_that_cannot_have_the_library_runs_modules_without_it(
    controller: Controller, answers: list[JsonObject]
) -> None:
    assert controller.run(*answers)["msg"] == "done"
    assert controller.calls[-1] == WITHOUT
    assert len(controller.calls) == len(answers) + 1
    # The other tasks of the run do not ask again, but those on other nodes do.
    controller.run()
    assert controller.calls == [WITHOUT]
    controller.run(host="green")
    assert controller.calls == [FROM_LIBRARY]


def test_a_task_in_the_background_runs_without_the_library(controller: Controller) -> None:
    controller.run(async_val=60)
    assert controller.calls == [WITHOUT]


@pytest.mark.parametrize("value", ["/srv", "{{ place }}"])
def test_one_variable_moves_the_library(controller: Controller, value: str) -> None:
    trust = getattr(
        template, "trust_as_template", str
    )  # since ansible-core 2.19, only templates of playbooks are expanded
    variables = {"cni_node_opt_dir": trust(value), "place": "/srv"}
    controller.run(variables=variables)
    assert [call.top for call in controller.calls] == ["/srv/cni/lib/cni.node"]


@pytest.mark.parametrize("value", ["", " ", None], ids=repr)
def test_the_library_is_in_opt_if_the_variable_has_no_value(controller: Controller, value: object) -> None:
    controller.run(variables={"cni_node_opt_dir": value})
    assert controller.calls == [FROM_LIBRARY]


PLANNED: JsonObject = {"variables": {PLAN: []}}
RED, BLUE, GREEN = ({"names": [name]} for name in ("red", "blue", "green"))


def task(arguments: JsonObject) -> JsonObject:
    return {"module": "netns", "arguments": arguments}


@pytest.fixture
def asking(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> Controller:
    """Return the controller after a task has asked about three tasks, of which the second has to run itself."""
    following = [task(RED), task(BLUE), task(GREEN)]
    monkeypatch.setattr(ActionModule, "list_following", lambda *dummies: following)
    answered = {**DONE, ANSWERS_KEY: [{**DONE, "msg": "red is there"}, None, {**DONE, "msg": "green is there"}]}
    result = controller.run(answered, **PLANNED)
    assert controller.following == following
    assert result["msg"] == "done"
    assert ANSWERS_KEY not in result
    return controller


def test_a_task_takes_the_result_of_an_earlier_call(asking: Controller) -> None:
    assert asking.run(args=RED, **PLANNED)["msg"] == "red is there"
    assert asking.calls == []
    assert asking.run(args=BLUE, **PLANNED)["msg"] == "done"
    assert asking.calls == [FROM_LIBRARY]
    assert asking.following is None
    assert asking.run(args=GREEN, **PLANNED)["msg"] == "green is there"
    # It is taken once.
    assert asking.run(args=GREEN, **PLANNED)["msg"] == "done"


@pytest.mark.parametrize(
    "keys",
    [
        {},  # no plan
        {**PLANNED, "args": {**RED, "state": "absent"}},
        {**PLANNED, "args": RED, "host": "green"},
        {**PLANNED, "args": RED, "check_mode": True},
    ],
)
def test_another_task_takes_no_result_of_an_earlier_call(asking: Controller, keys: JsonObject) -> None:
    assert asking.run(**keys)["msg"] == "done"
    assert asking.calls == [FROM_LIBRARY]


@pytest.mark.parametrize("result", [{"changed": True}, {"failed": True}])
@pytest.mark.parametrize("variables", [PLANNED, {}])
def test_after_a_change_each_task_runs_itself(asking: Controller, result: JsonObject, variables: JsonObject) -> None:
    asking.run({**DONE, **result}, args=BLUE, **variables)
    assert asking.run(args=GREEN, **PLANNED)["msg"] == "done"


def test_after_the_controller_has_installed_packages_each_task_runs_itself(asking: Controller) -> None:
    asking.action.forget_answers({"inventory_hostname": "blue"})
    assert asking.run(args=GREEN, **PLANNED)["msg"] == "done"


def test_a_second_run_of_the_plan_asks_anew(asking: Controller) -> None:
    asking.run(args={"names": ["first"]}, **PLANNED)
    assert asking.following == [task(RED), task(BLUE), task(GREEN)]
    assert asking.run(args=RED, **PLANNED)["msg"] == "done"


def test_a_node_without_the_library_is_not_asked_about_later_tasks(asking: Controller) -> None:
    asking.run(answer(UNUSABLE, "no"), args={"names": ["first"]}, host="green", **PLANNED)
    assert asking.calls == [FROM_LIBRARY, WITHOUT]
    assert asking.following is None


def arguments(kind: type[RoleAction], given: JsonObject) -> JsonObject | None:
    """Return what a node would be asked with, for a task with the arguments."""
    given_task: t.Any = types.SimpleNamespace(args=given, async_val=0)
    unused = t.cast("t.Any", None)
    return kind(given_task, unused, unused, unused, unused, None).arguments_to_compare({})


def test_many_attachments_are_left_to_their_task_which_shows_progress() -> None:
    few = [{"network": "lab", "netns": f"n{number}"} for number in range(200)]
    assert arguments(AttachmentsArguments, {"attachments": few}) == {"attachments": few, "_controller": {}}
    assert arguments(AttachmentsArguments, {"attachments": [*few, few[0]]}) is None


def test_plugins_on_the_controller_are_left_to_their_task_which_reads_them() -> None:
    assert arguments(PluginsArguments, {"source": "plugins.tgz", "version": "1.9.1"}) is None
    assert arguments(PluginsArguments, {"sets": [{"name": "tap", "source": "tap"}]}) is None
    at_url = {"source": "https://example.com/plugins.tgz"}
    assert arguments(PluginsArguments, at_url) == at_url


@pytest.mark.parametrize(
    "given",
    [
        {"source": "https://me:secret@example.com/plugins.tgz"},
        {"source": "https://example.com/plugins.tgz", "url_password": "secret"},
        {"sets": [{"name": "tap", "source": "https://example.com/tap", "url_password": "secret"}]},
    ],
)
def test_a_password_goes_to_no_other_task(given: JsonObject) -> None:
    assert arguments(PluginsArguments, given) is None


def test_a_task_with_a_vaulted_value_is_known(asking: Controller) -> None:
    vaulted = {"names": [Encrypted("red")]}
    assert asking.run(args=vaulted, **PLANNED)["msg"] == "red is there"


def test_processes_of_tasks_leave_the_objects_of_the_controller_to_it() -> None:
    assert gc.get_freeze_count() > 0, "each of their garbage collections would copy the memory that they share"
