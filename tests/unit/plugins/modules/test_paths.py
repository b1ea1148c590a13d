# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every module refuses a path with a control character, which would corrupt files that are read by lines."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleRunner

OPTIONS: dict[str, tuple[str, JsonObject]] = {
    "attachments: cache_dir": ("cache_dir", {"attachments": []}),
    "attachments: conf_dir": ("conf_dir", {"attachments": []}),
    "attachments: plugin_dirs": ("plugin_dirs", {"attachments": []}),
    "conflists: conf_dir": ("conf_dir", {"conflists": []}),
    "conflists: plugin_dirs": ("plugin_dirs", {"conflists": []}),
    "gc: cache_dir": ("cache_dir", {}),
    "gc: conf_dir": ("conf_dir", {}),
    "kernel: cache_dir": ("cache_dir", {}),
    "node_info: cache_dir": ("cache_dir", {}),
    "plugins: bin_dir": ("bin_dir", {"version": "1.9.1"}),
    "plugins: cache_dir": ("cache_dir", {"version": "1.9.1"}),
    "verify: conf_dir": ("conf_dir", {}),
}


@pytest.mark.parametrize("character", ["\n", "\t", "\x1b", "\x7f", "\x85", "\u2028"])
@pytest.mark.parametrize(("name", "option"), OPTIONS.items(), ids=OPTIONS)
def test_a_path_with_a_control_character_is_refused(
    run: ModuleRunner, tmp_path: pathlib.Path, name: str, option: tuple[str, JsonObject], character: str
) -> None:
    key, others = option
    path = f"{tmp_path}/a{character}ExecStartPre=b"
    given = [str(tmp_path), path] if key == "plugin_dirs" else path
    message = run(name.partition(":")[0], check_mode=True, **{**others, key: given}).require_refusal()
    where = "plugin_dirs[1]" if key == "plugin_dirs" else key
    assert message.startswith(f"{where}: {path!r} has a control character")
    assert list(tmp_path.iterdir()) == []


def test_a_bad_path_inside_an_item_is_named_with_its_index(run: ModuleRunner) -> None:
    planned = [{"path": path, "action": "unchanged"} for path in ("/a", "/b\nc")]
    message = run("attachments", attachments=[], planned_conflists=planned).require_refusal()
    assert message.startswith("planned_conflists[1].path: '/b\\nc' has a control character")


def test_other_non_ascii_characters_are_accepted(run: ModuleRunner, tmp_path: pathlib.Path) -> None:
    assert run("node_info", conf_dir=str(tmp_path / 'größe 日本 $%"\\'), gather=["networks"]).ok()["networks"] == []
