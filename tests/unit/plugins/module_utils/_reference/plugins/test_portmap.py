# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules of portmap, and values that it refuses before it writes anything."""

from __future__ import annotations

import ipaddress
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, rule_cache
from ansible_collections.cni.node.plugins.module_utils._reference.plugins import portmap
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import container_address
from ansible_collections.cni.node.plugins.module_utils._reference.rules.port_mapping import (
    describe_port_mapping,
    read_mappings,
    read_portmap,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import (
    ATTACHMENT,
    read_request,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.builtin.firewall_programs import (
    IptablesPrograms,
)

PORT: JsonObject = {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}
ENTRANCE = "-A CNI-HOSTPORT-DNAT"


@pytest.fixture
def firewall(program_dir: pathlib.Path) -> IptablesPrograms:
    return IptablesPrograms(program_dir)


def request_of(command: str, ports: t.Any, **keys: t.Any) -> PluginRequest:
    """Return a request without masquerading, which would look for the link of the container."""
    result = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}
    defaults: JsonObject = {"prevResult": result, "snat": False}
    return read_request(command, runtimeConfig={"portMappings": ports}, **{**defaults, **keys})


def add(ports: t.Any = (PORT,), **keys: t.Any) -> None:
    portmap.Portmap().add(request_of("ADD", ports, **keys))


def check(ports: t.Any = (PORT,), **keys: t.Any) -> None:
    portmap.Portmap().check(request_of("CHECK", ports, **keys))


UNWRITABLE: dict[str, tuple[JsonObject, str]] = {
    "the end of a statement": (
        {"backend": "nftables", "conditionsV4": ["ct state new;"]},
        "/conditionsV4: 'ct state new;' cannot be written",
    ),
    "single quotes in nftables": (
        {"backend": "nftables", "conditionsV4": ["iifname 'lo'"]},
        "/conditionsV4: \"iifname 'lo'\" cannot be written",
    ),
    "a comment of nftables": ({"backend": "nftables", "conditionsV4": ["ip", "saddr # 1"]}, "/conditionsV4: "),
    "a quotation without an end": ({"backend": "nftables", "conditionsV4": ['iifname "lo']}, "/conditionsV4: "),
    "a number": ({"backend": "nftables", "conditionsV4": ["ct state new", 5]}, "/conditionsV4/1: expected a string"),
    "null": ({"conditionsV4": [None]}, "/conditionsV4/0: expected a string"),
    "a string": ({"conditionsV4": "-s 1.2.3.4"}, "/conditionsV4: expected a list"),
    "an empty word": ({"conditionsV4": ["-s", ""]}, "/conditionsV4/1: '' cannot be written"),
    "two lines": ({"conditionsV4": ["-s", "1.2.3.4\n-j ACCEPT"]}, "/conditionsV4/1: "),
    "a condition of the other family": ({"conditionsV6": ["-s", 5]}, "/conditionsV6/1: expected a string"),
    "nftables in iptables": ({"backend": "iptables", "conditionsV4": ["ip saddr 1.2.3.4"]}, "/conditionsV4/0: "),
    "iptables in nftables": ({"backend": "nftables", "conditionsV4": ["-s", "1.2.3.4"]}, "/conditionsV4/0: "),
    "a chain with a space": (
        {"externalSetMarkChain": "A B"},
        "/externalSetMarkChain: 'A B' is not the name of a chain",
    ),
    "a chain with too many bytes": ({"externalSetMarkChain": "é" * 15}, "/externalSetMarkChain: "),
    "a mark bit that is a boolean": ({"markMasqBit": True}, "/markMasqBit: expected a number"),
    "a mark bit out of range": ({"markMasqBit": 32}, "/markMasqBit: 32 is not a bit of a mark"),
    "snat": ({"snat": "false"}, "/snat: expected a boolean"),
    "masqAll": ({"masqAll": "true"}, "/masqAll: expected a boolean"),
}


@pytest.mark.parametrize(("keys", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_add_refuses_values_that_it_cannot_write_with_their_place(
    firewall: IptablesPrograms, keys: JsonObject, message: str
) -> None:
    with pytest.raises(CniError) as caught:
        add(**keys)
    assert caught.value.msg.startswith(message)
    assert (firewall.rules, firewall.listings) == ("", 0)


BAD_PORTS: dict[str, tuple[t.Any, str]] = {
    "an object": ({}, "/runtimeConfig/portMappings: expected a list"),
    "true": (True, "/runtimeConfig/portMappings: expected a list"),
    "null in the list": ([None], "/runtimeConfig/portMappings/0: expected an object"),
    "a boolean": ([{**PORT, "hostPort": True}], "/runtimeConfig/portMappings/0/"),
    "a fraction": ([{**PORT, "hostPort": 80.5}], "/runtimeConfig/portMappings/0/"),
    "a string": ([PORT, {**PORT, "hostPort": "80"}], "/runtimeConfig/portMappings/1/"),
    "zero": ([{**PORT, "containerPort": 0}], "/runtimeConfig/portMappings/0/containerPort: 0 is not a port"),
    "no protocol": ([{"hostPort": 80, "containerPort": 80}], "/runtimeConfig/portMappings/0/protocol: "),
    "an address with a zone": ([{**PORT, "hostIP": "fe80::1%lo"}], "/runtimeConfig/portMappings/0/"),
}


@pytest.mark.parametrize(("ports", "message"), BAD_PORTS.values(), ids=BAD_PORTS)
def test_add_refuses_port_mappings_of_the_wrong_type(firewall: IptablesPrograms, ports: t.Any, message: str) -> None:
    with pytest.raises(CniError) as caught:
        add(ports)
    assert caught.value.msg.startswith(message)
    assert firewall.rules == ""


WORDS: dict[str, list[str]] = {
    "a space": ["-m", "comment", "--comment", "two words"],
    "a single quote": ["-m", "comment", "--comment=it's"],
    "a double quote": ["-m", "string", "--string", 'a"b', "--algo", "bm"],
    "a backslash": ["-m", "comment", "--comment", "a\\b"],
    "an inverted address": ["!", "-s", "10.0.0.0/8"],
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_each_word_of_a_condition_is_one_argument_of_iptables(firewall: IptablesPrograms, words: list[str]) -> None:
    add(conditionsV4=words)
    entrance = next(line for line in firewall.rules.splitlines() if line.startswith(ENTRANCE))
    arguments = iptables.words(entrance)
    assert list(arguments[-2 - len(words) : -2]) == words
    assert arguments[-2] == "-j"


def nft_texts(family: int, **keys: t.Any) -> list[str]:
    address = container_address(ipaddress.ip_interface("10.1.0.2/24" if family == 4 else "fd00::2/64"))
    config = read_portmap(Keys({"backend": "nftables", **keys}))
    mappings = read_mappings(Keys({"portMappings": [PORT]}))
    part = describe_port_mapping(ATTACHMENT, address, mappings, config)
    assert part
    assert part.nftables
    return [rule.text for rule in part.nftables.rules if rule.chain == "masquerading"]


def test_masq_all_of_nftables_masquerades_every_connection_to_a_mapped_port() -> None:
    assert nft_texts(4, masqAll=True) == ["ip saddr 0.0.0.0/0 ip daddr 10.1.0.2 masquerade"]
    assert nft_texts(6, masqAll=True) == ["ip6 saddr ::/0 ip6 daddr fd00::2 masquerade"]
    assert nft_texts(4, masqAll=True, snat=False) == []
    assert nft_texts(6) == ["ip6 saddr fd00::2 ip6 daddr fd00::2 masquerade"]


def test_conditions_of_nftables_are_written_as_they_are_for_nftables_alone() -> None:
    config = read_portmap(Keys({"conditionsV4": ["iifname", '"my link"', 'oifname "a;#b"']}))
    part = describe_port_mapping(
        ATTACHMENT,
        container_address(ipaddress.ip_interface("10.1.0.2/24")),
        read_mappings(Keys({"portMappings": [PORT]})),
        config,
    )
    assert part
    assert part.nftables
    assert (part.backend, part.iptables) == ("nftables", ())
    end = 'iifname "my link" oifname "a;#b" fib daddr type local jump hostports_all'
    assert [command for command in part.nftables.frame if "fib" in command] == [
        f"add rule ip cni_hostport {hook} {end}" for hook in ("prerouting", "output")
    ]


def test_a_rule_that_lacks_the_conditions_of_its_attachment_does_not_count(firewall: IptablesPrograms) -> None:
    add()
    before = firewall.rules
    add(conditionsV4=["-s", "1.2.3.4"])
    added = firewall.rules[len(before) :]
    assert [line for line in added.splitlines() if line.startswith(ENTRANCE) and "-s 1.2.3.4" in line]


@pytest.mark.parametrize("backend", ["", "iptables"])
def test_add_and_check_fail_if_iptables_cannot_be_listed(firewall: IptablesPrograms, backend: str) -> None:
    firewall.fail_to_list()
    for run in (add, check):
        with pytest.raises(CniError, match=r"iptables-save -t nat failed.*Too many open files"):
            run(backend=backend)
    assert firewall.rules == ""


@pytest.mark.parametrize(
    ("backend", "name"), [("", "iptables-save"), ("iptables", "iptables-save"), ("nftables", "nft")]
)
def test_add_and_check_name_a_program_that_is_missing(program_dir: pathlib.Path, backend: str, name: str) -> None:
    for run in (add, check):
        with pytest.raises(CniError, match=f"{name} is not installed"):
            run(backend=backend)


def test_del_fails_if_the_firewall_of_an_address_cannot_be_listed(firewall: IptablesPrograms) -> None:
    result = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}
    firewall.fail_to_list()
    # Without kept listings, the kernel would be asked first, and has no such chain.
    with rule_cache.keep(), pytest.raises(CniError, match="iptables-save -t nat failed"):
        portmap.Portmap().delete(read_request("DEL", prevResult=result))


def test_no_port_is_forwarded_to_the_node_itself() -> None:
    result = {"cniVersion": "1.1.0", "ips": [{"address": "127.0.0.1/8"}]}
    with pytest.raises(CniError, match=r"ports cannot be forwarded to 127\.0\.0\.1, which is the node itself"):
        add(prevResult=result)
    mappings = read_mappings(Keys({"portMappings": [PORT]}))
    assert (
        describe_port_mapping(
            ATTACHMENT, container_address(ipaddress.ip_interface("127.0.0.1/8")), mappings, read_portmap(Keys({}))
        )
        is None
    )
