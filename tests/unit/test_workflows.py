# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The workflows run what a developer runs: targets of the Makefile, on every line of ansible-core."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml

from tools import cores, pythons

ROOT = pathlib.Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TESTS = "./.github/workflows/tests.yml"
MAKE = re.compile(r"^make ([\w-]+)$")
# Preparations and uploads that only a runner of the workflows does.
ELSEWHERE = ("apt-get update", "printf '%s' \"${SIGNING_KEY}\" | gpg", "gh release create", ".ci/run")


def read(name: str) -> dict[str, t.Any]:
    return dict(yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")))


def list_steps(workflow: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_steps_run_targets_of_the_makefile(path: pathlib.Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = [step["run"] for step in list_steps(read(path.name)) if "run" in step]
    own = [command for command in commands if not command.startswith(ELSEWHERE)]
    assert [command for command in own if not MAKE.match(command)] == []
    assert [target for target in own if not re.search(rf"^{target[5:]}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_need_jobs_that_exist_and_have_no_right_but_to_read(path: pathlib.Path) -> None:
    workflow = read(path.name)
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        needs = job.get("needs", [])
        assert {*([needs] if isinstance(needs, str) else needs)} <= workflow["jobs"].keys()
        assert job["permissions"] == {"contents": "write" if name == "release" else "read"}


def test_sanity_runs_on_every_line_of_ansible_core() -> None:
    sanity = read("tests.yml")["jobs"]["sanity"]
    assert sanity["strategy"]["matrix"]["core"] == [core.line for core in cores.ALL]
    assert sanity["steps"][-1]["env"] == {"CORE": "${{ matrix.core }}"}


def test_venv_has_the_line_of_ansible_core_that_chooses_its_python() -> None:
    requirements = (ROOT / "requirements" / "dev.in").read_text(encoding="utf-8")
    assert f"\nansible-core == {cores.OWN.line}.*\n" in requirements


def test_the_pythons_of_the_supported_lines_are_installed() -> None:
    newest = max(core.newest for core in cores.ALL)
    supported = {pythons.text(version) for version in pythons.list_supported() if version <= newest}
    steps = [step for step in list_steps(read("tests.yml")) if "setup-python" in step.get("uses", "")]
    assert len(steps) == 2
    for step in steps:
        assert set(step["with"]["python-version"].split()) == supported


@pytest.mark.parametrize("name", ["pull-request.yml", "nightly.yml", "release.yml"])
def test_every_occasion_runs_all_tests(name: str) -> None:
    assert read(name)["jobs"]["tests"]["uses"] == TESTS


def test_a_release_needs_all_tests() -> None:
    assert read("release.yml")["jobs"]["release"]["needs"] == "tests"


def test_select_for_sanity_takes_the_lines_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORE", "2.17 2.20")
    assert [core.line for core in cores.select_for_sanity()] == ["2.17", "2.20"]
    monkeypatch.setenv("CORE", "2.7")
    with pytest.raises(Exception, match=r"2\.7: choose from 2\.16, "):
        cores.select_for_sanity()
