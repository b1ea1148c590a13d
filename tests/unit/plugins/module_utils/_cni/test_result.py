# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from hypothesis import given

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import result, version
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import (
    RESULT_0_2_0,
    RESULT_0_4_0,
    RESULT_1_1_0,
    RESULTS,
    encode,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import results, spoiled_texts


@pytest.mark.parametrize("document", RESULTS)
def test_a_result_is_read_unchanged(document: JsonObject) -> None:
    read = result.decode(encode(document), "0.3.1", "the result of plugin x")
    assert (read.version, read.keys) == (document["cniVersion"], document)


@pytest.mark.parametrize("named", [{}, {"cniVersion": ""}, {"cniVersion": None}])
def test_a_result_without_a_version_has_the_version_of_the_request(named: JsonObject) -> None:
    assert result.decode(encode(named), "0.4.0", "x").keys == {"cniVersion": "0.4.0"}


def test_a_result_without_any_version_is_one_of_the_first() -> None:
    assert result.from_keys({}, "", "x").version == "0.1.0"


@pytest.mark.parametrize("own", version.KNOWN)
def test_a_result_may_be_in_another_known_version_than_the_request(own: str) -> None:
    assert result.decode(encode({"cniVersion": own}), "0.3.1", "x").version == own


@pytest.mark.parametrize("own", ["9.9.9", "1.2.0", "0.4567.0"])
def test_a_result_in_an_unknown_version_is_refused(own: str) -> None:
    error = error_of(result.decode, encode({"cniVersion": own}), "1.0.0", "the result of plugin x")
    assert error.code == Code.INCOMPATIBLE_VERSION
    assert error.msg.startswith("the result of plugin x: /cniVersion: ")


WRONG: tuple[tuple[str, str, object], ...] = (
    ("1.0.0", "", []),
    ("1.0.0", "/cniVersion", {"cniVersion": 1}),
    ("1.0.0", "/cniVersion", {"cniVersion": 0}),
    ("1.0.0", "/interfaces", {"interfaces": {}}),
    ("1.0.0", "/interfaces/0", {"interfaces": ["eth0"]}),
    ("1.0.0", "/interfaces/1/name", {"interfaces": [{}, {"name": 1}]}),
    ("1.0.0", "/interfaces/0/mac", {"interfaces": [{"mac": 1}]}),
    ("1.0.0", "/interfaces/0/sandbox", {"interfaces": [{"sandbox": []}]}),
    ("1.0.0", "/interfaces/0/mtu", {"interfaces": [{"mtu": "1500"}]}),
    ("1.1.0", "/interfaces/0/mtu", {"interfaces": [{"mtu": 1500.0}]}),
    ("1.1.0", "/interfaces/0/socketPath", {"interfaces": [{"socketPath": 1}]}),
    ("1.1.0", "/interfaces/0/pciID", {"interfaces": [{"pciID": []}]}),
    ("1.0.0", "/ips", {"ips": "10.1.0.5/16"}),
    ("1.0.0", "/ips/0", {"ips": ["10.1.0.5/16"]}),
    ("1.0.0", "/ips/0/address", {"ips": [{}]}),
    ("1.0.0", "/ips/0/address", {"ips": [{"address": "10.1.0.5"}]}),
    ("1.0.0", "/ips/0/address", {"ips": [{"address": "10.1.0.5/255.255.0.0"}]}),
    ("1.0.0", "/ips/0/address", {"ips": [{"address": "10.1.0.256/16"}]}),
    ("1.0.0", "/ips/0/address", {"ips": [{"address": "10.1.0.5/33"}]}),
    ("1.0.0", "/ips/0/address", {"ips": [{"address": "10.1.0.5/16/16"}]}),
    ("1.0.0", "/ips/0/address", {"ips": [{"address": 5}]}),
    ("1.0.0", "/ips/0/gateway", {"ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1/16"}]}),
    ("1.0.0", "/ips/0/interface", {"ips": [{"address": "10.1.0.5/16", "interface": "0"}]}),
    ("1.0.0", "/ips/0/interface", {"ips": [{"address": "10.1.0.5/16", "interface": True}]}),
    ("1.0.0", "/ips/0/interface", {"ips": [{"address": "10.1.0.5/16", "interface": 1 << 63}]}),
    ("1.0.0", "/ips/0/gateway", {"ips": [{"address": "fe80::5/64", "gateway": "fe80::1%eth0"}]}),
    ("1.0.0", "/routes", {"routes": {}}),
    ("1.1.0", "/routes/0/mtu", {"routes": [{"dst": "0.0.0.0/0", "mtu": "1400"}]}),
    ("1.1.0", "/routes/0/table", {"routes": [{"dst": "0.0.0.0/0", "table": "main"}]}),
    ("1.0.0", "/routes/0/dst", {"routes": [{"gw": "10.1.0.1"}]}),
    ("1.0.0", "/routes/0/gw", {"routes": [{"dst": "0.0.0.0/0", "gw": "x"}]}),
    ("1.0.0", "/dns", {"dns": []}),
    ("1.0.0", "/dns/domain", {"dns": {"domain": 5}}),
    ("1.0.0", "/dns/nameservers", {"dns": {"nameservers": "10.1.0.1"}}),
    ("0.2.0", "/dns/search/0", {"dns": {"search": [5]}}),
    ("0.4.0", "/ips/0/address", {"ips": [{"version": "4"}]}),
    ("0.2.0", "/ip4", {"ip4": "10.1.0.5/16"}),
    ("0.2.0", "/ip4/ip", {"ip4": {}}),
    ("0.1.0", "/ip6/gateway", {"ip6": {"ip": "2001:db8::5/64", "gateway": 1}}),
    ("0.1.0", "/ip6/routes/0/dst", {"ip6": {"ip": "2001:db8::5/64", "routes": [{}]}}),
)


