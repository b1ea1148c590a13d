# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every module refuses unknown variables and an unsuitable strategy, where a role of this collection calls it."""

from __future__ import annotations

import importlib
import pathlib
import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

PLUGINS = pathlib.Path(__file__).parents[4] / "plugins"
# All but the one that asks no node.
MODULES = sorted(path.stem for path in (PLUGINS / "modules").glob("[!_]*.py") if path.stem not in ("launcher", "show"))
PACKAGE = "ansible_collections.cni.node.plugins.action"
MISSPELLED: JsonObject = {"cni_node_prge": True, "cni_kernel_sysctl": {}}
FACADE: JsonObject = {"ansible_role_name": "cni.node.cni_networks", "ansible_parent_role_names": ["cni.node.cni_node"]}

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")


def run(
    module: str,
    directory: pathlib.Path,
    variables: JsonObject,
    strategy: str = "linear",
    arguments: t.Mapping[str, object] = types.MappingProxyType({}),
    passed: t.Mapping[str, object] = types.MappingProxyType({}),
) -> tuple[JsonObject, list[JsonObject]]:
    """Return the result for Ansible, and the task's arguments in each call of the node.

    Args:
        passed: The variables with which the task's role is imported.
    """
    requests = []

    class Action(importlib.import_module(f"{PACKAGE}.{module}").ActionModule):  # type: ignore[misc]
        def _execute_module(self, *dummy: t.Any, **dummies: t.Any) -> JsonObject:
            requests.append(self._task.args)
            return {"changed": True, "msg": "from the node", "attachments": []}

        def _remove_tmp_path(self, *dummy: t.Any, **keywords: t.Any) -> None:
            pass

    loader = DataLoader()
    task: t.Any = types.SimpleNamespace(
        args=dict(arguments),
        async_val=0,
        check_mode=False,
        diff=False,
        no_log=False,
        action=f"cni.node.{module}",
        delegate_to=None,
    )
    task.get_vars = lambda: dict(passed)
    task.get_play = lambda: types.SimpleNamespace(strategy=strategy)
    shell = types.SimpleNamespace(tmpdir=str(directory))
    connection: t.Any = types.SimpleNamespace(_shell=shell, has_native_async=False)
    action = Action(task, connection, types.SimpleNamespace(), loader, Templar(loader=loader, variables={}), None)
    return action.run(task_vars=variables), requests


@pytest.mark.parametrize("module", MODULES)
def test_a_misspelled_variable_is_refused_before_the_node_is_asked(module: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(AnsibleActionFail) as refused:
        run(module, tmp_path, {**MISSPELLED, **FACADE})
    assert str(refused.value).startswith("unknown variable: cni_node_prge (did you mean cni_node_purge?); ")


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    "variables",
    [
        MISSPELLED,
        {**MISSPELLED, "ansible_role_name": "mine", "ansible_parent_role_names": ["their.own.cni_node"]},
        {**MISSPELLED, "ansible_role_name": "cni.node.cni_verify"},
        {"cni_node_purge": True, "__cni_node_prge": 1, "cninode": 5, **FACADE},
    ],
    ids=["in no role", "in a role of others", "of another role", "known, internal and others"],
)
def test_variables_outside_the_collection_are_not_checked(
    module: str, variables: JsonObject, tmp_path: pathlib.Path
) -> None:
    result, requests = run(module, tmp_path, variables)
    assert (result["msg"], len(requests)) == ("from the node", 1)


@pytest.mark.parametrize("module", MODULES)
def test_the_facade_is_refused_in_a_play_whose_hosts_do_not_wait_for_each_other(
    module: str, tmp_path: pathlib.Path
) -> None:
    for strategy in ("free", "host_pinned", "ansible.builtin.free", "mitogen_free"):
        with pytest.raises(AnsibleActionFail) as refused:
            run(module, tmp_path, FACADE, strategy)
        assert str(refused.value).startswith(f"strategy: {strategy}; the role cni.node.cni_node compares the nodes")
        assert str(refused.value).endswith("give the play strategy: linear")


@pytest.mark.parametrize("strategy", ["linear", "ansible.builtin.linear", "debug", "mitogen_linear"])
def test_the_facade_runs_in_a_play_whose_hosts_wait_for_each_other(strategy: str, tmp_path: pathlib.Path) -> None:
    assert len(run("gc", tmp_path, FACADE, strategy)[1]) == 1


@pytest.mark.parametrize(
    ("value", "meant"), [("/elsewhere", "set cni_node_conf_dir"), ("{{ '/else' ~ 'where' }}", "set cni_node_conf_dir")]
)
def test_a_value_that_the_facade_passes_on_is_not_overridden(value: str, meant: str, tmp_path: pathlib.Path) -> None:
    passed = {"cni_networks_conf_dir": "/own", "mine": 1}
    with pytest.raises(AnsibleActionFail) as refused:
        run("conflists", tmp_path, {**FACADE, "cni_networks_conf_dir": value}, passed=passed)
    assert f": cni_networks_conf_dir ({meant}); " in str(refused.value)
    for right in (FACADE, {**FACADE, "ansible_parent_role_names": []}):
        same = value if right is not FACADE else "/own"
        assert len(run("conflists", tmp_path, {**right, "cni_networks_conf_dir": same}, passed=passed)[1]) == 1


def test_a_role_without_comparisons_runs_with_every_strategy(tmp_path: pathlib.Path) -> None:
    assert run("plugins", tmp_path, {"ansible_role_name": "cni.node.cni_plugins"}, "free")[1] == [{}]


@pytest.mark.parametrize("module", MODULES)
def test_an_option_of_a_role_without_a_value_counts_as_not_given(module: str, tmp_path: pathlib.Path) -> None:
    arguments: JsonObject = {
        "timeout": None,
        "cache_dir": "",
        "conf_dir": " \n",
        "purge": False,
        "min_age": 0,
        "names": [],
    }
    remaining = {"purge": False, "min_age": 0, "names": []}
    assert run(module, tmp_path, FACADE, arguments=arguments)[1] == [remaining]
    # A task of a user means what it says; the module refuses it.
    assert run(module, tmp_path, {"ansible_role_name": "mine"}, arguments=arguments)[1] == [arguments]
