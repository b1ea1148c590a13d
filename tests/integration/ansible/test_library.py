# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The library: it goes to a node once, and a node that cannot have it runs modules without it."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import NODE_PYTHON, Project, task
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import open_network
from ansible_collections.cni.node.tests.integration.ansible.test_persist import NEEDS_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.namespaces import namespaces

NETNS = "cni.node.netns"
LIBRARY = "cni.node.library"
TOP = pathlib.Path(libraries.TOP)
# An action plugin of another project, which runs a module of the collection.
STRANGER = """\
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        return self._execute_module("cni.node.netns", self._task.args, task_vars=task_vars)
"""


@pytest.fixture
def fresh(project: Project) -> Project:
    """Return a project whose node has no library."""
    shutil.rmtree(TOP.parent)
    return project


def library() -> str:
    return libraries.describe_checkout().path


def make(name: str, *options: str, **keywords: t.Any) -> JsonObject:
    return task(name, NETNS, {"names": [name]}, **keywords)


def test_the_first_task_installs_the_library_and_later_ones_use_it(fresh: Project) -> None:
    other = TOP / ("0" * 64)
    other.mkdir(parents=True)
    (other / "__main__.py").touch()
    checked = fresh.play([task("look", LIBRARY, {}), make("red")], "--check").succeeded()
    assert checked["look"].changed
    assert os.listdir(TOP) == [other.name]
    fresh.play([make("red")]).succeeded()
    assert os.path.exists(library())
    inode = os.stat(library()).st_ino
    played = fresh.play([make("blue"), task("look", LIBRARY, {}), make("green", **{"async": 60, "poll": 1})], "-vvv")
    assert not played.succeeded()["look"].changed
    assert os.stat(library()).st_ino == inode
    assert "cni_node_library.zip" not in played.output
    assert sorted(os.listdir("/run/netns")) == ["blue", "green", "red"]
    removed = fresh.play([task("remove", LIBRARY, {"state": "absent"})]).succeeded()["remove"]
    assert (removed.changed, removed.result["libraries"]) == (True, [])
    assert not TOP.parent.exists()


