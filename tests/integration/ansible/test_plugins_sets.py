# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several sets of plugins in one directory: through the module, the role and an upgrade that fails."""

from __future__ import annotations

import io
import pathlib
import shutil
import stat
import tarfile
import typing as t
import zipfile

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.releases import BIN_DIR, REFERENCE, contents, installed
from ansible_collections.cni.node.tests.integration.ansible.test_plugins import PLUGINS, actions
from ansible_collections.cni.node.tests.integration.ansible.test_role_plugins import TASK, play
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.state import tree_lines


def pack_zip(path: pathlib.Path, files: t.Mapping[str, bytes]) -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, "LICENSE.txt": b"MPL"}.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | (0o755 if name in files else 0o644)) << 16
            archive.writestr(info, content)
    return path


def pack_below(path: pathlib.Path, files: t.Mapping[str, bytes]) -> pathlib.Path:
    """Write an archive whose files are in a directory with its name."""
    with tarfile.open(path, "w:xz", preset=0) as archive:
        for name, content in {**files, "README.md": b"# plugins"}.items():
            info = tarfile.TarInfo(f"{path.name.partition('.tar')[0]}/{name}")
            info.size, info.mode = len(content), 0o755
            archive.addfile(info, io.BytesIO(content))
    return path


def sets_of(done: TaskRun) -> dict[str, list[t.Any]]:
    return {item["name"]: [item["version"], item["previous"], item["kept"]] for item in done.result["sets"]}


def test_sets_of_all_kinds_of_sources_are_installed_beside_the_reference_plugins(
    node: EngineNode, project: Project, tmp_path: pathlib.Path
) -> None:
    files = project.path / "files"
    releases.release(files / "reference.tgz", "loopback")
    pack_zip(files / "consul-cni.zip", {"consul-cni": contents("static")["static"]})
    below = pack_below(
        files / "multus_4_linux_amd64.tar.xz", {"multus": b"#!/bin/sh\n1", "multus-daemon": b"#!/bin/sh\n"}
    )
    executable = tmp_path / "www" / "whereabouts-amd64"
    executable.parent.mkdir()
    shutil.copy(REFERENCE / "tuning", executable)
    with releases.served(executable.parent) as server:
        sets: list[JsonObject] = [
            {"name": "consul-cni", "source": "consul-cni.zip", "version": "1"},
            {"name": "multus", "source": below.name, "only": ["multus"], "version": "4"},
            {
                "name": "whereabouts",
                "source": f"{server.url}/{executable.name}",
                "checksum": releases.checksum(executable),
                "version": "0.9",
            },
        ]
        arguments = {"source": "reference.tgz", "version": "1", "sets": sets}
        played = project.play(thrice("install", PLUGINS, arguments), "--diff").succeeded()
    done = played.require_converged("install")
    assert actions(done) == dict.fromkeys(("consul-cni", "loopback", "multus", "whereabouts"), "installed")
    assert {plugin["name"]: plugin["set"] for plugin in done.result["plugins"]}["loopback"] == "reference"
    assert installed() == {
        **contents("loopback"),
        "consul-cni": contents("static")["static"],
        "multus": b"#!/bin/sh\n1",
        "whereabouts": contents("tuning")["tuning"],
    }
    assert '"whereabouts": "absent"' in played.output
    facts = project.play([task("gather", "cni.node.node_info", {"gather": ["releases"]})]).succeeded()["gather"]
    assert [release["set"] for release in facts.result["releases"]] == [
        "consul-cni",
        "multus",
        "reference",
        "whereabouts",
    ]


def test_one_set_is_upgraded_rolled_back_and_removed_alone(node: EngineNode, project: Project) -> None:
    files = project.path / "files"
    releases.release(files / "reference.tgz", "loopback")
    old = pack_zip(files / "old.zip", contents("static", "tuning"))
    new = pack_zip(files / "new.zip", contents("static", revision="2"))
    named = {"sets": [{"name": "mine"}]}
    played = project.play(
        [
            task("reference", PLUGINS, {"source": "reference.tgz", "version": "1"}),
            task("mine", PLUGINS, {"sets": [{"name": "mine", "source": old.name, "version": "1"}]}),
            *thrice("upgrade", PLUGINS, {"sets": [{"name": "mine", "source": new.name, "version": "2"}]}),
            *thrice("roll back", PLUGINS, {"state": "rolled_back", **named}),
            task("reference, still", PLUGINS, {"source": "reference.tgz", "version": "1"}),
            *thrice("remove", PLUGINS, {"state": "absent", **named}),
        ]
    ).succeeded()
    upgrade, back, remove = (played.require_converged(name) for name in ("upgrade", "roll back", "remove"))
    assert actions(upgrade) == {"static": "updated", "tuning": "removed"}
    assert actions(back) == {"static": "updated", "tuning": "installed"}
    assert (sets_of(upgrade), sets_of(back)) == ({"mine": ["2", "1", ["1"]]}, {"mine": ["1", "2", ["2"]]})
    played["reference, still"].require_no_change()
    assert actions(remove) == {"static": "removed", "tuning": "removed"}
    assert installed() == contents("loopback")


