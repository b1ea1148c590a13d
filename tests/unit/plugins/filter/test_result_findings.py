# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("jsonschema", reason="results are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.filter.result_findings import result_findings

GOOD: t.Final[JsonObject] = {
    "cniVersion": "1.0.0",
    "interfaces": [{"name": "cni0", "mac": "02:00:00:00:00:01"}, {"name": "eth0", "sandbox": "/run/netns/red"}],
    "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 1}, {"address": "fd00::5/64"}],
    "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}, {"dst": "::/0"}],
    "dns": {"nameservers": ["10.1.0.1"]},
}
OLD: t.Final[JsonObject] = {"cniVersion": "0.4.0", "ips": [{"version": "4", "address": "10.1.0.5/16"}]}
OLDEST: t.Final[JsonObject] = {"cniVersion": "0.2.0", "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1"}}


def find_codes(result: t.Any) -> list[str]:
    return [f"{finding['code']} {finding['path']}" for finding in result_findings(result)]


@pytest.mark.parametrize(
    "result", [GOOD, OLD, OLDEST, {"cniVersion": "1.1.0"}], ids=lambda result: result["cniVersion"]
)
def test_valid_results_have_no_findings(result: JsonObject) -> None:
    assert find_codes(result) == find_codes([result, {"result": result}, {"result": {}}, {"result": None}]) == []


WRONG: t.Final[dict[str, tuple[JsonObject, list[str]]]] = {
    "no prefix": ({**GOOD, "ips": [{"address": "10.1.0.5"}]}, ["malformed-value /ips/0/address"]),
    "no name": ({**GOOD, "interfaces": [{}, {"name": "eth0"}]}, ["missing-key /interfaces/0/name"]),
    "text": ({**GOOD, "ips": [{"address": "10.1.0.5/16", "interface": "1"}]}, ["wrong-type /ips/0/interface"]),
    "no such interface": (
        {**GOOD, "ips": [{"address": "10.1.0.5/16", "interface": 2}]},
        ["out-of-range /ips/0/interface"],
    ),
    "no interfaces": (
        {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.5/16", "interface": 0}]},
        ["out-of-range /ips/0/interface"],
    ),
    "two families": (
        {**GOOD, "ips": [{"address": "10.1.0.5/16", "gateway": "fd00::1"}]},
        ["family-mismatch /ips/0/gateway"],
    ),
    "a route of two": ({**GOOD, "routes": [{"dst": "::/0", "gw": "10.1.0.1"}]}, ["family-mismatch /routes/0/gw"]),
    "no version": ({**OLD, "ips": [{"address": "10.1.0.5/16"}]}, ["missing-key /ips/0/version"]),
    "another version": (
        {**OLD, "ips": [{"version": "6", "address": "10.1.0.5/16"}]},
        ["family-mismatch /ips/0/address"],
    ),
    "of an old one": ({**OLDEST, "ip6": {"ip": "10.1.0.5/16"}}, ["family-mismatch /ip6/ip"]),
    "unknown": ({**GOOD, "cniVersion": "9.9.9"}, ["unsupported-version /cniVersion"]),
}


@pytest.mark.parametrize(("result", "expected"), WRONG.values(), ids=WRONG)
def test_invalid_results_have_findings(result: JsonObject, expected: list[str]) -> None:
    assert find_codes(result) == expected


def test_a_finding_names_the_attachment() -> None:
    attachment = {"network": "dbnet", "container_id": "red", "ifname": "eth0", "result": {**GOOD, "ips": 5}}
    (finding,) = result_findings([{**attachment, "result": GOOD}, attachment])
    assert (finding["file"], finding["severity"]) == ("attachment of red (eth0) to network dbnet", "error")
    assert result_findings([{"result": []}, {"result": 5}])[0]["file"] == "attachments[1]"


@pytest.mark.parametrize("nonsense", [5, "text", [[]], [None]])
def test_input_of_another_type_is_refused_in_one_sentence(nonsense: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"result_findings: found (a|null).*; expected: attachments"):
        result_findings(nonsense)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["4", "10.1.0.5/16", "fd00::1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["address", "gateway", "version", "interface", "ip", "dst", "gw"]), inner)
    ),
    max_leaves=8,
)


@given(st.sampled_from(["0.2.0", "0.4.0", "1.1.0", "", None, 5]), ANY, ANY, ANY)
def test_any_result_yields_a_list_of_findings(version: t.Any, ip: t.Any, ip4: t.Any, routes: t.Any) -> None:
    assert isinstance(result_findings({"cniVersion": version, "ips": [ip], "ip4": ip4, "routes": routes}), list)
