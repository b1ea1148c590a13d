# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node without a usable temporary directory: one error that names it, and no traceback."""

from __future__ import annotations

import contextlib
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs

pytestmark = pytest.mark.real_programs

# Python takes the first of them in which it can write.
DIRECTORIES = [path for path in ("/tmp", "/var/tmp", "/usr/tmp") if pathlib.Path(path).is_dir()]


@pytest.fixture
def elsewhere(node: EngineNode) -> Project:
    """Return a project outside the usual temporary directories, whose modules start in an unwritable directory."""
    path = pathlib.Path("/run/project")
    path.mkdir()
    project = Project(path)
    python = project.write("python", f'#!/bin/sh\ncd /sys\nexec {project.python} "$@"\n')
    python.chmod(0o755)
    project.python = str(python)
    return project


def set_up(project: Project, **variables: object) -> None:
    hosts: JsonObject = {"all": {"hosts": {"node": variables}}}
    project.inventory = str(project.write("hosts.yml", str(hosts)))


@pytest.mark.parametrize("pipelining", [True, False])
def test_a_module_that_cannot_start_names_the_temporary_directories(elsewhere: Project, pipelining: bool) -> None:
    set_up(elsewhere, ansible_pipelining=pipelining, ansible_remote_tmp="/run/remote")
    with contextlib.ExitStack() as stack:
        for path in DIRECTORIES:
            stack.enter_context(tmpfs(path, "ro"))
        made = elsewhere.play([task("make", "cni.node.netns", {"names": ["red"]})])["make"]
    made.require_failure(
        "Ansible cannot start netns on the node: No usable temporary directory found in ['/tmp', ",
        "expected: some free",
    )
    assert made.result["error"]["code"] == 5


def test_a_source_that_cannot_be_copied_names_the_temporary_directory(elsewhere: Project) -> None:
    set_up(elsewhere, ansible_pipelining=True, ansible_remote_tmp="/run/remote")
    source = releases.release(elsewhere.path / "source.tgz", "host-local")
    elsewhere.play([task("install", "cni.node.library", {})]).succeeded()
    with tmpfs("/run/remote", "ro"):
        options: JsonObject = {"source": str(source), "remote_src": True}
        installed = elsewhere.play([task("install", "cni.node.plugins", options)])["install"]
    installed.require_failure("the task has no temporary directory: ", "Read-only file system", "ansible_remote_tmp")
    assert installed.result["error"]["code"] == 5
