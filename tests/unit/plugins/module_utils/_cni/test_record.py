# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import record
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import (
    LIBCNI_RECORD,
    LIST,
    OWN_RECORD,
    RESULT_1_1_0,
    encode,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import records, spoiled_texts

SOURCE = "/var/lib/cni/results/dbnet-blue-eth0"
ATTACHMENT = Attachment(
    "dbnet", "blue", "eth0", "/run/netns/blue", {"IgnoreUnknown": "1", "K": "V"}, {"mac": "00:11:22:33:44:66"}
)


def decode(document: object) -> Record:
    return record.decode(encode(document), SOURCE)


@given(records())
def test_written_values_are_read_back_unchanged(original: Record) -> None:
    again = record.decode(original.encode(), SOURCE)
    assert again == original
    assert list(again.attachment.args) == list(original.attachment.args)
    if original.restoration and again.restoration:
        assert again.restoration.addresses == original.restoration.addresses


@given(records())
def test_a_record_has_libcnis_keys_and_one_for_this_collection(original: Record) -> None:
    document = json.loads(original.encode())
    optional = {
        "cniArgs": original.attachment.args,
        "capabilityArgs": original.attachment.capability_args,
        "result": original.result,
    }
    always = {"kind", "containerId", "config", "ifName", "networkName", "netns", "cni.node"}
    assert set(document) == always | {key for key, value in optional.items() if value}


def test_a_record_is_written_as_libcni_writes_it() -> None:
    own = Record(ATTACHMENT, json.dumps(LIST).encode(), Result("1.1.0", RESULT_1_1_0), "1.1.0", "a:1:2:3")
    assert json.loads(own.encode()) == OWN_RECORD


def test_config_args_are_recorded_under_the_key_of_this_collection() -> None:
    attachment = ATTACHMENT._replace(config_args={"ips": ["10.1.0.9"], "labels": [{"key": "a", "value": "b"}]})
    content = Record(attachment, b"{}", version="1.0.0").encode()
    assert json.loads(content)["cni.node"]["configArgs"] == attachment.config_args
    assert record.decode(content, SOURCE).attachment == attachment


def test_restorations_are_the_same_whatever_the_previous_addresses_are() -> None:
    restoration = Restoration(("/opt/cni/bin",), 60.0)
    assert {restoration, restoration._replace(addresses=("10.1.0.2",))} == {restoration}
    assert len({restoration, restoration._replace(builtin="always")}) == 2
    assert restoration != restoration._replace(timeout=5.0)


@pytest.mark.parametrize("wrong", ["text", 5, [1], True])
def test_config_args_of_another_form_make_a_record_unreadable(wrong: object) -> None:
    document = {**OWN_RECORD, "cni.node": {**OWN_RECORD["cni.node"], "configArgs": wrong}}
    assert error_of(decode, document).code == Code.DECODE_FAILURE


def test_libcnis_record_is_read() -> None:
    theirs = decode(LIBCNI_RECORD)
    assert (theirs.attachment, theirs.result) == (ATTACHMENT, Result("1.1.0", RESULT_1_1_0))
    assert (theirs.is_own, theirs.version, theirs.netns_identity, theirs.command) == (False, "", "", "")
    assert theirs.network().plugin_types == ("bridge", "host-local", "tuning", "portmap")


def test_a_record_of_this_collection_is_recognized() -> None:
    assert decode(OWN_RECORD).is_own


def test_a_record_without_arguments_is_read() -> None:
    document = {
        key: value for key, value in LIBCNI_RECORD.items() if key not in ("cniArgs", "capabilityArgs", "result")
    }
    read = decode(document)
    assert (read.attachment.args, read.attachment.capability_args, read.result) == ({}, {}, None)


def test_unknown_keys_are_ignored() -> None:
    assert decode({**OWN_RECORD, "future": {"a": 1}}) == decode(OWN_RECORD)


def test_an_intent_has_the_operation_and_no_result() -> None:
    intent = Record(ATTACHMENT, b"{}", version="1.0.0", command="ADD")
    assert "result" not in json.loads(intent.encode())
    assert record.decode(intent.encode(), SOURCE).command == "ADD"


@given(spoiled_texts(LIBCNI_RECORD, OWN_RECORD))
def test_no_bytes_raise_anything_but_cni_error(content: bytes) -> None:
    try:
        read = record.decode(content, SOURCE)
        again = record.decode(read.encode(), SOURCE)
    except CniError:
        return
    assert again == read
    try:
        read.network()
    except CniError:
        return
    assert read.network().plugins


WRONG: tuple[tuple[JsonObject, str], ...] = (
    ({"kind": "cniCacheV2"}, "its kind is 'cniCacheV2'"),
    ({"networkName": "../x"}, "'../x'"),
    ({"containerId": ""}, "''"),
    ({"ifName": "a/b"}, "'a/b'"),
    ({"netns": "relative"}, "'relative'"),
    ({"config": 5}, SOURCE),
    ({"config": "%%%"}, SOURCE),
    ({"config": "ä"}, SOURCE),
    ({"cniArgs": 5}, SOURCE),
    ({"cniArgs": [["K"]]}, SOURCE),
    ({"capabilityArgs": [5]}, SOURCE),
    ({"result": []}, SOURCE),
    ({"result": {"cniVersion": "9.9.9"}}, "'9.9.9'"),
    ({"cni.node": "x"}, SOURCE),
    ({"cni.node": {"cniVersion": 5}}, SOURCE),
    ({"cni.node": {"cniVersion": "1.2.0"}}, "'1.2.0'"),
    ({"cni.node": {"restore": []}}, SOURCE),
    ({"cni.node": {"restore": {"timeout": 60.0}}}, "pluginDirs"),
    ({"cni.node": {"restore": {"pluginDirs": [5], "timeout": 60.0}}}, "restore"),
    ({"cni.node": {"restore": {"pluginDirs": ["/opt/cni/bin"], "timeout": 0}}}, "restore"),
    ({"cni.node": {"netns": 5}}, SOURCE),
    ({"cni.node": {"command": []}}, SOURCE),
)


@pytest.mark.parametrize(("changes", "named"), WRONG)
def test_a_wrong_value_is_refused_by_name(changes: JsonObject, named: str) -> None:
    assert named in str(error_of(decode, {**OWN_RECORD, **changes}))


@pytest.mark.parametrize("key", ["kind", "containerId", "config", "ifName", "networkName"])
def test_a_missing_key_is_refused_by_name(key: str) -> None:
    error = error_of(decode, {name: value for name, value in LIBCNI_RECORD.items() if name != key})
    assert error.code == Code.DECODE_FAILURE
    assert repr(key) in error.msg


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"[]", b'"x"', b"null", encode(LIBCNI_RECORD)[:200]])
def test_a_truncated_record_is_refused(content: bytes) -> None:
    error = error_of(record.decode, content, SOURCE)
    assert error.code == Code.DECODE_FAILURE
    assert SOURCE in error.msg


