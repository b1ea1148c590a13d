# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni import config, network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import encode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryAnswer,
    fails_at,
    supports,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_runtime import MemoryRuntime


def network(name: str = "net", own: str = "1.1.0", **keys: object) -> NetworkConfiguration:
    plugins = [{"type": "a"}, {"type": "b"}]
    return config.parse(encode({"name": name, "cniVersion": own, "plugins": plugins, **keys}), "10-net.conflist")


class PopulatedRuntime(MemoryRuntime):
    """A runtime with attachments of red and blue to net, and of green to another network."""

    def __init__(self, directory: pathlib.Path, own: str = "1.1.0", **plugins: MemoryAnswer) -> None:
        super().__init__(directory)
        for name, container in (("net", "blue"), ("net", "red"), ("other", "green")):
            self.runtime.add(network(name, own), Attachment(name, container, "eth0", str(directory)))
        self.executor.calls.clear()
        self.executor.plugins.update(plugins)

    def recorded_containers(self) -> list[str]:
        return sorted(record.attachment.container_id for record in self.runtime.records.read_all()[0])

    def make_foreign(self, container: str) -> None:
        """Make a record another runtime's."""
        path = self.directory / "cache" / "results" / f"net-{container}-eth0"
        document = json.loads(path.read_text(encoding="utf-8"))
        del document["cni.node"]
        path.write_text(json.dumps(document), encoding="utf-8")

    def deleted_containers(self) -> set[str]:
        return {
            call.attachment.container_id for call in self.executor.calls if call.command == "DEL" and call.attachment
        }

    def valid(self) -> list[list[str]]:
        return [
            [entry["containerID"] for entry in request["cni.dev/valid-attachments"]]
            for request in self.executor.requests("GC")
        ]


def test_without_a_list_every_recorded_attachment_of_the_network_is_valid(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path)
    assert network_operations.gc(node.runtime, network()) is True
    assert node.executor.run() == [("GC", "a"), ("GC", "b")]
    assert node.valid() == [["blue", "red"]] * 2
    assert all(call.attachment is None for call in node.executor.calls)


def test_invalid_attachments_are_deleted_before_plugins_collect(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path)
    network_operations.gc(node.runtime, network(), [("red", "eth0")])
    assert node.executor.run() == [("DEL", "b"), ("DEL", "a"), ("GC", "a"), ("GC", "b")]
    assert (node.deleted_containers(), node.valid(), node.recorded_containers()) == (
        {"blue"},
        [["red"]] * 2,
        ["green", "red"],
    )


def test_plugins_get_valid_attachments_without_a_record(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path)
    network_operations.gc(node.runtime, network(), [("foreign", "net1"), ("blue", "eth0"), ("red", "eth0")])
    assert node.valid() == [["blue", "foreign", "red"]] * 2


def test_an_empty_list_of_valid_attachments_differs_from_no_list(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path)
    network_operations.gc(node.runtime, network(), [])
    assert (node.deleted_containers(), node.valid(), node.recorded_containers()) == (
        {"blue", "red"},
        [[], []],
        ["green"],
    )


def test_another_runtimes_attachment_is_never_deleted_and_always_valid(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path)
    node.make_foreign("red")
    network_operations.gc(node.runtime, network(), [])
    assert (node.deleted_containers(), node.valid(), node.recorded_containers()) == (
        {"blue"},
        [["red"]] * 2,
        ["green", "red"],
    )


def test_collect_deletes_nothing_and_keeps_recorded_attachments(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path)
    assert network_operations.run_plugin_gc(node.runtime, network(), [("foreign", "net1"), ("red", "eth0")]) is True
    assert node.executor.run() == [("GC", "a"), ("GC", "b")]
    assert (node.valid(), node.recorded_containers()) == ([["blue", "foreign", "red"]] * 2, ["blue", "green", "red"])


def test_collect_does_nothing_in_a_network_without_gc(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path, "1.0.0")
    assert network_operations.run_plugin_gc(node.runtime, network(own="1.0.0"), []) is False
    assert network_operations.run_plugin_gc(node.runtime, network(disableGC=True), []) is False
    assert (node.executor.calls, node.recorded_containers()) == ([], ["blue", "green", "red"])


def test_every_plugin_collects_and_the_error_lists_every_failure(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path, a=fails_at("DEL", "GC"), b=fails_at("GC"))
    error = error_of(network_operations.gc, node.runtime, network(), [("red", "eth0")])
    assert node.executor.run("GC") == [("GC", "a"), ("GC", "b")]
    assert all(words in str(error) for words in ("a fails at DEL", "a fails at GC", "b fails at GC"))
    assert node.recorded_containers() == ["blue", "green", "red"]


def test_a_version_that_cannot_be_selected_does_not_hide_a_failed_del(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path, a=fails_at("DEL"), b=lambda call: "hello" if call.command == "VERSION" else None)
    error = error_of(network_operations.gc, node.runtime, network(cniVersions=["1.0.0"]), [("red", "eth0")])
    assert all(words in str(error) for words in ("a fails at DEL", "plugin b to VERSION"))


@pytest.mark.parametrize("own", ["0.1.0", "0.4.0", "1.0.0"])
def test_before_1_1_0_attachments_are_deleted_and_no_plugin_is_asked(tmp_path: pathlib.Path, own: str) -> None:
    node = PopulatedRuntime(tmp_path, own)
    assert network_operations.gc(node.runtime, network(own=own), [("red", "eth0")]) is False
    assert node.executor.run() == [("DEL", "b"), ("DEL", "a")]


def test_a_plugin_before_1_1_0_keeps_a_network_of_several_versions_from_gc(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path, b=supports("1.0.0"))
    assert network_operations.gc(node.runtime, network(cniVersions=["1.0.0", "1.1.0"])) is False
    assert node.executor.run("GC") == []


def test_gc_does_nothing_if_it_is_disabled(tmp_path: pathlib.Path) -> None:
    node = PopulatedRuntime(tmp_path)
    assert network_operations.gc(node.runtime, network(disableGC=True), []) is False
    assert (node.executor.calls, node.recorded_containers()) == ([], ["blue", "green", "red"])


@pytest.mark.parametrize("valid", [None, [], [("red", "eth0")]])
def test_gc_does_nothing_while_a_record_is_broken(tmp_path: pathlib.Path, valid: list[tuple[str, str]] | None) -> None:
    node = PopulatedRuntime(tmp_path)
    broken = tmp_path / "cache" / "results" / "net-black-eth0"
    broken.write_bytes(b"")
    error = error_of(network_operations.gc, node.runtime, network(), valid)
    assert (error.code, str(broken) in str(error)) == (Code.DECODE_FAILURE, True)
    assert (node.executor.calls, node.recorded_containers()) == ([], ["blue", "green", "red"])


@pytest.mark.parametrize("names", [("", "eth0"), ("../x", "eth0"), ("blue", "a/b"), ("blue", "")])
def test_an_impossible_valid_attachment_is_refused(tmp_path: pathlib.Path, names: tuple[str, str]) -> None:
    node = PopulatedRuntime(tmp_path)
    assert (
        error_of(network_operations.gc, node.runtime, network(), [("red", "eth0"), names]).code
        == Code.INVALID_ENVIRONMENT
    )
    assert node.executor.calls == []
