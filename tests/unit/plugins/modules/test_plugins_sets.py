# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins with several sets in one directory: options, results, and errors that name the set."""

from __future__ import annotations

import io
import pathlib
import stat
import tarfile
import typing as t
import zipfile

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.info import inventory
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleRunner, outcome
from ansible_collections.cni.node.tests.unit.plugins.modules.plugin_directories import PluginDirectories, put
from ansible_collections.cni.node.tests.unit.plugins.modules.test_plugins_needed import NETWORK

PROGRAM = b"#!/bin/sh\n"


class PluginSets(PluginDirectories):
    """Directories, and sources of several sets."""

    def __init__(self, run: ModuleRunner, directory: pathlib.Path) -> None:
        super().__init__(run, directory)
        put(directory / "reference", "bridge", "ptp")
        self.reference: JsonObject = {"source": str(directory / "reference"), "remote_src": True, "version": "1"}

    def zip(self, name: str, *plugins: str, revision: str = "") -> JsonObject:
        """Return the item of a set whose source is a zip archive on the node."""
        path = self.directory / f"{name}{revision}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for plugin in (*plugins, "LICENSE.txt"):
                info = zipfile.ZipInfo(plugin)
                info.external_attr = (stat.S_IFREG | (0o644 if "." in plugin else 0o755)) << 16
                archive.writestr(info, PROGRAM + f"{plugin}{revision}".encode())
        return {"name": name, "source": str(path), "remote_src": True, "version": revision or "1"}

    def tar(self, name: str, *members: str) -> JsonObject:
        path = self.directory / f"{name}.tar.xz"
        with tarfile.open(path, "w:xz") as archive:
            for member in members:
                info = tarfile.TarInfo(member)
                info.size, info.mode = len(PROGRAM), 0o755
                archive.addfile(info, io.BytesIO(PROGRAM))
        return {"name": name, "source": str(path), "remote_src": True, "version": "1"}

    def executable(self, name: str, file_name: str, **options: t.Any) -> JsonObject:
        path = self.directory / file_name
        path.write_bytes(PROGRAM)
        return {"name": name, "source": str(path), "remote_src": True, "version": "1", **options}


@pytest.fixture
def place(run: ModuleRunner, tmp_path: pathlib.Path) -> PluginSets:
    return PluginSets(run, tmp_path)


def actions(result: JsonObject) -> dict[str, tuple[str, str]]:
    return {plugin["name"]: (plugin["set"], plugin["action"]) for plugin in result["plugins"]}


def test_all_kinds_of_sources_are_installed_under_the_plugins_names(place: PluginSets) -> None:
    sets = [
        place.zip("consul-cni", "consul-cni"),
        place.tar("flannel", "flannel-amd64"),
        {**place.tar("multus", "multus_4/multus", "multus_4/multus-daemon", "multus_4/README.md"), "only": ["multus"]},
        place.executable("whereabouts", "whereabouts-arm64"),
        place.executable("tap", "tc-redirect-tap-v3.bin", only=["tc-redirect-tap"]),
    ]
    predicted = place.ensure(check_mode=True, **place.reference, sets=sets).ok()
    done = place.ensure(**place.reference, sets=sets).ok()
    assert outcome(predicted) == outcome(done)
    names = {"consul-cni": "consul-cni", "tap": "tc-redirect-tap"}
    expected = {names.get(item["name"], item["name"]): (item["name"], "installed") for item in sets}
    assert actions(done) == {"bridge": ("reference", "installed"), "ptp": ("reference", "installed"), **expected}
    assert place.installed_plugins() == sorted(actions(done))
    assert done["msg"].startswith("plugins reference 1, consul-cni 1, flannel 1, multus 1, whereabouts 1, tap 1: 7 ins")
    assert done["sets"][0] == {"name": "reference", "version": "1", "previous": None, "kept": [], "earlier": None}
    assert (done["version"], done["previous"], done["kept"]) == ("1", None, [])
    assert done["diff"]["before"]["tap"] == {"version": None, "plugins": {"tc-redirect-tap": "absent"}}
    again = place.ensure(**place.reference, sets=sets).ok()
    assert (again["changed"], again["diff"]) == (False, {"before": {}, "after": {}})
    (listed,) = [facts for facts in inventory.list_releases(str(place.cache_dir)) if facts["set"] == "multus"]
    assert (listed["plugins"], listed["current"], listed["missing"]) == (["multus"], True, [])


def test_one_set_is_upgraded_rolled_back_and_removed_without_the_others(place: PluginSets) -> None:
    place.ensure(**place.reference, sets=[place.zip("tap", "tap", "tap-ctl")]).ok()
    upgraded = place.ensure(sets=[place.zip("tap", "tap", revision="2")]).ok()
    assert actions(upgraded) == {"tap": ("tap", "updated"), "tap-ctl": ("tap", "removed")}
    assert (upgraded["sets"], "version" in upgraded) == (
        [{"name": "tap", "version": "2", "previous": "1", "kept": ["1"], "earlier": "1"}],
        False,
    )
    assert upgraded["msg"] == "plugins tap 2: 1 removed, 1 updated"
    for check_mode in (True, False):
        back = place.ensure(check_mode=check_mode, state="rolled_back", sets=[{"name": "tap"}]).ok()
        assert actions(back) == {"tap": ("tap", "updated"), "tap-ctl": ("tap", "installed")}
    assert "no version before 1 is kept" in place.ensure(state="rolled_back").require_refusal(), "of the set reference"
    gone = place.ensure(**place.reference, sets=[{"name": "tap", "state": "absent"}]).ok()
    assert set(actions(gone).values()) == {("reference", "unchanged"), ("tap", "removed")}
    assert place.installed_plugins() == ["bridge", "ptp"]


