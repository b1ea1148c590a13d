# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The project that job templates use has one playbook for each playbook of the collection."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from ansible_collections.cni.node.tests.support import awx

ROOT = pathlib.Path(__file__).parents[4]
PROJECT = ROOT / "extensions" / "controller" / "project"
PLAYBOOKS = sorted(path.name for path in (ROOT / "playbooks").iterdir())


def test_a_job_template_offers_each_playbook_of_the_collection_and_nothing_else() -> None:
    assert awx.offered_playbooks(PROJECT) == PLAYBOOKS


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_a_playbook_of_the_project_imports_the_playbook_of_its_name(name: str) -> None:
    wrapper, wrapped = (
        yaml.safe_load((place / name).read_text(encoding="utf-8")) for place in (PROJECT, ROOT / "playbooks")
    )
    imported = f"cni.node.{name.removesuffix('.yml')}"
    assert wrapper == [{"name": wrapped[0]["name"], "ansible.builtin.import_playbook": imported}]


def test_the_project_requires_this_release_or_a_newer_one() -> None:
    (required,) = awx.load(PROJECT / "collections" / "requirements.yml")["collections"]
    galaxy = awx.load(ROOT / "galaxy.yml")
    assert required == {"name": f"{galaxy['namespace']}.{galaxy['name']}", "version": f">={galaxy['version']}"}


@pytest.mark.parametrize(
    ("name", "text", "is_offered"),
    [
        ("site.yml", "- hosts: all\n", True),
        ("site.yml", "- name: x\n  import_playbook: y\n", True),
        ("sub/site.yaml", "# x\n- ansible.builtin.import_playbook: y\n", True),
        ("site.json", "- hosts: all\n", False),
        ("site.yml", "all:\n  vars: {}\n", False),
        ("group_vars/all.yml", "hosts: all\n", False),
        (".github/site.yml", "- hosts: all\n", False),
    ],
)
def test_only_playbooks_are_offered(tmp_path: pathlib.Path, name: str, text: str, is_offered: bool) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    assert awx.offered_playbooks(tmp_path) == [name] * is_offered
