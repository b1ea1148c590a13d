# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The error names a Python that is too old; other failures stay unchanged."""

from __future__ import annotations

import subprocess
import sys
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.action import ActionBase
from ansible.template import Templar

from ansible_collections.cni.node.plugins.action.node_info import ActionModule
from ansible_collections.cni.node.plugins.plugin_utils._python_version import PROGRAM, too_old

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")


def run(
    monkeypatch: pytest.MonkeyPatch, result: JsonObject, answer: str, delegate_to: str | None = None
) -> tuple[JsonObject, int]:
    """Return the action's result for a module's result, and the number of version queries to the node."""
    requests = []

    def execute(action: ActionBase, *dummy: t.Any, **dummies: t.Any) -> JsonObject:
        action._used_interpreter = "#!/usr/bin/python3"
        return dict(result)

    def command(action: ActionBase, line: str, **dummies: t.Any) -> JsonObject:
        requests.append(line)
        return {"stdout": answer, "stderr": "", "rc": 0}

    monkeypatch.setattr(ActionBase, "_execute_module", execute)
    monkeypatch.setattr(ActionBase, "_low_level_execute_command", command)
    loader = DataLoader()
    task: t.Any = types.SimpleNamespace(
        args={},
        async_val=0,
        check_mode=False,
        diff=False,
        action="cni.node.node_info",
        delegate_to=delegate_to,
        environment=[],
    )
    connection: t.Any = types.SimpleNamespace(
        _shell=types.SimpleNamespace(tmpdir="/tmp"), has_native_async=False, become=None
    )
    monkeypatch.setattr(ActionModule, "_remove_tmp_path", lambda *dummy, **dummies: None)
    action = ActionModule(
        task, connection, t.cast("t.Any", types.SimpleNamespace()), loader, Templar(loader=loader), None
    )
    return action.run(task_vars={"inventory_hostname": "blue"}), len(requests)


CRASHED: JsonObject = {"failed": True, "msg": "No start of json char found", "module_stderr": "Traceback: SyntaxError"}


@pytest.mark.parametrize("version", ["2.7.18", "3.6.15", "3.8.20"])
@pytest.mark.parametrize("delegate_to", [None, "red"])
def test_a_python_that_is_too_old_is_named(
    monkeypatch: pytest.MonkeyPatch, version: str, delegate_to: str | None
) -> None:
    answer = f"Welcome\ncni.node Python {version}\r\n"
    result, dummy = run(monkeypatch, CRASHED, answer, delegate_to)
    assert result["msg"] == (
        f"/usr/bin/python3 of {delegate_to or 'blue'} is Python {version}, but modules of cni.node need Python 3.9 or newer; "
        "install a newer Python on the node and set ansible_python_interpreter to its path"
    )
    assert (result["failed"], result["changed"], "module_stderr" in result) == (True, False, False)


@pytest.mark.parametrize("answer", ["cni.node Python 3.9.0\n", "cni.node Python 3.14.1\n", "", "Python 2.7\n"])
def test_any_other_failure_is_unchanged(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    result, requests = run(monkeypatch, CRASHED, answer)
    assert ({**CRASHED, **result}, requests) == (result, 1)


@pytest.mark.parametrize("result", [{"msg": "fine"}, {"failed": True, "msg": "no", "error": {"code": 7}}], ids=str)
def test_a_node_whose_module_has_run_is_not_asked(monkeypatch: pytest.MonkeyPatch, result: JsonObject) -> None:
    assert run(monkeypatch, result, "cni.node Python 3.6.0\n")[1] == 0


def test_the_probe_of_the_python_version_is_valid_shell() -> None:
    argv = [sys.executable, "-c", PROGRAM]
    answer = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert answer.startswith("cni.node Python 3.")
    assert too_old(answer, "python", "blue") is None
