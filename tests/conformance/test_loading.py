# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 1, "Configuration format", and the lookup order of runtimes."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config
from ansible_collections.cni.node.plugins.module_utils._cni.conf_dir import ConfDir
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of


def list_text(name: str, *types: str, **keys: object) -> str:
    return json.dumps(
        {"cniVersion": "1.1.0", "name": name, "plugins": [{"type": plugin_type} for plugin_type in types], **keys}
    )


def single(name: str, plugin_type: str, version: str = "0.4.0") -> str:
    return json.dumps({"cniVersion": version, "name": name, "type": plugin_type})


def load(directory: pathlib.Path, files: dict[str, str]) -> ConfDir:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return conf_dir.load(str(directory))


def parse(document: object) -> config.NetworkConfiguration:
    return config.parse(json.dumps(document).encode(), "10-net.conflist")


def test_a_missing_directory_has_no_networks(tmp_path: pathlib.Path) -> None:
    assert load(tmp_path / "missing", {}).networks == {}


def test_the_lookup_is_by_name_in_the_order_of_file_names(tmp_path: pathlib.Path) -> None:
    networks = load(
        tmp_path,
        {
            "10-a.conflist": list_text("n", "a"),
            "20-b.conflist": list_text("n", "b"),
            "30.conflist": list_text("m", "c"),
        },
    )
    assert (networks.get("n").plugin_types, networks.get("m").plugin_types) == (("a",), ("c",))


def test_lists_come_before_single_plugins_whatever_the_file_names(tmp_path: pathlib.Path) -> None:
    assert load(tmp_path, {"10-a.conf": single("n", "single"), "20-b.conflist": list_text("n", "list")}).get(
        "n"
    ).plugin_types == ("list",)


def test_single_plugins_are_in_one_order_whatever_their_ending(tmp_path: pathlib.Path) -> None:
    assert load(tmp_path, {"20-b.conf": single("n", "conf"), "10-a.json": single("n", "json")}).get(
        "n"
    ).plugin_types == ("json",)


def test_directories_are_not_descended_into(tmp_path: pathlib.Path) -> None:
    assert load(tmp_path, {"below.conflist/10-a.conflist": list_text("n", "a")}).networks == {}


def test_a_missing_network_is_an_error_that_names_it_and_the_directory(tmp_path: pathlib.Path) -> None:
    error = error_of(load(tmp_path, {"10-a.conflist": list_text("m", "a")}).get, "n")
    assert error.msg == f"no network 'n' in {tmp_path}"


def test_a_broken_file_does_not_hide_later_files_differs_from_libcni(tmp_path: pathlib.Path) -> None:
    networks = load(tmp_path, {"00-broken.conflist": "{", "10-a.conflist": list_text("n", "a")})
    assert (networks.get("n").plugin_types, list(networks.broken)) == (("a",), [str(tmp_path / "00-broken.conflist")])


def test_hidden_files_are_not_read_differs_from_libcni(tmp_path: pathlib.Path) -> None:
    loaded = load(tmp_path, {".ansible_tmpx10-a.conflist": "", "10-a.conflist": list_text("n", "a")})
    assert (list(loaded.networks), loaded.broken) == (["n"], {})


def test_a_list_may_be_in_a_file_of_any_name_differs_from_libcni(tmp_path: pathlib.Path) -> None:
    assert load(tmp_path, {"10-a.conf": list_text("n", "a", "b")}).get("n").plugin_types == ("a", "b")


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_a_single_plugin_of_1_0_0_or_later_is_refused_differs_from_libcni(tmp_path: pathlib.Path, version: str) -> None:
    networks = load(tmp_path, {"10-a.conf": single("n", "a", version)})
    assert "only has lists since 1.0.0" in networks.broken[str(tmp_path / "10-a.conf")].details


@pytest.mark.parametrize(
    ("pointer", "document"),
    [
        ("/name", {"plugins": [{"type": "a"}]}),
        ("/name", {"name": 5, "plugins": [{"type": "a"}]}),
        ("/cniVersion", {"name": "n", "cniVersion": 1, "plugins": [{"type": "a"}]}),
        ("/cniVersions", {"name": "n", "cniVersions": "1.0.0", "plugins": [{"type": "a"}]}),
        ("/cniVersions", {"name": "n", "cniVersions": None, "plugins": [{"type": "a"}]}),
        ("/cniVersions/0", {"name": "n", "cniVersions": [1], "plugins": [{"type": "a"}]}),
        ("/disableCheck", {"name": "n", "disableCheck": "x", "plugins": [{"type": "a"}]}),
        ("/disableGC", {"name": "n", "disableGC": 1, "plugins": [{"type": "a"}]}),
        ("/loadOnlyInlinedPlugins", {"name": "n", "loadOnlyInlinedPlugins": True}),
        ("/plugins", {"name": "n", "plugins": "a"}),
        ("/plugins/0", {"name": "n", "plugins": [{}]}),
    ],
)
def test_a_file_that_breaks_the_format_is_refused_with_the_place(pointer: str, document: JsonObject) -> None:
    error = error_of(parse, document)
    assert (error.code, pointer in error.msg) == (Code.INVALID_CONFIG, True)


def test_a_file_that_is_not_json_is_refused() -> None:
    assert error_of(config.parse, b"", "10-net.conflist").code == Code.DECODE_FAILURE


@pytest.mark.parametrize("value", [True, "true", "TRUE"])
def test_flags_are_booleans_or_their_names_in_any_case(value: object) -> None:
    network = parse({"name": "n", "disableCheck": value, "disableGC": value, "plugins": [{"type": "a"}]})
    assert (network.disable_check, network.disable_gc) == (True, True)


