# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records of attachments: the reference runtime's own files, in its own format."""

from __future__ import annotations

import base64
import json
import pathlib
import subprocess
import sys

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of

CONFIG: JsonObject = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "a", "capabilities": {"mac": True}}]}
# Byte for byte what the reference runtime 1.3 leaves, but for the names.
FOREIGN = (
    '{"kind":"cniCacheV1","containerId":"blue","config":"'
    + base64.b64encode(json.dumps(CONFIG).encode()).decode()
    + '","ifName":"eth0","networkName":"net","netns":"%s","cniArgs":[["K","V"]],"capabilityArgs":{"mac":"x"},'
    '"result":{"cniVersion":"1.0.0","dns":{},"interfaces":[{"name":"eth0","sandbox":"/run/netns/blue"}]}}'
)
BROKEN = (b"", b"\0" * 4096, FOREIGN.encode()[:150], FOREIGN.encode()[:-1], b"[]", b"null")


def put(node: ConformanceNode, content: bytes, name: str = "net-blue-eth0") -> pathlib.Path:
    path = node.cache / "results" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def foreign(node: ConformanceNode) -> bytes:
    return (FOREIGN % node.netns()).encode()


def test_a_record_has_the_reference_runtimes_place_name_and_keys(node: ConformanceNode) -> None:
    node.runtime.add(node.network("a"), node.attachment(args={"K": "V"}, capability_args={"mac": "x"}))
    path = node.cache / "results" / "net-blue-eth0"
    kept = json.loads(path.read_bytes())
    config = json.loads(base64.b64decode(kept.pop("config")))
    assert (config["name"], config["plugins"]) == ("net", [{"type": "a"}])
    assert {key: value for key, value in kept.items() if key != "cni.node"} == {
        "kind": "cniCacheV1",
        "containerId": "blue",
        "ifName": "eth0",
        "networkName": "net",
        "netns": str(node.netns()),
        "cniArgs": [["K", "V"]],
        "capabilityArgs": {"mac": "x"},
        "result": {"cniVersion": "1.1.0"},
    }
    assert [entry.stat().st_mode & 0o777 for entry in (path.parent, path)] == [0o700, 0o600]


def test_empty_arguments_are_not_recorded(node: ConformanceNode) -> None:
    node.runtime.add(node.network("a"), node.attachment())
    assert (
        not {"cniArgs", "capabilityArgs"} & json.loads((node.cache / "results" / "net-blue-eth0").read_bytes()).keys()
    )


def test_an_attachment_of_the_reference_runtime_is_checked_and_deleted_as_its_record_says(
    node: ConformanceNode,
) -> None:
    node.write("a")
    put(node, foreign(node))
    node.runtime.check(node.record())
    node.runtime.delete(node.record())
    assert node.ran() == [("CHECK", "a"), ("DEL", "a")]
    for call in node.calls():
        assert (call.env["CNI_ARGS"], call.env["CNI_NETNS"]) == ("K=V", str(node.netns()))
        assert (call.request["cniVersion"], call.request["runtimeConfig"]) == ("1.0.0", {"mac": "x"})
        assert call.request["prevResult"]["interfaces"] == [{"name": "eth0", "sandbox": "/run/netns/blue"}]
    assert node.records_and_intents() == ([], [])


def test_an_attachment_of_the_reference_runtime_is_not_added_again(node: ConformanceNode) -> None:
    put(node, foreign(node))
    assert "exists already" in error_of(node.runtime.add, node.network("a"), node.attachment()).msg


def test_a_record_with_invalid_arguments_still_identifies_its_attachment(node: ConformanceNode) -> None:
    document = {**json.loads(foreign(node)), "containerId": "red", "cniArgs": [["TOKEN", "YWJj=="]]}
    put(node, json.dumps(document).encode(), "net-red-eth0")
    records, broken = node.runtime.records.read_all()
    assert ([record.attachment.container_id for record in records], broken) == (["red"], {})
    assert "the value of 'TOKEN' is not valid" in error_of(node.runtime.delete, records[0]).msg
    assert node.ran() == []


