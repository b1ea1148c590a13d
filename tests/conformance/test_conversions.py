# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 5, "ADD Success", in all its versions: a plugin may answer in another version than the request has."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.conformance.conformance_node import VERSIONS, ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

DNS: JsonObject = {"nameservers": ["10.1.0.1"], "search": ["example.org"]}
ETH0: JsonObject = {"name": "eth0", "mac": "99:88:77:66:55:44", "sandbox": "/run/netns/blue"}
ROUTES: list[JsonObject] = [
    {"dst": "0.0.0.0/0", "mtu": 1400, "advmss": 1360, "priority": 5, "table": 7, "scope": 0},
    {"dst": "::/0", "gw": "2001:db8::1"},
]
ADDRESSES: list[JsonObject] = [
    {"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0},
    {"address": "10.2.0.5/16"},
    {"address": "2001:db8::5/64", "gateway": "2001:db8::1", "interface": 0},
]
FAMILIES = ("4", "4", "6")

# By families; addresses that name their family; addresses that do not.
OLD: JsonObject = {
    "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0"}]},
    "ip6": {"ip": "2001:db8::5/64", "gateway": "2001:db8::1", "routes": [{"dst": "::/0", "gw": "2001:db8::1"}]},
    "dns": DNS,
}
NUMBERED: JsonObject = {
    "interfaces": [ETH0],
    "ips": [{**address, "version": family} for address, family in zip(ADDRESSES, FAMILIES)],
    "routes": ROUTES,
    "dns": DNS,
}
PLAIN: JsonObject = {
    "interfaces": [{**ETH0, "mtu": 1500, "socketPath": "/run/s", "pciID": "0000:00:1f.6"}],
    "ips": ADDRESSES,
    "routes": ROUTES,
    "dns": DNS,
}
FORMS = dict(zip(VERSIONS, (OLD, OLD, NUMBERED, NUMBERED, NUMBERED, PLAIN, PLAIN)))

PLAIN_FROM_NUMBERED: JsonObject = {**PLAIN, "interfaces": [ETH0]}
PLAIN_FROM_OLD: JsonObject = {
    "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1"}, {"address": "2001:db8::5/64", "gateway": "2001:db8::1"}],
    "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0", "gw": "2001:db8::1"}],
    "dns": DNS,
}
NUMBERED_FROM_OLD: JsonObject = {
    **PLAIN_FROM_OLD,
    "ips": [{**address, "version": family} for address, family in zip(PLAIN_FROM_OLD["ips"], "46")],
}
UPWARDS = {
    id(OLD): {id(NUMBERED): NUMBERED_FROM_OLD, id(PLAIN): PLAIN_FROM_OLD},
    id(NUMBERED): {id(PLAIN): PLAIN_FROM_NUMBERED},
}


def convert_by_hand(own: str, version: str) -> JsonObject:
    """Return the result in another version. A conversion to a later version adds no information."""
    keys = UPWARDS.get(id(FORMS[own]), {}).get(id(FORMS[version]), FORMS[version])
    return {"cniVersion": version, **keys}


@pytest.mark.parametrize(("own", "version"), [*itertools.product(VERSIONS, repeat=2)])
def test_a_result_of_every_version_is_converted_to_every_other(node: ConformanceNode, own: str, version: str) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"cniVersion": own, **FORMS[own]}))
    record = node.add(node.network("a", version=version))
    assert record.result is not None
    assert record.result.keys == convert_by_hand(own, version)


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
@pytest.mark.parametrize("own", ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])
def test_a_result_without_an_address_has_no_form_in_the_first_versions(
    node: ConformanceNode, own: str, version: str
) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"cniVersion": own, "interfaces": [ETH0]}))
    error = error_of(node.runtime.add, node.network("a", version=version), node.attachment())
    assert error.code == Code.INCOMPATIBLE_VERSION
    assert node.ran() == [("ADD", "a"), ("DEL", "a")]


@pytest.mark.parametrize("own", ["0.1.0", "0.2.0"])
def test_an_ipam_result_of_the_first_versions_needs_an_address(node: ConformanceNode, own: str) -> None:
    node.write("a", ADD=ScriptedAnswer(result={"cniVersion": own, "dns": DNS}))
    final = node.runtime.add(node.network("a", version="1.0.0"), node.attachment())
    assert final.keys == {"cniVersion": "1.0.0", "ips": [], "dns": DNS}


@pytest.mark.parametrize(("own", "version"), [("1.0.0", "0.2.0"), ("0.4.0", "0.1.0")])
def test_routes_of_a_family_without_an_address_are_left_out(node: ConformanceNode, own: str, version: str) -> None:
    v6 = {"address": "2001:db8::5/64", **({"version": "6"} if own == "0.4.0" else {})}
    node.write(
        "a",
        ADD=ScriptedAnswer(result={"cniVersion": own, "ips": [v6], "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}),
    )
    final = node.runtime.add(node.network("a", version=version), node.attachment())
    assert final.keys == {"cniVersion": version, "ip6": {"ip": "2001:db8::5/64", "routes": [{"dst": "::/0"}]}}