@pytest.mark.parametrize(("own", "pointer", "document"), WRONG)
def test_the_error_names_the_plugin_and_the_place(own: str, pointer: str, document: object) -> None:
    error = error_of(result.decode, encode(document), own, "the result of plugin x")
    assert error.code == Code.DECODE_FAILURE
    assert error.msg.startswith(f"the result of plugin x: {pointer}")


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_gateway_is_a_missing_gateway(empty: object) -> None:
    document = {"ips": [{"address": "10.1.0.5/16", "gateway": empty}], "routes": [{"dst": "0.0.0.0/0", "gw": empty}]}
    assert result.from_keys(document, "1.0.0", "x").keys["ips"] == document["ips"]


@pytest.mark.parametrize("key", ["interfaces", "ips", "routes", "dns"])
def test_empty_keys_of_a_result_are_accepted(key: str) -> None:
    assert result.from_keys({key: None}, "1.0.0", "x").to("0.4.0").version == "0.4.0"


@pytest.mark.parametrize("key", ["mtu", "socketPath", "pciID"])
def test_keys_unknown_to_a_version_may_have_any_value(key: str) -> None:
    document = {"interfaces": [{"name": "eth0", key: [key]}]}
    assert result.from_keys(document, "0.4.0", "x").keys["interfaces"] == document["interfaces"]


@pytest.mark.parametrize(
    ("own", "key"),
    [
        *((own, key) for own in ("0.1.0", "0.2.0") for key in ("interfaces", "ips", "routes")),
        *((own, key) for own in ("0.3.0", "1.1.0") for key in ("ip4", "ip6")),
    ],
)
def test_keys_of_another_versions_form_are_left_out(own: str, key: str) -> None:
    """libcni takes such a result as well."""
    read = result.from_keys({"cniVersion": own, key: 5, "other": 5}, "", "x")
    assert read.keys == {"cniVersion": own, "other": 5}
    assert read.addresses == ()


@pytest.mark.parametrize("key", ["mtu", "socketPath", "pciID"])
def test_keys_unknown_to_a_version_are_dropped_in_versions_that_know_them(key: str) -> None:
    document = {"interfaces": [{"name": "eth0", key: [key]}]}
    assert result.from_keys(document, "0.4.0", "x").to("1.1.0").keys["interfaces"] == [{"name": "eth0"}]


@given(results())
def test_every_result_of_the_specification_is_read(original: result.Result) -> None:
    assert result.decode(encode(original.keys), "1.0.0", "x") == original


@given(spoiled_texts(*RESULTS))
def test_no_bytes_raise_anything_but_cni_error(content: bytes) -> None:
    for implied in version.KNOWN:
        try:
            read = result.decode(content, implied, "x")
        except CniError:
            continue
        for target in version.KNOWN:
            assert convert(read, target) in (target, Code.INCOMPATIBLE_VERSION)


def convert(read: result.Result, target: str) -> str | int:
    try:
        return read.to(target).version
    except CniError as error:
        return error.code


@pytest.mark.parametrize(
    ("document", "target"), [(RESULT_1_1_0, "0.2.0"), (RESULT_0_4_0, "1.0.0"), (RESULT_0_2_0, "1.1.0")]
)
def test_a_conversion_does_not_change_the_original(document: JsonObject, target: str) -> None:
    original = result.from_keys(document, "", "x")
    original.to(target)
    assert original.keys == document
