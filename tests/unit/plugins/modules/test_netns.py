# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleRunner


@pytest.fixture
def directory(run: ModuleRunner) -> pathlib.Path:
    path = pathlib.Path(run.paths.netns_dir)
    path.mkdir(parents=True)
    for name in ("blue", "red"):
        (path / name).touch()
    return path


def test_check_mode_predicts_creation(run: ModuleRunner, directory: pathlib.Path) -> None:
    done = run("netns", names=["red", "new", "other", "new"], check_mode=True).ok()
    assert (done["changed"], done["changed_names"]) == (True, ["new", "other"])
    assert done["diff"] == {"before": {"names": ["red"]}, "after": {"names": ["new", "other", "red"]}}
    assert done["msg"] == "2 of 3 network namespaces would be created"
    assert sorted(path.name for path in directory.iterdir()) == ["blue", "red"]


def test_check_mode_predicts_removal(run: ModuleRunner, directory: pathlib.Path) -> None:
    done = run("netns", names=["red", "nobody"], state="absent", check_mode=True).ok()
    assert (done["changed"], done["changed_names"]) == (True, ["red"])
    assert done["diff"] == {"before": {"names": ["red"]}, "after": {"names": []}}
    assert done["msg"] == "1 of 2 network namespaces would be removed"
    assert (directory / "red").exists()


def test_an_existing_namespace_is_not_a_change(run: ModuleRunner, directory: pathlib.Path) -> None:
    calls: list[JsonObject] = [{"names": ["red"]}, {"names": ["nobody"], "state": "absent"}, {"names": []}]
    for arguments in calls:
        done = run("netns", **arguments).ok()
        assert (done["changed"], done["changed_names"]) == (False, [])
        assert done["diff"]["before"] == done["diff"]["after"]


def test_an_invalid_name_is_refused_in_one_sentence(run: ModuleRunner, directory: pathlib.Path) -> None:
    done = run("netns", names=["new", "../x"])
    assert done.require_refusal().startswith("'../x' is not a network namespace name; expected: ")
    assert done.result["error"]["code"] == 4


def test_names_are_required(run: ModuleRunner) -> None:
    assert run("netns").require_refusal() == "missing required arguments: names"
