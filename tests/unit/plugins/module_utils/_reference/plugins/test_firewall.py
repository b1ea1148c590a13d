# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules of the plugin firewall, and values that it refuses before it writes anything."""

from __future__ import annotations

import functools
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.workers import Workers
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._reference.plugins.firewall import Firewall
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import read_request
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.builtin.firewall_programs import (
    IptablesPrograms,
)

RESULT: JsonObject = {
    "cniVersion": "1.1.0",
    "interfaces": [{"name": "cni0"}, {"name": "eth0", "sandbox": "/run/netns/blue"}],
    "ips": [{"address": "10.1.0.2/24", "interface": 1}],
}


@pytest.fixture
def firewall(program_dir: pathlib.Path) -> IptablesPrograms:
    return IptablesPrograms(program_dir)


def request_of(command: str, result: JsonObject | None = None, **keys: t.Any) -> PluginRequest:
    return read_request(command, prevResult=RESULT if result is None else result, **{"backend": "iptables", **keys})


@pytest.mark.parametrize("chain", ["_ADMIN", "10-ADMIN", "my+admin", "cni:admin", "#1", "é" * 14])
def test_every_chain_that_iptables_accepts_can_be_the_admin_chain(firewall: IptablesPrograms, chain: str) -> None:
    request = request_of("ADD", iptablesAdminChainName=chain)
    Firewall().add(request)
    assert firewall.rules.count("-j ACCEPT") == 2
    assert f":{chain} - [0:0]\n" in firewall.rules
    assert f"-j {chain}\n" in firewall.rules
    Firewall().check(request)


UNWRITABLE: dict[str, tuple[JsonObject, str]] = {
    "a chain with a space": ({"iptablesAdminChainName": "A B"}, "/iptablesAdminChainName: 'A B' is not the name"),
    "an option": ({"iptablesAdminChainName": "-j"}, "/iptablesAdminChainName: '-j' is not the name of a chain"),
    "29 bytes": ({"iptablesAdminChainName": "x" * 29}, "/iptablesAdminChainName: "),
    "29 bytes in fewer characters": ({"iptablesAdminChainName": "é" * 14 + "x"}, "/iptablesAdminChainName: "),
    "a built-in chain": ({"iptablesAdminChainName": "INPUT"}, "/iptablesAdminChainName: INPUT is a built-in chain"),
    "the plugin's own chain": (
        {"iptablesAdminChainName": "CNI-FORWARD"},
        "/iptablesAdminChainName: CNI-FORWARD is the chain with the plugin's own rules",
    ),
    "a target": ({"iptablesAdminChainName": "DROP"}, "/iptablesAdminChainName: DROP is a target of iptables"),
    "a chain that is a number": ({"iptablesAdminChainName": 5}, "/iptablesAdminChainName: expected a string"),
    "a zone with a space": ({"firewalldZone": "a b"}, "/firewalldZone: 'a b' is not the name of a zone"),
    "a zone of 18 characters": ({"firewalldZone": "x" * 18}, "/firewalldZone: "),
    "a policy": ({"ingressPolicy": "closed"}, "/ingressPolicy: 'closed' is unknown"),
    "a policy that is a list": ({"ingressPolicy": ["isolated"]}, "/ingressPolicy: expected a string"),
}


@pytest.mark.parametrize(("keys", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_add_refuses_values_that_it_cannot_write_with_their_place(
    firewall: IptablesPrograms, keys: JsonObject, message: str
) -> None:
    with pytest.raises(CniError) as caught:
        Firewall().add(request_of("ADD", **keys))
    assert caught.value.msg.startswith(message)
    assert (firewall.rules, firewall.listings) == ("", 0)


@pytest.mark.parametrize("interfaces", [[], [{"name": "a b"}, {"name": "cni0"}]], ids=["none", "an unusual name"])
def test_add_refuses_a_policy_that_isolates_bridges_without_a_bridge(
    firewall: IptablesPrograms, interfaces: list[JsonObject]
) -> None:
    result = {"cniVersion": "1.1.0", "interfaces": interfaces, "ips": [{"address": "10.1.0.2/24"}]}
    with pytest.raises(CniError, match="/ingressPolicy: isolated needs a bridge"):
        Firewall().add(request_of("ADD", result, ingressPolicy="isolated"))
    assert firewall.rules == ""


def test_add_check_and_del_fail_if_the_firewall_cannot_be_listed(firewall: IptablesPrograms) -> None:
    Firewall().add(request_of("ADD"))
    before = firewall.rules
    firewall.fail_to_list()
    for run, command in ((Firewall().add, "ADD"), (Firewall().check, "CHECK"), (Firewall().delete, "DEL")):
        with pytest.raises(CniError, match=r"iptables-save -t filter failed.*Too many open files"):
            run(request_of(command))
    assert firewall.rules == before


def test_the_rules_of_several_containers_are_removed_with_one_listing(firewall: IptablesPrograms) -> None:
    requests = [
        request_of("DEL", {**RESULT, "ips": [{"address": f"10.1.0.{number}/24", "interface": 1}]})
        for number in (2, 3, 4)
    ]
    for request in requests:
        Firewall().add(request)
    before = firewall.listings
    Workers(1, len(requests)).run([functools.partial(Firewall().delete, request) for request in requests])
    assert firewall.listings == before + 1
    assert firewall.rules.count("-D CNI-FORWARD ") == 2 * len(requests)


@pytest.mark.parametrize("policy", ["open", "isolated"])
def test_add_and_check_name_a_program_that_is_missing(program_dir: pathlib.Path, policy: str) -> None:
    for run, command in ((Firewall().add, "ADD"), (Firewall().check, "CHECK")):
        with pytest.raises(CniError, match="iptables-save is not installed") as caught:
            run(request_of(command, ingressPolicy=policy))
        assert "install the package iptables" in caught.value.details
    Firewall().delete(request_of("DEL"))