def test_converged_runs_for_different_sets_write_no_file(place: PluginSets) -> None:
    put(place.directory / "mine", "tap", "vlan")
    mine = {"name": "mine", "source": str(place.directory / "mine"), "remote_src": True}
    runs: list[JsonObject] = [place.reference, {"sets": [mine]}]
    for options in runs:
        place.ensure(**options).ok()
    (manifest,) = place.cache_dir.rglob("manifest.json")
    inode = manifest.stat().st_ino
    for options in runs * 2:
        assert not place.ensure(**options).ok()["changed"]
        assert manifest.stat().st_ino == inode


def test_absent_removes_all_sets_unless_the_task_names_some(place: PluginSets) -> None:
    sets = [place.zip("tap", "tap"), place.zip("other", "other")]
    place.ensure(**place.reference, sets=sets).ok()
    assert actions(place.ensure(state="absent", sets=[{"name": "other"}]).ok()) == {"other": ("other", "removed")}
    gone = place.ensure(state="absent").ok()
    assert actions(gone) == {
        "bridge": ("reference", "removed"),
        "ptp": ("reference", "removed"),
        "tap": ("tap", "removed"),
    }
    assert not place.bin_dir.exists()
    assert not place.cache_dir.exists()
    assert place.ensure(state="absent").ok()["changed"] is False


def test_sets_with_a_plugin_of_one_name_are_refused_before_anything_changes(place: PluginSets) -> None:
    sets = [place.zip("one", "tap"), place.executable("two", "tap-amd64")]
    for check_mode in (True, False):
        refusal = place.ensure(check_mode=check_mode, **place.reference, sets=sets).require_refusal()
        assert "cannot have the same plugin of two sets: tap of one and two; exclude the plugin" in refusal
    assert (place.installed_plugins(), place.cache_dir.exists()) == ([], False)


def test_a_needed_plugin_of_a_set_is_not_removed(place: PluginSets) -> None:
    place.ensure(**place.reference, sets=[place.zip("mine", "host-local", "tuning")]).ok()
    options: JsonObject = {"sets": [{"name": "mine", "state": "absent"}], "conflists": [{"config": NETWORK}]}
    assert "2 needed plugins would be removed: host-local" in place.ensure(**options).require_refusal()
    place.ensure(**options, remove_needed=True).ok()
    assert place.installed_plugins() == ["bridge", "ptp"]


def test_a_version_of_another_set_does_not_count_as_a_version_of_the_reference_plugins(place: PluginSets) -> None:
    for version in ("1.0.0", "1.4.1", "0.9.0"):
        done = place.ensure(sets=[{**place.zip("tap", "tap", revision=version)}])
        assert (done.ok()["sets"][0]["version"], done.warnings) == (version, [])


def test_check_mode_predicts_other_sets_where_one_source_is_missing(place: PluginSets) -> None:
    later: JsonObject = {"name": "tap", "source": "/nowhere/tap.zip", "remote_src": True, "version": "7"}
    predicted = place.ensure(check_mode=True, **place.reference, sets=[later])
    assert predicted.ok()["sets"][1] == {"name": "tap", "version": "7", "previous": None, "kept": [], "earlier": None}
    assert [plugin["name"] for plugin in predicted.ok()["plugins"]] == ["bridge", "ptp"]
    assert predicted.warnings == ["/nowhere/tap.zip is not on the node yet, so its plugins cannot be listed"]


def test_credentials_of_a_set_are_not_shown(place: PluginSets) -> None:
    source = "http://me:geheim@127.0.0.1:9/tap.zip"
    item = {"name": "tap", "source": source, "version": "1", "checksum": "sha256:" + "0" * 64}
    failed = place.ensure(sets=[item])
    assert "set tap: cannot download http://127.0.0.1:9/tap.zip" in failed.require_refusal()
    assert "geheim" not in str(failed.result)


NAMED: JsonObject = {"name": "tap", "source": "/nowhere/tap.zip", "remote_src": True}
REFUSED: dict[str, tuple[JsonObject, str]] = {
    "no set": ({"sets": []}, "state is present, but version and source are missing"),
    "no source": ({"sets": [{"name": "tap"}]}, "set tap: state is present, but version and source are missing"),
    "a name": ({"sets": [{**NAMED, "name": "../tap"}]}, "sets: '../tap' is not the name of a set"),
    "builtin": ({"sets": [{**NAMED, "name": "builtin"}]}, "not the name of a set; expected: lower-case letters"),
    "a source": ({"sets": [{"name": "tap", "source": "builtin"}]}, "set tap: source builtin has the reference plugins"),
    "twice": ({"sets": [NAMED, NAMED]}, "sets: tap is described twice; expected: each set once"),
    "reference": ({"version": "1.9.1", "sets": [{**NAMED, "name": "reference"}]}, "reference is described twice"),
    "a way back": ({"sets": [{**NAMED, "state": "rolled_back"}]}, "set tap: state: rolled_back takes neither version"),
    "nothing": ({"sets": [NAMED]}, "set tap: source on the node: cannot read /nowhere/tap.zip"),
    "many names": (
        {"sets": [{"name": "tap", "source": "/bin/sh", "remote_src": True, "only": ["a", "b"]}]},
        "set tap: /bin/sh is a single executable, but 'only' has more than one plugin",
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_set_is_named_and_changes_nothing(place: PluginSets, options: JsonObject, message: str) -> None:
    assert message in place.ensure(**options).require_refusal()
    assert (place.installed_plugins(), place.cache_dir.exists()) == ([], False)
