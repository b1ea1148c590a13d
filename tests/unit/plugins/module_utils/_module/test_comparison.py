# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A call returns the results of later tasks as far as they are certain."""

from __future__ import annotations

import importlib
import pathlib
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._module import comparison

DONE: JsonObject = {"changed": False}


class Later:
    """Modules of later tasks with scripted results; a result that is an exception is raised."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        self._results: dict[str, JsonObject | Exception] = {}
        monkeypatch.setattr(importlib, "import_module", self._load)

    def compare(
        self, *results: JsonObject | Exception, after: JsonObject | None = None, check_mode: bool = False
    ) -> t.Any:
        """Return the answers for tasks that have the results."""
        self.ran.clear()
        self._results = {f"m{place}": result for place, result in enumerate(results)}
        following = [{"module": name, "arguments": {"name": name}} for name in self._results]
        module: t.Any = types.SimpleNamespace(check_mode=check_mode)
        return comparison.compare(module, following, after or DONE, NODE_PATHS)

    def _load(self, name: str) -> t.Any:
        spec = {"argument_spec": {"name": {"type": "str", "required": True}}, "supports_check_mode": True}
        return types.SimpleNamespace(SPEC=spec, ensure=self._ensure)

    def _ensure(self, module: t.Any, dummy: NodePaths) -> JsonObject:
        name = module.params["name"]
        assert module.check_mode
        self.ran.append(name)
        result = self._results[name]
        if isinstance(result, Exception):
            raise result
        for warning in result.get("warned", ()):
            module.warn(warning)
        return {"changed": False, **result}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    return Later(monkeypatch)


def answer(**keys: t.Any) -> JsonObject:
    return {"changed": False, "warnings": [], **keys}


def test_tasks_that_change_nothing_are_answered(later: Later) -> None:
    assert later.compare({"msg": "one"}, {"msg": "two\x1b[31m"}) == [answer(msg="one"), answer(msg="two\\x1b[31m")]


@pytest.mark.parametrize("result", [{"changed": True}, {"failed": True}, {"_controller": {}}, ValueError("broken")])
def test_answers_after_a_task_that_has_to_run_itself_are_unknown(later: Later, result: JsonObject | Exception) -> None:
    assert later.compare({"msg": "one"}, result, {"msg": "three"}) == [answer(msg="one")]
    assert later.ran == ["m0", "m1"]


@pytest.mark.parametrize("result", [{"changed": True}, {"failed": True, "msg": "refused"}])
def test_a_change_or_a_failure_now_leaves_all_later_tasks_unknown(later: Later, result: JsonObject) -> None:
    assert later.compare({"msg": "one"}, after=result) == []
    assert later.ran == []


def test_a_task_with_warnings_runs_itself_except_in_check_mode(later: Later) -> None:
    """An error of the run can be a warning of check mode."""
    warned = {"warned": ["odd"], "msg": "one"}
    assert later.compare(warned, {"msg": "two"}) == [None, answer(msg="two")]
    (predicted,) = later.compare(warned, check_mode=True)
    assert predicted["warnings"] == ["odd"]


def test_arguments_that_the_module_refuses_are_left_to_it(later: Later) -> None:
    module: t.Any = types.SimpleNamespace(check_mode=False)
    assert comparison.compare(module, [{"module": "m0", "arguments": {"nmae": "x"}}], DONE, NODE_PATHS) == []
    assert later.ran == []


def test_the_modules_of_this_collection_can_be_asked(tmp_path: pathlib.Path) -> None:
    module: t.Any = types.SimpleNamespace(check_mode=False)
    paths = NODE_PATHS._replace(netns_dir=str(tmp_path))
    following = [{"module": "netns", "arguments": {"names": "red", "state": "absent"}}]
    (answered,) = comparison.compare(module, following, DONE, paths)
    assert answered is not None
    assert answered["msg"] == "0 of 1 network namespaces removed"