def test_operations_use_the_version_of_an_older_runtimes_record(node: ConformanceNode) -> None:
    several = {**CONFIG, "cniVersions": ["0.4.0", "1.0.0", "1.1.0"]}
    config = base64.b64encode(json.dumps(several).encode()).decode()
    document = {**json.loads(foreign(node)), "config": config}
    node.plugins.write("a", versions=["0.4.0", "1.0.0"])
    put(node, json.dumps(document).encode())
    node.runtime.check(node.record())
    node.runtime.delete(node.record())
    assert [call.request["cniVersion"] for call in node.calls()] == ["1.0.0", "1.0.0"]


def test_unknown_keys_of_a_record_are_ignored(node: ConformanceNode) -> None:
    put(node, json.dumps({**json.loads(foreign(node)), "future": [1]}).encode())
    assert node.record().attachment.args == {"K": "V"}


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_record_is_found_and_reported_differs_from_libcni(node: ConformanceNode, content: bytes) -> None:
    path = put(node, content)
    error = error_of(node.runtime.records.read, ("net", "blue", "eth0"))
    assert (error.code, str(path) in error.msg) == (Code.DECODE_FAILURE, True)
    assert list(node.runtime.records.read_all()[1]) == [str(path)]


@pytest.mark.parametrize("content", BROKEN)
def test_add_refuses_to_replace_a_broken_record_differs_from_libcni(node: ConformanceNode, content: bytes) -> None:
    path = put(node, content)
    assert error_of(node.runtime.add, node.network("a"), node.attachment()).code == Code.DECODE_FAILURE
    assert (node.ran(), path.read_bytes()) == ([], content)


def test_a_broken_record_does_not_hide_the_others(node: ConformanceNode) -> None:
    put(node, b"", "net-red-eth0")
    record = node.add(node.network("a"))
    node.runtime.check(record)
    node.runtime.delete(record)
    assert node.ran() == [("CHECK", "a"), ("DEL", "a")]


def test_a_file_of_another_kind_is_not_a_record_differs_from_libcni(node: ConformanceNode) -> None:
    put(node, b'{"cniVersion": "0.4.0", "ips": []}')
    assert "the key 'kind' is missing" in error_of(node.runtime.records.read, ("net", "blue", "eth0")).msg


def test_attachments_whose_names_join_to_one_file_name_are_kept_apart_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    first, second = node.attachment("c", network="a-b"), node.attachment("b-c", network="a")
    for attachment in (first, second):
        node.runtime.add(node.network("a", name=attachment.network), attachment)
    assert [node.record(attachment).attachment for attachment in (first, second)] == [first, second]
    node.runtime.delete(node.record(first))
    assert node.record(second).attachment == second
    node.runtime.delete(node.record(second))
    assert node.records_and_intents() == ([], [])


def test_a_record_of_another_attachment_is_not_confused_with_the_requested_one_differs_from_libcni(
    node: ConformanceNode,
) -> None:
    record = node.add(node.network("a", name="a-b"), node.attachment("c", network="a-b"))
    assert node.runtime.records.read(("a", "b-c", "eth0")) is None
    assert node.records_and_intents() == ([record], [])


def test_another_process_reads_the_record(node: ConformanceNode) -> None:
    node.runtime.add(node.network("a"), node.attachment())
    script = "import json, sys; print(json.load(open(sys.argv[1]))['containerId'])"
    path = str(node.cache / "results" / "net-blue-eth0")
    assert (
        subprocess.run([sys.executable, "-c", script, path], check=True, capture_output=True, text=True).stdout
        == "blue\n"
    )


def test_records_can_be_kept_in_any_directory(tmp_path: pathlib.Path) -> None:
    assert RecordStore.of_records(str(tmp_path / "far" / "away")).directory == str(
        tmp_path / "far" / "away" / "results"
    )


@pytest.mark.parametrize("version", ["9.9.9", "0.4567.0"])
def test_a_record_with_a_result_in_an_unknown_version_is_reported(node: ConformanceNode, version: str) -> None:
    put(node, json.dumps({**json.loads(foreign(node)), "result": {"cniVersion": version}}).encode())
    error = error_of(node.runtime.records.read, ("net", "blue", "eth0"))
    assert (error.code, version in error.msg) == (Code.DECODE_FAILURE, True)