def test_without_pipelining_the_library_is_installed_and_used(fresh: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    inventory = fresh.write("hosts.yml", "all: {hosts: {node: {ansible_pipelining: false}}}")
    fresh.inventory = str(inventory)
    played = fresh.play([make("red"), make("blue")], "-vvv").succeeded()
    assert os.path.exists(library())
    assert played.output.count("AnsiballZ_launcher.py") > 0
    assert sorted(os.listdir("/run/netns")) == ["blue", "red"]


def test_a_library_that_others_could_change_is_not_used(fresh: Project) -> None:
    TOP.mkdir(parents=True)
    TOP.parent.chmod(0o777)
    played = fresh.play([make("red"), make("blue")], "-v").succeeded()
    assert sorted(os.listdir("/run/netns")) == ["blue", "red"]
    assert os.listdir(TOP) == []
    assert played.output.count("node runs without the library: the library cannot be in") == 1
    assert "every user can write it" in played.output


@NEEDS_SYSTEMD
def test_only_options_that_need_the_library_are_refused_if_it_cannot_be_written(
    node: EngineNode, fresh: Project
) -> None:
    open_network(node, "lab")
    attached: JsonObject = {"attachments": [{"network": "lab", "netns": "red"}]}
    kept: JsonObject = {"attachments": [{"network": "lab", "netns": "red", "persist": True}]}
    TOP.parent.mkdir()
    with namespaces("red"), tmpfs(TOP.parent, "ro,mode=755"):
        played = fresh.play(
            [task("attach", "cni.node.attachments", attached), task("keep", "cni.node.attachments", kept)], "-v"
        )
        assert played["attach"].ok().changed
        played["keep"].require_failure(f"persist requires the library of the collection, which is not in {library()}")
    assert "Read-only file system" in played.output


def test_a_user_without_root_uses_what_root_has_installed(node: EngineNode, fresh: Project) -> None:
    look = task("look", "cni.node.node_info", {"gather": ["plugins"]})
    fresh.python = NODE_PYTHON  # any user may start it
    as_user = {**look, "name": "as user", "become": True, "become_user": "nobody", "become_flags": "-s /bin/sh"}
    played = fresh.play([{**as_user, "name": "before"}, look, as_user], "-v", become_method="ansible.builtin.su")
    assert played.output.count("runs without the library") == 1, played.output
    assert [played[name].ok().result["plugins"] for name in ("before", "as user")] == [
        played["look"].result["plugins"]
    ] * 2


def test_a_misspelled_option_is_refused_with_the_name_of_the_module(project: Project) -> None:
    needed: JsonObject = {
        "attachments": {"attachments": []},
        "conflists": {},
        "netns": {"names": ["red"]},
        "repair": {},
    }
    tasks = [task(name, f"cni.node.{name}", {"strikt": True, **options}) for name, options in needed.items()]
    for step in project.play(tasks).tasks:
        step.require_failure(
            f"Unsupported parameters for ({step.module}) module: strikt. Supported parameters include: "
        )
        assert not re.search(r"[ .]_\w", step.msg), step.msg


def test_a_module_that_another_action_plugin_runs_brings_its_own_code(fresh: Project) -> None:
    fresh.write("action_plugins/stranger.py", STRANGER)
    played = fresh.play([task("run", "stranger", {"names": ["red"]})]).succeeded()
    assert played["run"].result["changed_names"] == ["red"]
    assert not TOP.exists()


def test_a_node_whose_python_is_changed_goes_on_with_the_library(fresh: Project) -> None:
    fresh.play([make("red")]).succeeded()
    compiled = list(pathlib.Path(library()).rglob("*.pyc"))
    for path in compiled:
        path.write_bytes(b"\0" * path.stat().st_size)
    fresh.play([make("blue")]).succeeded()
    assert sorted(os.listdir("/run/netns")) == ["blue", "red"]


def truncate_all(library_path: pathlib.Path) -> None:
    for file in library_path.rglob("*.py*"):
        if not file.name.startswith("launcher."):  # tests run it from the library, too
            os.truncate(file, 0)


DAMAGES: dict[str, t.Callable[[pathlib.Path], object]] = {
    "an empty program": lambda path: (path / "__main__.py").write_bytes(b""),
    "a missing directory": lambda path: shutil.rmtree(path / "ansible_collections/cni/node/plugins/module_utils/_base"),
    "all files truncated": truncate_all,
    "blocks of zeros": lambda path: [
        file.write_bytes(b"\0" * file.stat().st_size) for file in path.rglob("netns*.py*") if "modules" in file.parts
    ],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_library_is_mended_by_the_next_task(fresh: Project, name: str) -> None:
    fresh.play([make("red")]).succeeded()
    path = pathlib.Path(library())
    before = {file: file.read_bytes() for file in path.rglob("*.py")}
    DAMAGES[name](path)
    checked = fresh.play([make("blue")], "--check", "-v").succeeded()
    assert "node runs without the library: " in checked.output, checked.output
    mended = fresh.play([make("blue"), make("green")]).succeeded()
    assert mended.output.count("node: the library is damaged and is sent again: ") == 1, mended.output
    assert {file: file.read_bytes() for file in path.rglob("*.py")} == before
    assert libraries.describe_checkout().find_damage() == ""
    assert sorted(os.listdir("/run/netns")) == ["blue", "green", "red"]


def test_units_and_executables_say_that_the_library_is_missing(node: EngineNode, fresh: Project) -> None:
    fresh.play([task("install", "cni.node.plugins", {"source": "builtin", "only": ["bridge"]})]).succeeded()
    kept = fresh.play([task("remove", LIBRARY, {"state": "absent"})]).succeeded()["remove"]
    assert (kept.changed, kept.result["libraries"]) == (False, [library()])
    pathlib.Path(library(), "ansible_collections/cni/node/plugins/module_utils/_node/boot/main.py").unlink()
    restored = subprocess.run([sys.executable, "-I", library()], check=False, capture_output=True, text=True)
    assert (restored.returncode, restored.stdout) == (1, "")
    assert restored.stderr.startswith("failed: the library of cni.node is damaged: No module named ")
    shutil.rmtree(library())
    done = subprocess.run(
        ["/opt/cni/bin/bridge"], env={"CNI_COMMAND": "VERSION"}, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert f"the library of cni.node is not in {library()}" in done.stdout
