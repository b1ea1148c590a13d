# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Identifiers are validated on every operation; the reference runtime does so at ADD only."""

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config, network_operations
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters, ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of

CONTAINER_IDS = ("", "../x", "a/b", ".a", "-a", "_a", "a b", "a\n", "ä", "a\0")
IFNAMES = ("", ".", "..", "a/b", "a:b", "a b", "a\t", "\u00a0", "a" * 16, "é" * 8, "a\0")
NAMES = ("", "../x", "a/b", ".a", "a b", "n\n")


def files(directory: pathlib.Path) -> set[pathlib.Path]:
    return {path for path in directory.rglob("*") if path.is_file() and "locks" not in path.parts}


def run_refused(
    node: ConformanceNode, operation: str, attachment: Attachment
) -> tuple[int, list[tuple[str, str]], bool]:
    """Return the error's code, the plugins that ran, and whether no file was added or removed."""
    network = node.network("a")
    record = Record(attachment, network.content, version="1.1.0")
    before = files(node.directory)
    arguments = (network, attachment) if operation == "add" else (record,)
    error = error_of(getattr(node.runtime, operation), *arguments)
    return error.code, node.ran(), files(node.directory) == before


@pytest.mark.parametrize("container_id", CONTAINER_IDS)
def test_an_invalid_container_id_is_refused_at_add(node: ConformanceNode, container_id: str) -> None:
    assert run_refused(node, "add", Attachment("net", container_id, "eth0")) == (Code.INVALID_ENVIRONMENT, [], True)


@pytest.mark.parametrize("ifname", IFNAMES)
def test_an_invalid_interface_name_is_refused_at_add(node: ConformanceNode, ifname: str) -> None:
    assert run_refused(node, "add", Attachment("net", "blue", ifname)) == (Code.INVALID_ENVIRONMENT, [], True)


@pytest.mark.parametrize("name", NAMES)
def test_an_invalid_network_name_is_refused_at_add(node: ConformanceNode, name: str) -> None:
    assert run_refused(node, "add", Attachment(name, "blue", "eth0")) == (Code.INVALID_CONFIG, [], True)


@pytest.mark.parametrize("operation", ["check", "delete"])
@pytest.mark.parametrize("container_id", CONTAINER_IDS)
def test_an_invalid_container_id_is_refused_differs_from_libcni(
    node: ConformanceNode, operation: str, container_id: str
) -> None:
    assert run_refused(node, operation, Attachment("net", container_id, "eth0")) == (Code.INVALID_ENVIRONMENT, [], True)


@pytest.mark.parametrize("operation", ["check", "delete"])
@pytest.mark.parametrize("ifname", IFNAMES)
def test_an_invalid_interface_name_is_refused_differs_from_libcni(
    node: ConformanceNode, operation: str, ifname: str
) -> None:
    assert run_refused(node, operation, Attachment("net", "blue", ifname)) == (Code.INVALID_ENVIRONMENT, [], True)


@pytest.mark.parametrize("operation", ["check", "delete"])
@pytest.mark.parametrize("name", NAMES)
def test_an_invalid_network_name_is_refused_differs_from_libcni(
    node: ConformanceNode, operation: str, name: str
) -> None:
    assert run_refused(node, operation, Attachment(name, "blue", "eth0")) == (Code.INVALID_CONFIG, [], True)


@pytest.mark.parametrize("names", [("../x", "eth0"), ("", "eth0"), ("blue", "a/b"), ("blue", "")])
def test_an_impossible_valid_attachment_is_refused_at_gc_differs_from_libcni(
    node: ConformanceNode, names: tuple[str, str]
) -> None:
    network = node.network("a")
    assert error_of(network_operations.gc, node.runtime, network, [names]).code == Code.INVALID_ENVIRONMENT
    assert node.ran() == []


@pytest.mark.parametrize("container_id", ["a", "0", "A_b.c-d", "a" * 64])
@pytest.mark.parametrize("ifname", ["eth0", "...", "a" * 15, "é" * 7, "wlan0.1@x"])
def test_identifiers_that_the_grammar_allows_are_unchanged(
    node: ConformanceNode, container_id: str, ifname: str
) -> None:
    attachment = node.attachment(container_id, ifname=ifname)
    node.add(node.network("a"), attachment)
    node.runtime.check(node.record(attachment))
    node.runtime.delete(node.record(attachment))
    assert [(call.env["CNI_CONTAINERID"], call.env["CNI_IFNAME"]) for call in node.calls()] == [
        (container_id, ifname)
    ] * 2


def test_names_too_long_for_a_record_are_refused_before_anything_runs_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    attachment = Attachment("net", "c" * 250, "eth0", str(node.netns()))
    assert error_of(node.runtime.add, node.network("a"), attachment).code == Code.INVALID_ENVIRONMENT
    assert node.ran() == []


TYPES = ("../bin/a", "/bin/sh", "below/a", "..", "a\n")


@pytest.mark.parametrize(
    "plugin",
    [
        {"type": ""},
        *({"type": plugin_type} for plugin_type in TYPES),
        *({"type": "a", "ipam": {"type": plugin_type}} for plugin_type in TYPES),
    ],
)
def test_a_plugin_type_never_leaves_the_plugin_directories(plugin: JsonObject) -> None:
    content = json.dumps({"name": "net", "plugins": [plugin]}).encode()
    assert error_of(config.parse, content, "10-net.conflist").code == Code.INVALID_CONFIG


@pytest.mark.parametrize("plugin_type", ["", *TYPES])
def test_a_plugin_type_is_validated_where_it_is_run_too(node: ConformanceNode, plugin_type: str) -> None:
    executor = ProcessExecutor([str(node.plugins.path)], 30)
    assert error_of(executor.execute, plugin_type, b"{}", Parameters("STATUS")).code == Code.INVALID_CONFIG
