# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import form, results, versions

newest = st.sampled_from(["1.0.0", "1.1.0"])


def outcome(convert: t.Callable[[], Result]) -> Result | int:
    """Return the result or the code of the error."""
    try:
        return convert()
    except CniError as error:
        return error.code


@given(results(), versions, versions)
def test_a_conversion_through_a_version_of_equal_expressiveness_loses_nothing(
    original: Result, between: str, target: str
) -> None:
    """Require r.to(u).to(w) == r.to(w) if u's form can express everything that r's or w's form can.

    If w is the version of r, this is the round trip. If r cannot be converted to w, neither can r.to(u).
    """
    assume(form(between) >= min(form(original.version), form(target)))
    assert outcome(lambda: original.to(between).to(target)) == outcome(lambda: original.to(target))


@given(results(), versions, versions)
def test_conversion_to_an_older_form_loses_data_once(original: Result, older: str, newer: str) -> None:
    assume(form(newer) >= form(older) and not isinstance(outcome(lambda: original.to(older)), int))
    once = original.to(older)
    assert once.to(newer).to(older) == once


@given(results(), newest, newest)
def test_between_1_0_and_1_1_only_the_version_changes(original: Result, first: str, second: str) -> None:
    there = original.to(first)
    assert there.to(second).keys == {**there.keys, "cniVersion": second}


@given(results(), versions)
def test_the_result_names_the_version_it_is_in(original: Result, target: str) -> None:
    converted = outcome(lambda: original.to(target))
    assert converted == Code.INCOMPATIBLE_VERSION or (
        isinstance(converted, Result) and converted.keys["cniVersion"] == target == converted.version
    )


@given(results(), st.sampled_from(["0.1.0", "0.2.0"]))
def test_only_a_result_without_an_address_has_no_form_in_the_first_versions(original: Result, old: str) -> None:
    has_address = any(original.keys.get(key) for key in ("ips", "ip4", "ip6"))
    assert isinstance(outcome(lambda: original.to(old)), Result) == has_address


@given(results(), st.sampled_from(["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]))
def test_conversion_between_list_forms_keeps_addresses_interfaces_and_dns(original: Result, target: str) -> None:
    assume(form(original.version) > 0)
    converted = original.to(target).keys
    assert [ip["address"] for ip in converted.get("ips", [])] == [ip["address"] for ip in original.keys.get("ips", [])]
    assert [interface["name"] for interface in converted.get("interfaces", [])] == [
        interface["name"] for interface in original.keys.get("interfaces", [])
    ]
    assert (converted.get("dns"), converted.get("routes")) == (original.keys.get("dns"), original.keys.get("routes"))


@given(results(), st.sampled_from(["0.3.0", "0.3.1", "0.4.0"]))
def test_addresses_name_their_family_from_0_3_0_to_0_4_0_only(original: Result, target: str) -> None:
    numbered = original.to(target)
    assert all(ip["version"] == ("6" if ":" in ip["address"] else "4") for ip in numbered.keys.get("ips", []))
    assert all("version" not in ip for ip in numbered.to("1.0.0").keys.get("ips", []))


@pytest.mark.parametrize("path", [("0.4.0", "1.1.0"), ("0.3.0", "0.3.1"), ("1.1.0", "1.0.0"), ("1.0.0", "0.3.1")])
def test_conversion_keeps_interface_0_and_a_missing_interface(path: tuple[str, str]) -> None:
    keys = {"ips": [{"address": "10.1.0.5/16", "interface": 0}, {"address": "10.1.0.6/16"}], "cniVersion": path[0]}
    assert [ip.get("interface") for ip in Result(path[0], keys).to(path[1]).keys["ips"]] == [0, None]


def to_0_2_0(**keys: object) -> JsonObject:
    return {**Result("1.0.0", {"cniVersion": "1.0.0", **keys}).to("0.2.0").keys}


def test_the_first_versions_have_the_first_address_of_each_family() -> None:
    ips = [{"address": address} for address in ("2001:db8::5/64", "10.1.0.5/16", "10.2.0.5/16", "2001:db8::6/64")]
    assert to_0_2_0(ips=ips) == {"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.5/16"}, "ip6": {"ip": "2001:db8::5/64"}}


def test_the_first_versions_have_neither_interfaces_nor_routes_without_an_address() -> None:
    keys = to_0_2_0(
        interfaces=[{"name": "eth0"}],
        ips=[{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0}],
        routes=[{"dst": "::/0", "gw": "2001:db8::1"}, {"dst": "0.0.0.0/0", "gw": "10.1.0.1", "mtu": 1400}],
        dns={"domain": "example.org"},
    )
    assert keys == {
        "cniVersion": "0.2.0",
        "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]},
        "dns": {"domain": "example.org"},
    }


def test_the_first_versions_need_an_address() -> None:
    assert error_of(to_0_2_0, interfaces=[{"name": "eth0"}]).code == Code.INCOMPATIBLE_VERSION


def test_conversion_keeps_the_gateways_of_addresses_and_of_routes() -> None:
    ip4 = {
        "ip": "10.1.0.5/16",
        "gateway": "10.1.0.1",
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.9.0.0/16", "gw": "10.1.0.9"}],
    }
    assert Result("0.1.0", {"cniVersion": "0.1.0", "ip4": ip4}).to("1.0.0").keys == {
        "cniVersion": "1.0.0",
        "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1"}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.9.0.0/16", "gw": "10.1.0.9"}],
    }


def test_before_1_0_0_an_interface_has_no_mtu_socket_or_pci_device() -> None:
    interface = {
        "name": "eth0",
        "mac": "00:11:22:33:44:55",
        "sandbox": "/x",
        "mtu": 1500,
        "socketPath": "/s",
        "pciID": "0",
    }
    interfaces = Result("1.1.0", {"interfaces": [interface]}).to("0.4.0").keys["interfaces"]
    assert interfaces == [{"name": "eth0", "mac": "00:11:22:33:44:55", "sandbox": "/x"}]


@pytest.mark.parametrize("version", ["0.2.0", "0.4.0", "1.0.0"])
def test_a_result_in_any_version_has_its_addresses(version: str) -> None:
    result = Result("1.0.0", {"ips": [{"address": "10.1.0.2/16"}, {"address": "fd00:0::2/64"}]}).to(version)
    assert result.addresses == ("10.1.0.2", "fd00::2")
