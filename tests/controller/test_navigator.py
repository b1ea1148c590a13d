# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of ansible-navigator for the project."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest
import yaml

from tools.paths import tool


def navigate(project: pathlib.Path, collections: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ansible-navigator in the project, without a container engine."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [str(tool("ansible-navigator")), *words, "--ee", "false"],
        check=False,
        cwd=project,
        env={**others, "HOME": str(home), "ANSIBLE_COLLECTIONS_PATH": str(collections), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_settings_are_accepted_and_name_the_image_and_the_inventory(
    project: pathlib.Path, collections: pathlib.Path
) -> None:
    shown = navigate(project, collections, "settings", "--effective")
    assert shown.returncode == 0, shown.stdout
    effective = yaml.safe_load(shown.stdout)["ansible-navigator"]
    assert effective["mode"] == "stdout"
    assert effective["ansible"]["inventory"]["entries"] == [str(project / "inventory")]
    assert effective["execution-environment"]["image"] == "cni-node-ee:latest"
    assert effective["playbook-artifact"]["enable"] is False


def test_a_misspelled_setting_is_refused(project: pathlib.Path, collections: pathlib.Path) -> None:
    path = project / "ansible-navigator.yml"
    path.write_text(path.read_text(encoding="utf-8").replace("mode:", "mood:"), encoding="utf-8")
    refused = navigate(project, collections, "settings", "--effective")
    assert refused.returncode != 0
    assert "mood" in refused.stdout


@pytest.mark.parametrize("subnet", ["10.1.0.0/16", "10.1.0.0/99"])
def test_a_playbook_runs_with_the_inventory_of_the_settings_and_leaves_no_file(
    project: pathlib.Path, collections: pathlib.Path, subnet: str
) -> None:
    variables = project / "inventory" / "group_vars" / "nodes.yml"
    variables.write_text(variables.read_text(encoding="utf-8").replace("10.1.0.0/16", subnet), encoding="utf-8")
    before = sorted(project.rglob("*"))
    played = navigate(project, collections, "run", "validate.yml")
    errors = 0 if subnet == "10.1.0.0/16" else 1
    assert (played.returncode != 0) == bool(errors), played.stdout
    assert f"{errors} error" in played.stdout
    assert "the variables of 3 hosts" in played.stdout
    assert sorted(project.rglob("*")) == before