def test_a_plugin_of_two_sets_changes_nothing(node: EngineNode, project: Project) -> None:
    files = project.path / "files"
    releases.release(files / "reference.tgz", "loopback", "static")
    pack_zip(files / "mine.zip", contents("static", "tuning"))
    arguments = {"source": "reference.tgz", "version": "1", "sets": [{"name": "mine", "source": "mine.zip"}]}
    played = project.play([task("predict", PLUGINS, arguments, check_mode=True), task("install", PLUGINS, arguments)])
    for name in ("predict", "install"):
        played[name].require_no_change().require_failure(
            f"{BIN_DIR} cannot have the same plugin of two sets: static of mine and reference", "'only'"
        )


@pytest.mark.skipif(not (REFERENCE / "bridge").exists(), reason="the distribution's package is not installed")
def test_files_of_the_distributions_package_are_not_replaced(node: EngineNode, project: Project) -> None:
    before = tree_lines(str(REFERENCE), identity=True)
    releases.release(project.path / "files" / "new.tgz", "loopback", revision="2")
    arguments = {"version": "2", "source": "new.tgz", "bin_dir": str(REFERENCE), "plugin_dirs": []}
    same = {"version": "1", "source": str(REFERENCE), "remote_src": True, "bin_dir": str(REFERENCE), "plugin_dirs": []}
    played = project.play([task("replace", PLUGINS, arguments), task("adopt", PLUGINS, {**same, "only": ["loopback"]})])
    for name in ("replace", "adopt"):
        played[name].require_no_change().require_failure(
            f"{REFERENCE} has files with names of plugins that this collection has not installed: loopback (package cont"
        )
    assert tree_lines(str(REFERENCE), identity=True) == before


def test_a_survey_can_list_sets(node: EngineNode, project: Project) -> None:
    files = project.path / "files"
    releases.release(files / "reference.tgz", "loopback")
    for revision in "12":
        pack_zip(files / f"{revision}.zip", contents("static", revision=revision))
    given = {"source": "reference.tgz", "version": "1"}
    text = "- name: mine\n  source: {0}.zip\n  version: {0}\n"
    for revision in "12":
        done = play(project, **given, sets=text.format(revision)).succeeded()[TASK]
        assert sets_of(done)["mine"][0] == revision
    assert not play(project, **given, sets="").succeeded()[TASK].changed
    back = play(project, **given, state="rolled_back", sets='[{"name": "mine", "state": "rolled_back"}]').succeeded()
    assert sets_of(back[TASK]) == {"mine": ["1", "2", ["2"]]}
    only = play(project, sets=[{"name": "reference", "state": "absent"}]).succeeded()[TASK]
    assert actions(only) == {"loopback": "removed"}
    assert installed() == contents("static", revision="1")
    play(project, **given, state="absent", sets=text.format("9")).succeeded()
    assert not BIN_DIR.exists() or installed() == {}


def test_a_failed_upgrade_rolls_back_the_sets_that_it_has_replaced(node: EngineNode, project: Project) -> None:
    files = project.path / "files"
    reference = releases.release(files / "reference.tgz", "bridge", "loopback", "host-local")
    for revision in "12":
        pack_zip(files / f"{revision}.zip", contents("static", revision=revision))

    def variables(revision: str) -> JsonObject:
        mine = {"name": "mine", "source": str(files / f"{revision}.zip"), "version": revision}
        return {
            "cni_node_concerns": ["plugins"],
            "cni_node_plugins_source": str(reference),
            "cni_node_plugins_version": "a",
            "cni_node_plugins_sets": [mine],
        }

    project.run("cni.node.provision", **variables("1")).succeeded()
    before = installed()
    broken = {"cniVersion": "1.0.0", "name": "dbnet", "plugins": [{"type": "missing"}]}
    node.write(broken)
    failed = project.run("cni.node.upgrade", **variables("2"))
    failed["Explain the failure and which plugins the node has"].require_failure(
        "the upgrade failed at '", "and the node is back at the plugins of release 1 of mine: "
    )
    assert installed() == before