def test_a_key_given_twice_is_refused_differs_from_libcni() -> None:
    content = b'{"name": "n", "plugins": [{"type": "a"}], "name": "m"}'
    assert "'name' is given twice" in error_of(config.parse, content, "x").msg


@pytest.mark.parametrize("name", ["", "../n", "a b"])
def test_an_invalid_name_is_refused_at_once_differs_from_libcni(name: str) -> None:
    assert error_of(parse, {"name": name, "plugins": [{"type": "a"}]}).code == Code.INVALID_CONFIG


def test_keys_of_a_list_have_one_spelling() -> None:
    assert error_of(parse, {"Name": "n", "plugins": [{"type": "a"}]}).code == Code.INVALID_CONFIG


def test_keys_of_a_plugin_have_one_spelling_differs_from_libcni() -> None:
    assert "the plugin has no 'type'" in error_of(parse, {"name": "n", "plugins": [{"Type": "a"}]}).msg


@pytest.mark.parametrize(
    ("versions", "selected"),
    [
        ({"cniVersions": ["0.3.1", "1.1.0", "0.4.0"]}, "1.1.0"),
        ({"cniVersions": ["0.3.1", "0.4.0"], "cniVersion": "1.0.0"}, "1.0.0"),
        ({"cniVersions": ["1.0.0", "2.0.0"]}, "1.0.0"),
        ({"cniVersion": "0.4.0"}, "0.4.0"),
        ({}, "0.1.0"),
    ],
)
def test_the_highest_version_that_both_know_is_selected(
    node: ConformanceNode, versions: JsonObject, selected: str
) -> None:
    network = node.network("a", version=None, **versions)
    assert node.runtime.versions.select(network) == selected


@pytest.mark.parametrize("versions", [{"cniVersion": "1.2.3"}, {"cniVersions": []}, {"cniVersions": ["2.0.0"]}])
def test_a_network_without_a_known_version_is_refused_differs_from_libcni(versions: JsonObject) -> None:
    assert error_of(parse, {"name": "n", "plugins": [{"type": "a"}], **versions}).code == Code.INCOMPATIBLE_VERSION


def test_a_version_that_was_never_released_is_ignored_differs_from_libcni(node: ConformanceNode) -> None:
    network = node.network("a", version=None, cniVersions=["1.0.1", "1.2", "1.0.0"])
    assert node.runtime.versions.select(network) == "1.0.0"


class TestPluginDirectory:
    """ "Any valid plugin configuration objects aggregated from other sources must be appended"."""

    def test_plugins_of_the_sibling_directory_are_appended_in_the_order_of_their_files(
        self, tmp_path: pathlib.Path
    ) -> None:
        files = {
            "10-n.conflist": list_text("n", "a"),
            "n/20.conf": '{"type": "c"}',
            "n/10.conf": '{"type": "b"}',
            "n/30.json": "{",
        }
        assert load(tmp_path, files).get("n").plugin_types == ("a", "b", "c")

    def test_a_network_may_have_no_plugins_key(self, tmp_path: pathlib.Path) -> None:
        files = {"10-n.conflist": '{"name": "n", "cniVersion": "1.1.0"}', "n/10.conf": '{"type": "b"}'}
        assert load(tmp_path, files).get("n").plugin_types == ("b",)

    def test_an_empty_list_of_plugins_counts_as_missing_differs_from_libcni(self, tmp_path: pathlib.Path) -> None:
        assert load(tmp_path, {"10-n.conflist": list_text("n"), "n/10.conf": '{"type": "b"}'}).get(
            "n"
        ).plugin_types == ("b",)

    def test_load_only_inlined_plugins_ignores_the_sibling_directory(self, tmp_path: pathlib.Path) -> None:
        files = {"10-n.conflist": list_text("n", "a", loadOnlyInlinedPlugins=True), "n/10.conf": '{"type": "b"}'}
        assert load(tmp_path, files).get("n").plugin_types == ("a",)

    def test_a_single_plugin_has_no_sibling_directory(self, tmp_path: pathlib.Path) -> None:
        assert load(tmp_path, {"10-n.conf": single("n", "a"), "n/10.conf": '{"type": "b"}'}).get("n").plugin_types == (
            "a",
        )

    @pytest.mark.parametrize(
        "files", [{"10-n.conflist": list_text("n")}, {"10-n.conflist": '{"name": "n"}', "n/10.json": '{"type": "b"}'}]
    )
    def test_a_network_without_any_plugin_is_refused(self, tmp_path: pathlib.Path, files: dict[str, str]) -> None:
        assert "the network has no plugin" in load(tmp_path, files).broken[str(tmp_path / "10-n.conflist")].msg

    @pytest.mark.parametrize("content", ["{", "{}", '{"type": "/bin/sh"}'])
    def test_every_plugin_is_validated(self, tmp_path: pathlib.Path, content: str) -> None:
        networks = load(tmp_path, {"10-n.conflist": list_text("n", "a"), "n/10.conf": content})
        assert str(tmp_path / "n" / "10.conf") in networks.broken[str(tmp_path / "10-n.conflist")].msg

    def test_appended_plugins_are_recorded_and_get_their_del_differs_from_libcni(self, node: ConformanceNode) -> None:
        node.write("a", "b")
        files = {"10-net.conflist": list_text("net", "a"), "net/10.conf": '{"type": "b"}'}
        network = load(node.directory / "net.d", files).get("net")
        node.add(network)
        os.unlink(node.directory / "net.d" / "net" / "10.conf")
        node.runtime.delete(node.record())
        assert node.ran() == [("DEL", "b"), ("DEL", "a")]
