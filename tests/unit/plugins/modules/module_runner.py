# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module in this process as Ansible would in another one."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import typing as t

import pytest
from ansible.module_utils import basic

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths

PACKAGE = "ansible_collections.cni.node.plugins.modules"


class ModuleExit(t.NamedTuple):
    status: int
    result: JsonObject
    warnings: list[str]

    def ok(self) -> JsonObject:
        assert self.status == 0, self.result
        return self.result

    def require_refusal(self) -> str:
        """Return the message of a module that failed and changed nothing."""
        assert (self.status, self.result["failed"], self.result.get("changed", False)) == (1, True, False)
        assert "exception" not in self.result
        return str(self.result["msg"])


def outcome(result: JsonObject) -> JsonObject:
    """Return the part of a result that check mode predicts: without the arguments and the tense of the message."""
    return {**result, "invocation": None, "msg": result["msg"].replace("would be ", "")}


class ModuleRunner:
    """Runs modules with the node's paths below a directory of the test."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], directory: pathlib.Path
    ) -> None:
        self.paths = NodePaths.below(str(directory))
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, module: str, *, check_mode: bool = False, **arguments: t.Any) -> ModuleExit:
        given = {"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_check_mode": check_mode}}
        self._monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps(given).encode())
        # ansible-core 2.19 names the serialisation profile of the arguments.
        self._monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        warnings: list[str] = []
        # Ansible keeps warnings for the whole process, and elsewhere on a controller.
        self._monkeypatch.setattr(basic.AnsibleModule, "warn", lambda module, warning: warnings.append(warning))
        with pytest.raises(SystemExit) as ended:
            _main(module, self.paths)
        (line,) = self._capsys.readouterr().out.strip().splitlines()
        return ModuleExit(t.cast("int", ended.value.code), json.loads(line), warnings)


def _main(module: str, paths: NodePaths) -> None:
    main = importlib.import_module(f"{PACKAGE}.{module}").main
    main(*[paths][: len(inspect.signature(main).parameters)])
