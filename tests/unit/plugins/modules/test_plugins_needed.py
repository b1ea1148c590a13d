# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module plugins removes no plugin that attachments or networks need."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner
from ansible_collections.cni.node.tests.unit.plugins.modules.plugin_directories import PluginDirectories, put

NETWORK: JsonObject = {
    "cniVersion": "1.0.0",
    "name": "pods",
    "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}}, {"type": "tuning"}],
}
BLUE = Attachment("pods", "blue", "eth0")
NAMES = ("bridge", "host-local", "ptp", "tuning")


class NeededPlugins(PluginDirectories):
    """Directories with a release that has all plugins of the network, and an older one that has one of them."""

    def __init__(self, run: ModuleRunner, directory: pathlib.Path) -> None:
        super().__init__(run, directory)
        self.elsewhere = directory / "lib"
        self._new, self._old = directory / "new", directory / "old"
        put(self._new, *NAMES)
        put(self._old, "bridge")

    def ensure(self, *, check_mode: bool = False, **options: t.Any) -> ModuleExit:
        given = {} if options.get("state") else {"source": str(self._new), "remote_src": True}
        dirs = [str(self.bin_dir), str(self.elsewhere)]
        return super().ensure(check_mode=check_mode, plugin_dirs=dirs, **{**given, **options})

    def ensure_older(self, **options: t.Any) -> ModuleExit:
        return self.ensure(source=str(self._old), **options)

    def write(self, network: JsonObject) -> None:
        self.conf_dir.mkdir()
        (self.conf_dir / "10-pods.conflist").write_text(json.dumps(network), encoding="utf-8")

    def record(self, *, intent: bool = False) -> None:
        config = json.dumps(NETWORK).encode()
        begun = Record(BLUE, config, version="1.0.0", command="ADD" if intent else "")
        kind = RecordStore.of_intents if intent else RecordStore.of_records
        kind(str(self.cache_dir)).write(begun)


@pytest.fixture
def place(run: ModuleRunner, tmp_path: pathlib.Path) -> NeededPlugins:
    place = NeededPlugins(run, tmp_path)
    place.ensure().ok()
    return place


WHO = {
    "file": "network pods (net.d/10-pods.conflist)",
    "record": "attachment of blue (eth0) to network pods",
    "intent": "attachment of blue (eth0) to network pods",
    "given": "network pods (conflists[0])",
}


def make(place: NeededPlugins, kind: str) -> JsonObject:
    """Create something that needs plugins, and return the options that refer to it."""
    if kind == "file":
        place.write(NETWORK)
    elif kind != "given":
        place.record(intent=kind == "intent")
    return {"conflists": [{"config": NETWORK}]} if kind == "given" else {}


@pytest.mark.parametrize("kind", WHO)
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_narrower_set_is_refused_where_a_plugin_is_needed(place: NeededPlugins, kind: str, check_mode: bool) -> None:
    options = make(place, kind)
    message = place.ensure(only=["bridge"], check_mode=check_mode, **options).require_refusal()
    assert message.startswith(f"{place.bin_dir}: 3 needed plugins would be removed: host-local, needed by ")
    assert message.count(WHO[kind].replace("net.d", str(place.conf_dir))) == 3
    assert "; ptp, needed by " in message
    assert "; tuning, needed by " in message
    assert "remove_needed to true" in message
    assert place.installed_plugins() == sorted(NAMES)


@pytest.mark.parametrize("kind", ["file", "record", "intent"])
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_release_is_not_removed_while_a_plugin_is_needed(place: NeededPlugins, kind: str, check_mode: bool) -> None:
    make(place, kind)
    assert (
        "would be removed: host-local, needed by "
        in place.ensure(state="absent", check_mode=check_mode).require_refusal()
    )
    assert place.installed_plugins() == sorted(NAMES)


@pytest.mark.parametrize("kind", WHO)
@pytest.mark.parametrize("check_mode", [True, False])
def test_a_rollback_to_a_release_without_a_needed_plugin_is_refused(
    place: NeededPlugins, kind: str, check_mode: bool
) -> None:
    place.ensure_older().ok()
    place.ensure().ok()
    options = make(place, kind)
    refused = place.ensure(state="rolled_back", check_mode=check_mode, **options).require_refusal()
    assert "would be removed: host-local, needed by " in refused
    assert place.installed_plugins() == sorted(NAMES)