@pytest.mark.parametrize("config", [b"", b"{", b"[]", b'{"name": "n"}', b'{"name": "n", "plugins": []}'])
def test_a_recorded_configuration_that_cannot_be_run_is_an_error_that_names_the_attachment(config: bytes) -> None:
    read = decode({**LIBCNI_RECORD, "config": base64.b64encode(config).decode()})
    assert str(ATTACHMENT) in error_of(read.network).msg


@pytest.mark.parametrize("own", ["0.1.0", "0.4.0", "1.0.0", "1.1.0"])
def test_a_recorded_single_plugins_configuration_is_run_at_any_version(own: str) -> None:
    config = encode({"name": "dbnet", "cniVersion": own, "type": "bridge"})
    read = decode({**LIBCNI_RECORD, "config": base64.b64encode(config).decode()})
    assert (read.network().plugin_types, read.network().version) == (("bridge",), own)


@pytest.mark.parametrize(
    ("own", "result_version", "negotiated"),
    [("1.0.0", "0.4.0", "1.0.0"), ("", "0.4.0", "0.4.0"), ("", "0.2.0", "1.1.0"), ("", None, "1.1.0")],
)
def test_an_operation_on_a_record_has_the_version_of_add(own: str, result_version: str | None, negotiated: str) -> None:
    result = Result(result_version, {"cniVersion": result_version}) if result_version else None
    read = Record(ATTACHMENT, encode(LIST), result, own)
    assert read.negotiated_version(read.network()) == negotiated
