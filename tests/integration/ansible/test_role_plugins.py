# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role cni_plugins with text values from a survey."""

from __future__ import annotations

import pathlib

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project
from ansible_collections.cni.node.tests.integration.ansible.releases import contents
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

TASK = "Manage the plugins"


def play(project: Project, *options: str, **variables: object) -> PlaybookRun:
    given: JsonObject = {f"cni_plugins_{key}": value for key, value in variables.items()}
    return project.play([], *options, roles=[{"role": "cni.node.cni_plugins", "vars": given}])


def test_a_survey_can_install_roll_back_and_remove(node: EngineNode, project: Project) -> None:
    old, new = (releases.release(project.path / "files" / f"{number}.tgz", revision=number) for number in "12")
    survey = {"only": "loopback\nstatic\n", "keep": "2", "force": "false", "bin_dir": "/opt/cni/mine"}
    first = {**survey, "source": str(old), "remote_src": "true", "checksum": releases.checksum(old), "version": "1"}
    predicted = play(project, "--check", **first).succeeded()[TASK].require_unchanged_node()
    done = play(project, **first).succeeded()[TASK]
    assert predicted.plan() == done.plan()
    assert [plugin["name"] for plugin in done.result["plugins"]] == ["loopback", "static"]
    assert not play(project, **first).succeeded()[TASK].changed
    second = {**survey, "source": new.name, "remote_src": "no"}
    upgraded = play(project, **second).succeeded()[TASK].result
    assert (upgraded["previous"], upgraded["kept"]) == ("1", ["1"])
    assert play(project, **second, state="rolled_back").succeeded()[TASK].result["version"] == "1"
    bin_dir = pathlib.Path("/opt/cni/mine")
    assert {path.name: path.read_bytes() for path in bin_dir.iterdir()} == contents("loopback", "static", revision="1")
    play(project, **second, state="absent").succeeded()
    assert not bin_dir.exists()


def test_without_variables_the_newest_known_release_is_installed(node: EngineNode, project: Project) -> None:
    mirror = play(project, source="http://127.0.0.1:9/cni/")
    mirror[TASK].require_failure("cannot download http://127.0.0.1:9/cni/cni-plugins-linux-", "-v1.9.1.tgz")
    play(project, source="/nowhere.tgz")[TASK].require_failure("/nowhere.tgz does not exist on the controller")
    assert "must be one of: present, absent, rolled_back" in play(project, state="sideways").output