def test_an_upgrade_to_a_release_without_a_needed_plugin_is_refused_and_not_kept(place: NeededPlugins) -> None:
    place.record()
    before = sorted(map(str, place.cache_dir.rglob("*")))
    assert "would be removed: host-local, needed by " in place.ensure_older().require_refusal()
    assert sorted(map(str, place.cache_dir.rglob("*"))) == before


@pytest.mark.parametrize("check_mode", [True, False])
def test_the_refusal_can_be_overridden_and_becomes_a_warning(place: NeededPlugins, check_mode: bool) -> None:
    place.record()
    done = place.ensure(only=["bridge"], remove_needed=True, check_mode=check_mode)
    removed = {plugin["name"] for plugin in done.ok()["plugins"] if plugin["action"] == "removed"}
    assert removed == {"host-local", "ptp", "tuning"}
    assert done.warnings == [
        f"{place.bin_dir}: 3 needed plugins are removed: "
        + "; ".join(f"{name}, needed by the {BLUE}" for name in sorted(removed))
    ]


def test_an_unneeded_plugin_is_removed(place: NeededPlugins) -> None:
    place.record()
    place.ensure(only=[name for name in NAMES if name != "bridge"]).ok()
    assert place.installed_plugins() == ["host-local", "ptp", "tuning"]


def test_a_plugin_of_another_directory_satisfies_the_need(place: NeededPlugins) -> None:
    place.record()
    put(place.elsewhere, "host-local", "ptp")
    assert "1 needed plugin would be removed: tuning, needed by " in place.ensure(only=["bridge"]).require_refusal()
    (place.elsewhere / "tuning").write_text("tuning", encoding="ascii")
    assert "tuning, needed by " in place.ensure(only=["bridge"]).require_refusal(), "a file that cannot be run"
    (place.elsewhere / "tuning").chmod(0o755)
    place.ensure(only=["bridge"]).ok()


def test_a_link_to_the_same_directory_is_not_another_directory(place: NeededPlugins) -> None:
    place.record()
    place.elsewhere.symlink_to(place.bin_dir)
    assert "3 needed plugins" in place.ensure(only=["bridge"]).require_refusal()


def test_only_some_of_many_users_of_a_plugin_are_named(place: NeededPlugins) -> None:
    store = RecordStore.of_records(str(place.cache_dir))
    for number in range(9):
        store.write(Record(Attachment("pods", f"c{number}", "eth0"), json.dumps(NETWORK).encode(), version="1.0.0"))
    message = place.ensure(only=["bridge"]).require_refusal()
    assert (
        "ptp, needed by the attachment of c0 (eth0) to network pods, the attachment of c1 (eth0) to network pods, "
        in message
    )
    assert message.count(" and 6 more") == 3


def test_items_given_as_absent_need_no_plugin(place: NeededPlugins) -> None:
    place.ensure(only=["bridge"], conflists=[{"name": "pods", "state": "absent"}]).ok()


def test_check_mode_treats_items_that_earlier_tasks_would_remove_as_removed(place: NeededPlugins) -> None:
    place.write(NETWORK)
    place.record()
    path = str(place.conf_dir / "10-pods.conflist")
    gone: JsonObject = {
        "planned_conflists": [{"network": "pods", "path": path, "action": "removed", "content": json.dumps(NETWORK)}],
        "planned_attachments": [{"network": "pods", "container_id": "blue", "ifname": "eth0", "action": "removed"}],
    }
    place.ensure(state="absent", check_mode=True, **gone).ok()
    for kept in gone:
        planned = {name: value for name, value in gone.items() if name != kept}
        assert (
            "would be removed: host-local, needed by "
            in place.ensure(state="absent", check_mode=True, **planned).require_refusal()
        )
    assert "would be removed: host-local, needed by " in place.ensure(state="absent", **gone).require_refusal()


def test_unreadable_files_do_not_block_removal(place: NeededPlugins) -> None:
    place.record()
    (path,) = (place.cache_dir / "results").iterdir()
    path.write_bytes(b"{")
    place.write({**NETWORK, "plugins": 5})
    place.ensure(only=["bridge"]).ok()
