# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unit that restores attachments, and its link: both there or not there at all."""

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES

DIRECTORIES = ["/var/lib/cni", '/var/a b/"%$\\']


LIBRARY = Library("/opt/cni/lib/cni.node", "0" * 64)


def settle(unit: SystemdUnit, *directories: str) -> list[str]:
    changes = unit.plan_changes(directories, LIBRARY)
    unit.carry_out(changes)
    return [change.action for change in changes]


def test_the_files_are_written_once_and_removed(unit: SystemdUnit, paths: NodePaths) -> None:
    assert settle(unit, *DIRECTORIES) == ["created"] * 2
    assert settle(unit, *DIRECTORIES) == []
    assert unit.read_cache_dirs() == DIRECTORIES
    assert settle(unit, "/var/lib/cni") == ["changed"]
    assert os.readlink(paths.restore_link) == paths.restore_unit
    assert settle(unit) == ["removed"] * 2
    assert settle(unit) == []
    assert unit.read_cache_dirs() == []


def test_attachments_are_restored_before_any_runtime_starts_containers(unit: SystemdUnit, paths: NodePaths) -> None:
    settle(unit, *DIRECTORIES)
    lines = pathlib.Path(paths.restore_unit).read_text(encoding="utf-8").splitlines()
    (units,) = [line.partition("=")[2].split() for line in lines if line.startswith("Before=")]
    services = {each for runtime in RUNTIMES for each in runtime.units}
    assert services | {"docker.service", "podman-restart.service"} <= set(units)


def test_another_release_changes_the_unit_alone(unit: SystemdUnit, paths: NodePaths) -> None:
    settle(unit, "/var/lib/cni")
    other = Library("/srv/cni/lib/cni.node", "1" * 64)
    changes = unit.plan_changes(["/var/lib/cni"], other)
    assert [(change.path, change.action) for change in changes] == [(paths.restore_unit, "changed")]
    unit.carry_out(changes)
    text = pathlib.Path(paths.restore_unit).read_text(encoding="utf-8")
    assert f" -I {other.path} /var/lib/cni\n" in text
    assert f"RequiresMountsFor={other.top} /var/lib/cni\n" in text


def test_a_link_to_another_file_is_corrected(unit: SystemdUnit, paths: NodePaths) -> None:
    settle(unit, "/var/lib/cni")
    os.unlink(paths.restore_link)
    os.symlink("/dev/null", paths.restore_link)
    assert settle(unit, "/var/lib/cni") == ["changed"]
    assert os.readlink(paths.restore_link) == paths.restore_unit


def test_a_path_is_quoted_as_one_word_of_the_unit(unit: SystemdUnit, paths: NodePaths) -> None:
    settle(unit, *DIRECTORIES)
    lines = pathlib.Path(paths.restore_unit).read_text(encoding="utf-8").splitlines()
    (command,) = (line for line in lines if line.startswith("ExecStart="))
    assert command.endswith(f'-I {LIBRARY.path} /var/lib/cni "/var/a b/\\"%%$$\\\\"')
    (mounts,) = (line for line in lines if line.startswith("RequiresMountsFor="))
    assert mounts.endswith('/var/lib/cni "/var/a b/\\"%%$\\\\"')


def test_a_control_character_ends_no_line_of_the_unit(unit: SystemdUnit, paths: NodePaths) -> None:
    """Modules refuse such a path, but a unit of an earlier release may list it."""
    odd = "/var/a\nExecStartPre=/bin/false\t\x1b\x85é"
    settle(unit, "/var/lib/cni", odd)
    lines = pathlib.Path(paths.restore_unit).read_text(encoding="utf-8").splitlines()
    (command,) = (line for line in lines if line.startswith("Exec"))
    assert command.endswith(' /var/lib/cni "/var/a\\x0aExecStartPre=/bin/false\\x09\\x1b\\xc2\\x85é"')
    # RequiresMountsFor has no such escapes.
    assert f"RequiresMountsFor={LIBRARY.top} /var/lib/cni" in lines
    assert unit.read_cache_dirs() == ["/var/lib/cni", odd]


@pytest.mark.parametrize("line", ["# cache_dirs: [", "# cache_dirs: 5", "nothing of ours"])
def test_a_changed_unit_is_overwritten(unit: SystemdUnit, paths: NodePaths, line: str) -> None:
    settle(unit, "/var/lib/cni")
    pathlib.Path(paths.restore_unit).write_text(f"{line}\n", encoding="utf-8")
    assert unit.read_cache_dirs() == []
    assert settle(unit, "/var/lib/cni") == ["changed"]
