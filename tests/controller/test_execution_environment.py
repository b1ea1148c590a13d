# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The definition of an execution environment, and what it would install, without a container engine."""

from __future__ import annotations

import importlib
import os
import pathlib
import subprocess

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support import awx
from tools import cores, envs
from tools.paths import tool

FLOOR = cores.ALL[0]


def run(*command: str | pathlib.Path, **environment: str) -> str:
    """Return the output of a command that succeeds."""
    words = list(map(str, command))
    done = subprocess.run(words, check=False, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def context(project: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """Return the directory from which a container engine would build the image."""
    definition, directory = project / "execution-environment.yml", tmp_path / "context"
    run(tool("ansible-builder"), "create", "-f", definition, "-c", directory, "--output-filename", "Containerfile")
    return directory


@pytest.fixture(scope="session")
def required(collections: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return a file with the Python packages that the installed collection requires of an image."""
    path = tmp_path_factory.mktemp("required") / "requirements.txt"
    found: JsonObject = yaml.safe_load(run(tool("ansible-builder"), "introspect", collections, "--write-pip", path))
    assert found == {"python": ["jsonschema >= 4.17  # from collection cni.node"], "system": []}
    return path


def test_the_image_gets_the_collection_ansible_and_a_client_for_ssh(context: pathlib.Path) -> None:
    lines = (context / "Containerfile").read_text(encoding="utf-8").splitlines()
    arguments = dict(
        line.removeprefix("ARG ").split("=", 1) for line in lines if line.startswith("ARG ") and "=" in line
    )
    assert arguments["EE_BASE_IMAGE"] == '"quay.io/centos/centos:stream9"'
    core, runner = arguments["ANSIBLE_INSTALL_REFS"].strip('"').split()
    accepted = SpecifierSet(core.removeprefix("ansible-core"))
    assert [version.line for version in cores.ALL if f"{version.line}.0" not in accepted] == []
    assert runner == "ansible-runner"
    assert any("ansible-galaxy collection install" in line and "-r requirements.yml" in line for line in lines)
    (galaxy,) = awx.load(context / "_build" / "requirements.yml")["collections"]
    assert galaxy["name"] == "cni.node"
    copied = lines.index("COPY --from=galaxy /usr/share/ansible /usr/share/ansible")
    assert any(
        "compileall" in line and line.endswith("/ansible_collections/cni/node/plugins") for line in lines[copied:]
    )
    depends = importlib.import_module("bindep.depends")
    packages = depends.Depends((context / "_build" / "bindep.txt").read_text(encoding="utf-8"))
    assert [name for name, *_rest in packages.active_rules(["platform:rpm"])] == ["openssh-clients"]


@pytest.mark.outer("another release of ansible-core, which comes from a package index")
def test_the_oldest_ansible_runs_a_playbook_with_the_packages_of_the_image(
    collections: pathlib.Path, required: pathlib.Path, project: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    python = FLOOR.python()
    if python is None:
        pytest.skip(f"no Python of this machine runs ansible-core {FLOOR.line}")
    requirements = tmp_path / "requirements.txt"
    packages = required.read_text(encoding="utf-8")
    requirements.write_text(f"ansible-core == {FLOOR.line}.*\n{packages}", encoding="utf-8")
    envs.build(tmp_path / "env", python, requirements)
    played = run(
        tmp_path / "env" / "bin" / "ansible-playbook",
        *("-i", project / "inventory", project / "validate.yml"),
        ANSIBLE_COLLECTIONS_PATH=str(collections),
        ANSIBLE_HOME=str(tmp_path / "home"),
    )
    assert "0 errors and 0 warnings in 0 files and the variables of 3 hosts" in played
