# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The programs that start at once do what the real ones do."""

from __future__ import annotations

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task


def test_a_warm_playbook_has_its_temporary_files_in_the_home_of_the_run(project: Project) -> None:
    run = project.play([task("ping", "ansible.builtin.ping", {})]).succeeded()
    assert run["ping"].result["ping"] == "pong"
    assert {path.name for path in project.path.iterdir()} == {".ansible", "play.yml", "record", "variables.json"}
    assert (project.path / ".ansible" / "tmp").is_dir()
