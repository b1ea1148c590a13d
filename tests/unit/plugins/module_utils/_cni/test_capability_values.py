# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node refuses exactly the values that plugins cannot decode."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import (
    check_capability_args,
    normalize_capability_args,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules.capability_args import schema_findings

KNOWN = ("portMappings", "bandwidth", "ipRanges", "ips", "mac", "dns", "deviceID", "infinibandGUID", "aliases")
PORTS = {"hostPort": 8080, "containerPort": 80}

REFUSED: dict[str, tuple[JsonObject, str, str]] = {
    "an object for a list": ({"portMappings": PORTS}, "/portMappings: found an object", "a list"),
    "a list for an object": ({"bandwidth": [1]}, "/bandwidth: found a list", "an object"),
    "text for a port": (
        {"portMappings": [PORTS, {**PORTS, "hostPort": "8080"}]},
        "/portMappings/1/hostPort: found '8080'",
        "an integer from 1 to 65535",
    ),
    "no port": (
        {"portMappings": [{"hostPort": 1}]},
        "/portMappings/0: there is no containerPort",
        "the keys hostPort and",
    ),
    "port 0": ({"portMappings": [{**PORTS, "hostPort": 0}]}, "/portMappings/0/hostPort: found 0", "from 1 to 65535"),
    "true for a number": (
        {"bandwidth": {"ingressRate": True}},
        "/bandwidth/ingressRate: found a boolean",
        "an integer",
    ),
    "a fraction": ({"bandwidth": {"ingressRate": 1.5}}, "/bandwidth/ingressRate: found 1.5", "an integer of 0 or more"),
    "text for a list": ({"ips": "10.1.0.2"}, "/ips: found '10.1.0.2'", "a list"),
    "ranges in no set": ({"ipRanges": [{"subnet": "10.1.0.0/16"}]}, "/ipRanges/0: found an object", "a list"),
    "a name by itself": ({"aliases": "web"}, "/aliases: found 'web'", "a list of names, or an object"),
    "a name of a network": ({"aliases": {"n": "web"}}, "/aliases/n: found 'web'", "a list"),
    "a number for a name": ({"aliases": {"n": [5]}}, "/aliases/n/0: found 5", "a string"),
    "a number for text": ({"mac": 20000001}, "/mac: found 20000001", "a string"),
}
TAKEN: dict[str, JsonObject] = {
    "nothing": {},
    "ports": {"portMappings": [{**PORTS, "protocol": "tcp", "hostIP": ""}]},
    "a key in another case": {"portMappings": [{"HostPort": 1, "containerport": 2}]},
    "null": {"mac": None, "portMappings": [{**PORTS, "hostIP": None}], "bandwidth": {"ingressRate": None}},
    "a key that no plugin knows": {"portMappings": [{**PORTS, "comment": 5}]},
    "what is not well known": {"vendor": 5},
    "what nobody gets": {"cgroupPath": 5},
}


def _network(*capabilities: str) -> config.NetworkConfiguration:
    declared = dict.fromkeys(capabilities, True)
    plugin = {"type": "lab", "capabilities": declared}
    return config.parse(json.dumps({"cniVersion": "1.0.0", "name": "n", "plugins": [plugin]}).encode(), "test")


NETWORK = _network(*KNOWN, "vendor")


@pytest.mark.parametrize(("values", "what", "expected"), REFUSED.values(), ids=REFUSED)
def test_values_that_no_plugin_can_decode_are_refused(values: JsonObject, what: str, expected: str) -> None:
    with pytest.raises(CniError) as caught:
        check_capability_args(NETWORK, values)
    assert caught.value.code == Code.INVALID_CONFIG
    assert caught.value.msg == f"capability_args: {what}"
    assert caught.value.details.startswith("expected: ")
    assert expected in caught.value.details
    assert caught.value.details.endswith("plugin lab gets this value")
    check_capability_args(_network(), values)


