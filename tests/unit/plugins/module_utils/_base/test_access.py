# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.access import exposures


@pytest.fixture
def plugin(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "bin").mkdir(mode=0o755)
    path = tmp_path / "bin" / "plugin"
    path.write_text("")
    path.chmod(0o755)
    return path


def find_writable(path: pathlib.Path, root: pathlib.Path) -> dict[str, bool]:
    """Return whether every user can write each path, by its path below a root."""
    below = [exposure for exposure in exposures(str(path)) if exposure.path.startswith(str(root))]
    return {os.path.relpath(exposure.path, root): exposure.is_world_writable for exposure in below}


def test_a_file_that_only_root_can_write_is_not_an_exposure(plugin: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert find_writable(plugin, tmp_path) == {}


@pytest.mark.parametrize(
    ("where", "mode", "expected"),
    [
        ("bin/plugin", 0o757, {"bin/plugin": True}),
        ("bin/plugin", 0o775, {"bin/plugin": False}),
        ("bin", 0o777, {"bin": True}),
        ("bin", 0o1777, {}),
        ("bin", 0o775, {"bin": False}),
        (".", 0o777, {".": True}),
        (".", 0o1777, {}),
    ],
)
def test_exposures_of_a_plugin_include_its_directories(
    plugin: pathlib.Path, tmp_path: pathlib.Path, where: str, mode: int, expected: dict[str, bool]
) -> None:
    (tmp_path / where).chmod(mode)
    assert find_writable(plugin, tmp_path) == expected


def test_in_a_sticky_plugin_directory_others_can_add_files(plugin: pathlib.Path, tmp_path: pathlib.Path) -> None:
    plugin.parent.chmod(0o1777)
    assert find_writable(plugin.parent, tmp_path) == {"bin": False}


def test_directories_behind_a_link_are_checked(plugin: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "real").write_text("")
    other.chmod(0o777)
    (tmp_path / "bin" / "linked").symlink_to("../other/real")
    assert find_writable(tmp_path / "bin" / "linked", tmp_path) == {"other": True}


def test_a_link_to_itself_ends_the_search(tmp_path: pathlib.Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert find_writable(tmp_path / "loop", tmp_path) == {}


def test_a_missing_path_has_no_exposures(tmp_path: pathlib.Path) -> None:
    assert find_writable(tmp_path / "missing" / "plugin", tmp_path) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_owner_is_an_exposure(plugin: pathlib.Path, tmp_path: pathlib.Path) -> None:
    os.chown(plugin, 1000, 1000)
    assert find_writable(plugin, tmp_path) == {"bin/plugin": False}
