# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import LIST, SINGLE


def list_text(name: str, *types: str, **keys: object) -> str:
    return json.dumps(
        {"cniVersion": "1.0.0", "name": name, "plugins": [{"type": plugin_type} for plugin_type in types], **keys}
    )


def single(name: str, plugin_type: str) -> str:
    return json.dumps({**SINGLE, "name": name, "type": plugin_type, "ipam": {}})


def put(directory: pathlib.Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (directory / name).write_text(content, encoding="utf-8")


def types(directory: pathlib.Path, name: str) -> tuple[str, ...]:
    return conf_dir.load(str(directory)).get(name).plugin_types


def test_a_missing_directory_has_no_network(tmp_path: pathlib.Path) -> None:
    loaded = conf_dir.load(str(tmp_path / "missing"))
    assert (loaded.networks, loaded.shadowed, loaded.broken) == ({}, (), {})


def test_networks_are_found_by_name_and_not_by_file(tmp_path: pathlib.Path) -> None:
    put(
        tmp_path,
        {"10-a.conflist": json.dumps(LIST), "20-b.conf": single("other", "b"), "30-c.json": single("third", "c")},
    )
    assert sorted(conf_dir.load(str(tmp_path)).networks) == ["dbnet", "other", "third"]


def test_the_lower_file_name_wins_and_shadows_the_other_list(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"20-b.conflist": list_text("n", "second"), "10-a.conflist": list_text("n", "first")})
    loaded = conf_dir.load(str(tmp_path))
    assert loaded.get("n").plugin_types == ("first",)
    assert [network.source for network in loaded.shadowed] == [str(tmp_path / "20-b.conflist")]


def test_a_list_wins_over_a_single_plugin_of_any_file_name(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"10-a.conf": single("n", "single"), "20-b.conflist": list_text("n", "list")})
    assert types(tmp_path, "n") == ("list",)


def test_conf_and_json_files_are_sorted_together(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"20-b.conf": single("n", "conf"), "10-a.json": single("n", "json")})
    assert types(tmp_path, "n") == ("json",)


@pytest.mark.parametrize(
    "name", [".hidden.conflist", "a.conflist.bak", "a.conflist~", "README", "a.CONFLIST", "aconflist", ".conflist"]
)
def test_other_files_are_not_read(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / name).write_text("{", encoding="utf-8")
    assert conf_dir.load(str(tmp_path)).broken == {}


def test_a_temporary_file_is_not_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / f"{durable.TEMPORARY_PREFIX}x{durable.TEMPORARY_SUFFIX}").write_text("{", encoding="utf-8")
    assert conf_dir.list_files(str(tmp_path)) == []


def test_a_directory_with_a_files_ending_is_not_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.conflist").mkdir()
    assert conf_dir.load(str(tmp_path)).broken == {}


def test_broken_files_are_reported_and_do_not_hide_the_others(tmp_path: pathlib.Path) -> None:
    put(
        tmp_path,
        {"00-empty.conflist": "", "10-a.conflist": list_text("n", "a"), "20-b.conflist": "{", "30-c.conf": "[]"},
    )
    os.symlink("nowhere", tmp_path / "40-d.conf")
    loaded = conf_dir.load(str(tmp_path))
    assert sorted(os.path.basename(path) for path in loaded.broken) == [
        "00-empty.conflist",
        "20-b.conflist",
        "30-c.conf",
        "40-d.conf",
    ]
    assert all(path in error.msg for path, error in loaded.broken.items())
    assert loaded.get("n").plugin_types == ("a",)


def test_the_error_for_a_missing_network_lists_networks_and_unreadable_files(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"10-a.conflist": list_text("a", "a"), "20-b.conflist": "{"})
    error = error_of(conf_dir.load(str(tmp_path)).get, "b")
    assert error.code == Code.INVALID_CONFIG
    assert "networks in this directory: a" in error.details
    assert str(tmp_path / "20-b.conflist") in error.details