@pytest.mark.parametrize("values", TAKEN.values(), ids=TAKEN)
def test_values_that_plugins_accept_pass(values: JsonObject) -> None:
    check_capability_args(NETWORK, values)


TCP = {**PORTS, "protocol": "tcp"}
COMPLETED: dict[str, tuple[t.Any, t.Any]] = {
    "no protocol": ({"portMappings": [PORTS]}, {"portMappings": [TCP]}),
    "an empty protocol": ({"portMappings": [{**PORTS, "protocol": ""}]}, {"portMappings": [TCP]}),
    "null for a protocol": ({"portMappings": [{**PORTS, "protocol": None}]}, {"portMappings": [TCP]}),
    "a protocol in capitals": (
        {"portMappings": [{**PORTS, "Protocol": "UDP"}]},
        {"portMappings": [{**PORTS, "Protocol": "udp"}]},
    ),
    "ports as text": (
        {"portMappings": [{"hostPort": "8080", "ContainerPort": " 80 "}]},
        {"portMappings": [{"hostPort": 8080, "ContainerPort": 80, "protocol": "tcp"}]},
    ),
    "rates as text": (
        {"bandwidth": {"ingressRate": "1000000", "IngressBurst": "2000000"}},
        {"bandwidth": {"ingressRate": 1000000, "IngressBurst": 2000000}},
    ),
    "JSON as text": (
        {"portMappings": ' [{"hostPort": 8080, "containerPort": "80"}]\n', "ips": '["10.1.0.5"]'},
        {"portMappings": [TCP], "ips": ["10.1.0.5"]},
    ),
    "a survey without answers": ({"portMappings": "", "bandwidth": " ", "ips": "", "mac": ""}, {"mac": ""}),
    "what is right": ({"portMappings": [TCP], "mac": "5"}, {"portMappings": [TCP], "mac": "5"}),
    "what cannot be understood": (
        {"portMappings": ["8080:80", {"hostPort": "http"}, {"protocol": 6}], "bandwidth": "[", "ips": "10.1.0.5"},
        {
            "portMappings": ["8080:80", {"hostPort": "http", "protocol": "tcp"}, {"protocol": 6}],
            "bandwidth": "[",
            "ips": "10.1.0.5",
        },
    ),
    "JSON that is nested too deeply": ({"ips": "[" * 100_000}, {"ips": "[" * 100_000}),
    "what is not well known": ({"vendor": {"hostPort": "5"}}, {"vendor": {"hostPort": "5"}}),
}


@pytest.mark.parametrize(("written", "completed"), COMPLETED.values(), ids=COMPLETED)
def test_written_values_are_normalized(written: JsonObject, completed: JsonObject) -> None:
    before = json.dumps(written)
    assert normalize_capability_args(written) == completed
    assert normalize_capability_args(completed) == completed
    assert json.dumps(written) == before


def test_normalized_values_pass_validation() -> None:
    for name in ("no protocol", "a protocol in capitals", "ports as text", "rates as text", "JSON as text"):
        findings = schema_findings((), [{"network": "n", "capability_args": COMPLETED[name][0]}])
        assert [finding.code for finding in findings if finding.code != "key-case"] == [], name


_JSON = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(("hostPort", "containerPort", "ingressRate", "subnet")), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("aliases", [["web"], {"n": ["web"]}])
def test_the_schema_accepts_names_of_both_forms(aliases: t.Any) -> None:
    assert schema_findings((), [{"network": "n", "capability_args": {"aliases": aliases}}]) == []


@given(name=st.sampled_from([key for key in KNOWN if key != "dns"]), value=_JSON)
def test_the_schema_rejects_values_that_the_engine_refuses(name: str, value: t.Any) -> None:
    try:
        check_capability_args(NETWORK, normalize_capability_args({name: value}))
    except CniError:
        assert schema_findings((), [{"network": "n", "capability_args": {name: value}}])
