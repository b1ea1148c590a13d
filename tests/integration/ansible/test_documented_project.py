# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The project for a job template, as docs/playbooks.md shows it."""

from __future__ import annotations

import re

import yaml

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.ansible.test_playbooks import PAGE

_EXAMPLE = re.compile(r"```yaml\n# (\S+)\n(.*?)```", re.DOTALL)


def documented_files() -> dict[str, str]:
    """Return the examples of the page that begin with the name of their file."""
    return dict(_EXAMPLE.findall(PAGE.read_text(encoding="utf-8")))


def test_the_documented_project_imports_the_playbook_and_requires_the_collection(project: Project) -> None:
    files = documented_files()
    assert {"collections/requirements.yml", "provision.yml"} <= files.keys()
    (required,) = yaml.safe_load(files["collections/requirements.yml"])["collections"]
    assert required["name"] == "cni.node"
    playbook = project.write("provision.yml", files["provision.yml"])
    checked = project.run(str(playbook), "--syntax-check").succeeded()
    assert "playbook: " in checked.output
    listed = project.run(str(playbook), "--list-tasks").succeeded()
    assert "Provision container networks" in listed.output