def test_plugins_of_the_sibling_directory_come_after_the_inlined_ones(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"10-a.conflist": list_text("n", "inlined")})
    (tmp_path / "n").mkdir()
    put(
        tmp_path / "n",
        {"20-b.conf": '{"type": "second"}', "10-a.conf": '{"type": "first"}', "30-c.json": '{"type": "not"}'},
    )
    put(tmp_path / "n", {"40-d.conflist": '{"type": "not"}'})
    network = conf_dir.load(str(tmp_path)).get("n")
    assert [(plugin.index, plugin.type) for plugin in network.plugins] == [(0, "inlined"), (1, "first"), (2, "second")]


def test_a_network_may_have_all_its_plugins_in_the_sibling_directory(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"10-a.conflist": json.dumps({"name": "n", "cniVersion": "1.1.0"})})
    (tmp_path / "n").mkdir()
    put(tmp_path / "n", {"10-a.conf": '{"type": "a"}'})
    assert types(tmp_path, "n") == ("a",)


def test_the_plugin_directory_is_ignored_with_load_only_inlined_plugins(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"10-a.conflist": list_text("n", "inlined", loadOnlyInlinedPlugins=True)})
    (tmp_path / "n").mkdir()
    put(tmp_path / "n", {"10-a.conf": "{"})
    assert types(tmp_path, "n") == ("inlined",)


def test_a_single_plugin_ignores_the_sibling_directory(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"10-a.conf": single("n", "single")})
    (tmp_path / "n").mkdir()
    put(tmp_path / "n", {"10-a.conf": '{"type": "more"}'})
    assert types(tmp_path, "n") == ("single",)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"type": "../x"}', '{"type": "a", "type": "a"}'])
def test_a_broken_plugin_in_the_sibling_directory_breaks_its_network(tmp_path: pathlib.Path, content: str) -> None:
    put(tmp_path, {"10-a.conflist": list_text("n", "inlined"), "20-b.conflist": list_text("other", "b")})
    (tmp_path / "n").mkdir()
    put(tmp_path / "n", {"10-a.conf": content})
    loaded = conf_dir.load(str(tmp_path))
    assert str(tmp_path / "n" / "10-a.conf") in loaded.broken[str(tmp_path / "10-a.conflist")].msg
    assert list(loaded.networks) == ["other"]


def test_a_network_without_any_plugin_is_broken(tmp_path: pathlib.Path) -> None:
    put(tmp_path, {"10-a.conflist": list_text("n")})
    assert "the network has no plugin" in error_of(conf_dir.load_file, str(tmp_path / "10-a.conflist")).msg


def test_a_removed_file_is_an_error(tmp_path: pathlib.Path) -> None:
    assert error_of(conf_dir.load_file, str(tmp_path / "a.conflist")).code == Code.IO_FAILURE


def test_an_endless_file_is_an_error(tmp_path: pathlib.Path) -> None:
    os.symlink("/dev/zero", tmp_path / "a.conflist")
    assert error_of(conf_dir.load_file, str(tmp_path / "a.conflist")).code == Code.IO_FAILURE


def test_reading_does_not_wait_for_a_pipe(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "a.conflist")
    assert list(conf_dir.load(str(tmp_path)).broken) == [str(tmp_path / "a.conflist")]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("10-lan.conflist.cilium_bak", "set cni.exclusive to false in Cilium"),
        ("10-lan.conflist.rpmsave", "rename it back, or remove it"),
        ("10-lan.conflist.dpkg-old", "rename it back, or remove it"),
        ("10-lan.conflist.disabled", "rename it back, or remove it"),
        ("10-lan.conflist~", "rename it back, or remove it"),
    ],
)
def test_the_error_about_a_missing_network_names_the_file_that_was_set_aside(
    tmp_path: pathlib.Path, name: str, advice: str
) -> None:
    content = json.dumps({"cniVersion": "1.0.0", "name": "lan", "plugins": [{"type": "ptp"}]})
    (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "10-other.conflist.bak").write_text(content.replace("lan", "other"), encoding="utf-8")
    (tmp_path / "10-broken.conflist.bak").write_text("{", encoding="utf-8")
    details = error_of(conf_dir.load(str(tmp_path)).get, "lan").details
    assert f"it is set aside as {name}: " in details
    assert advice in details
    assert details.count("set aside") == 1
