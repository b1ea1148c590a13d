# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unit that restores attachments, its link and its program: all there or not there at all."""

from __future__ import annotations

import io
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.boot import program
from ansible_collections.cni.node.plugins.module_utils._node.boot.systemd_unit import SystemdUnit
from ansible_collections.cni.node.plugins.module_utils._node.files import zipapp

DIRECTORIES = ["/var/lib/cni", '/var/a b/"%$\\']


def settle(unit: SystemdUnit, *directories: str, program_dir: pathlib.Path | None = None) -> list[str]:
    changes = unit.plan_changes(directories, str(program_dir) if program_dir else None)
    unit.carry_out(changes)
    return [change.action for change in changes]


def test_the_files_are_written_once_and_removed(root: pathlib.Path, unit: SystemdUnit, paths: NodePaths) -> None:
    assert settle(unit, *DIRECTORIES) == ["created"] * 3
    assert settle(unit, *DIRECTORIES) == []
    assert unit.read_cache_dirs() == DIRECTORIES
    assert settle(unit, "/var/lib/cni") == ["changed"]
    assert os.readlink(paths.restore_link) == paths.restore_unit
    assert settle(unit) == ["removed"] * 3
    assert settle(unit) == []
    assert unit.read_cache_dirs() == []
    assert not (root / "opt" / "cni.node").exists()


def test_the_program_is_moved_kept_and_removed(root: pathlib.Path, unit: SystemdUnit, paths: NodePaths) -> None:
    first, second = root / "srv" / "first", root / "srv" / "second"
    settle(unit, "/var/lib/cni")
    before = pathlib.Path(paths.restore_program).read_bytes()
    assert settle(unit, "/var/lib/cni", program_dir=first) == ["changed", "created", "removed"]
    assert (first / "restore.pyz").read_bytes() == before
    assert not os.path.lexists(os.path.dirname(paths.restore_program))
    text = pathlib.Path(paths.restore_unit).read_text(encoding="utf-8")
    assert f" -I {first}/restore.pyz /var/lib/cni\n" in text
    assert f"RequiresMountsFor={first} /var/lib/cni\n" in text
    assert settle(unit, "/var/lib/cni") == settle(unit, "/var/lib/cni", program_dir=first) == []
    assert settle(unit, "/var/lib/cni", program_dir=second) == ["changed", "created", "removed"]
    assert unit.read_cache_dirs() == ["/var/lib/cni"]
    assert settle(unit) == ["removed"] * 3
    assert not os.listdir(root / "srv")
    settle(unit, "/var/lib/cni", program_dir=first)
    usual = pathlib.Path(paths.restore_program).parent
    assert settle(unit, "/var/lib/cni", program_dir=usual) == ["changed", "created", "removed"]
    assert "# program: " not in pathlib.Path(paths.restore_unit).read_text(encoding="utf-8")
    assert settle(unit, program_dir=first) == ["removed"] * 3
    assert not usual.exists()


def test_a_program_that_a_killed_run_left_at_the_default_path_is_removed(
    root: pathlib.Path, unit: SystemdUnit, paths: NodePaths
) -> None:
    settle(unit, "/var/lib/cni")
    content = pathlib.Path(paths.restore_program).read_bytes()
    settle(unit, "/var/lib/cni", program_dir=root / "srv")
    pathlib.Path(paths.restore_program).parent.mkdir()
    pathlib.Path(paths.restore_program).write_bytes(content)
    assert settle(unit, "/var/lib/cni") == ["removed"]
    assert not pathlib.Path(paths.restore_program).parent.exists()


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
    assert command.endswith(f'-I {paths.restore_program} /var/lib/cni "/var/a b/\\"%%$$\\\\"')
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
    assert f"RequiresMountsFor={os.path.dirname(paths.restore_program)} /var/lib/cni" in lines
    assert unit.read_cache_dirs() == ["/var/lib/cni", odd]


def test_the_program_is_reproducible_and_self_contained(
    root: pathlib.Path, unit: SystemdUnit, paths: NodePaths
) -> None:
    assert program.build() == program.build()
    settle(unit, "/var/lib/cni")
    with zipfile.ZipFile(paths.restore_program) as archive:
        names = archive.namelist()
    assert not [name for name in names if "/_module/" in name or "/modules/" in name or "restore_program" in name]
    argv = [sys.executable, "-I", "-S", paths.restore_program, str(root / "cache")]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env={}, cwd="/")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "statement",
    [
        "from {package} import netns",
        "from {package} import netns as namespaces",
        "from {package} import (\n    netns as namespaces,  # the kernel's\n    syscall,\n)",
        "from {package}.netns import is_namespace as is_netns",
        "import {package}.netns",
        "import {package}.netns as namespaces",
        "def read():\n    from {package} import netns as namespaces",
    ],
)
def test_the_program_follows_every_form_of_import(
    statement: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = netns.__name__.rpartition(".")[0]
    (tmp_path / "first.py").write_text(f"{statement.format(package=package)}\n", encoding="ascii")
    monkeypatch.syspath_prepend(tmp_path)
    with zipfile.ZipFile(io.BytesIO(zipapp.build("first", "[]"))) as archive:
        assert f"{netns.__name__.replace('.', '/')}.py" in archive.namelist()


@pytest.mark.parametrize("line", ["# cache_dirs: [", "# cache_dirs: 5", "nothing of ours"])
def test_a_changed_unit_is_overwritten(unit: SystemdUnit, paths: NodePaths, line: str) -> None:
    settle(unit, "/var/lib/cni")
    pathlib.Path(paths.restore_unit).write_text(f"{line}\n", encoding="utf-8")
    assert unit.read_cache_dirs() == []
    assert settle(unit, "/var/lib/cni") == ["changed"]
