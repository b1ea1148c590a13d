# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of kernel: which networks are validated."""

from __future__ import annotations

import pathlib
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.unit.plugins.action.encrypted import Encrypted

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.cni.node.plugins.action.kernel import ActionModule

NETWORKS = [{"template": "gone.j2"}, {"content": "{"}]

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")


class KernelAction(ActionModule):
    """An action that keeps the arguments for the module and returns a fixed result."""

    sent: JsonObject | None = None

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        self.sent = keywords["module_args"]
        return {"changed": True, "msg": "from the node"}


def run(directory: pathlib.Path, arguments: JsonObject) -> tuple[JsonObject, JsonObject | None]:
    """Return the result for Ansible, and the arguments that the node got."""
    loader = DataLoader()
    task: t.Any = types.SimpleNamespace(
        args=arguments, async_val=0, check_mode=False, diff=False, get_search_path=lambda: [str(directory)]
    )
    connection: t.Any = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir=str(directory)))
    play_context: t.Any = types.SimpleNamespace()
    action = KernelAction(task, connection, play_context, loader, Templar(loader=loader, variables={}), None)
    return action.run(task_vars={}), action.sent


@pytest.mark.parametrize("state", ["absent", Encrypted("absent")], ids=["text", "encrypted"])
@pytest.mark.parametrize("networks", [NETWORKS, "[{]", None], ids=["items", "text", "nothing"])
def test_networks_are_not_validated_when_all_settings_are_restored(
    tmp_path: pathlib.Path, state: object, networks: object
) -> None:
    result, sent = run(tmp_path, {"state": state, "conflists": networks, "cache_dir": "/c"})
    assert (result["msg"], sent) == ("from the node", {"state": state, "cache_dir": "/c"})


@pytest.mark.parametrize("arguments", [{}, {"state": "present"}, {"state": None}], ids=str)
def test_a_missing_template_is_an_error(tmp_path: pathlib.Path, arguments: JsonObject) -> None:
    result, sent = run(tmp_path, {**arguments, "conflists": NETWORKS})
    assert (result["failed"], sent) == (True, None)
    assert "conflists[0]: template gone.j2 cannot be rendered" in result["msg"]
