# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""RuleRemoval of the rules of several attachments on a node whose firewall cannot be listed."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, nf_tables, rule_cache
from ansible_collections.cni.node.plugins.module_utils._linux.rules.nf_tables import Chain
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, firewall_removal
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_removal import (
    MASQUERADE,
    PORTS,
    RuleRemoval,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.state.simulated_chains import (
    SimulatedIptables,
)


@pytest.fixture(autouse=True)
def kept_listings() -> t.Iterator[None]:
    """Let removals list the rules, as in a run that keeps the listings, without asking the kernel for chains."""
    with rule_cache.keep():
        yield


def write_program(directory: pathlib.Path, name: str, message: str) -> None:
    path = directory / name
    path.write_text(f'#!/bin/sh\necho "$0" >>{directory}/log\necho "{message}" >&2\nexit 1\n', encoding="utf-8")
    path.chmod(0o755)


def removal(container: str, *addresses: str, kind: str = PORTS) -> RuleRemoval:
    known = frozenset(addresses) if addresses else None
    return RuleRemoval(Attachment("net", container, "eth0", "/run/netns/x"), kind, known)


REMOVALS = [removal("blue", "10.1.0.2"), removal("red", "fd00::2"), removal("green"), removal("gray", "10.1.0.3")]


def test_a_family_that_cannot_be_listed_fails_each_removal_that_may_have_rules_in_it(program_dir: pathlib.Path) -> None:
    write_program(program_dir, "ip6tables-save", "socket: Too many open files")
    errors = firewall_removal.remove(REMOVALS)
    assert sorted(errors) == [1, 2]
    assert all("ip6tables-save -t nat failed" in str(error) for error in errors.values())
    # One listing serves all of them.
    assert len((program_dir / "log").read_text(encoding="utf-8").splitlines()) == 1


def test_nftables_that_cannot_be_listed_fails_every_removal(program_dir: pathlib.Path) -> None:
    write_program(program_dir, "nft", "internal:0:0-0: Error: Could not process rule: Operation not permitted")
    assert sorted(firewall_removal.remove([*REMOVALS, removal("pink", kind=MASQUERADE)])) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "message",
    [
        "ip6tables-save v1.8.9 (legacy): Cannot initialize: Table does not exist (do you need to insmod?)",
        "can't initialize ip6tables table: Address family not supported by protocol",
        "Failed to initialize nft: Protocol not supported",
        "netlink: Error: cache initialization failed: Invalid argument",
        "Error: JSON support not compiled-in",
    ],
)
def test_a_firewall_that_the_node_does_not_support_has_no_rules(program_dir: pathlib.Path, message: str) -> None:
    for name in ("iptables-save", "ip6tables-save", "nft"):
        write_program(program_dir, name, message)
    assert firewall_removal.remove(REMOVALS) == {}


def test_a_node_without_the_programs_has_no_rules(program_dir: pathlib.Path) -> None:
    assert firewall_removal.remove(REMOVALS) == {}


def test_the_error_of_a_listing_has_the_message_of_the_program(program_dir: pathlib.Path) -> None:
    write_program(program_dir, "iptables-save", "socket: Too many open files")
    error = firewall_removal.remove(REMOVALS[:1])[0]
    assert isinstance(error, CniError)
    assert error.details == "socket: Too many open files"


CHAIN = firewall_names.ports_chain("net", "blue")
JUMP = f"CNI-HOSTPORT-DNAT -p tcp -m multiport --dports 8080 -j {CHAIN}"
MASQUERADING = firewall_names.masquerade_chain("net", "blue")
SOURCES = [f"POSTROUTING -s 10.1.0.{number}/32 -j {MASQUERADING}" for number in (2, 3)]


@pytest.mark.parametrize(
    ("chain", "jumps", "removals"),
    [
        (CHAIN, [JUMP, JUMP], [removal("blue", "10.1.0.2")]),
        (MASQUERADING, SOURCES, [removal("blue", f"10.1.0.{number}", kind=MASQUERADE) for number in (2, 3)]),
    ],
    ids=["a jump that is there twice", "the jumps of two interfaces"],
)
def test_each_jump_is_removed_with_the_chain_that_no_other_jump_needs(
    monkeypatch: pytest.MonkeyPatch, chain: str, jumps: list[str], removals: list[RuleRemoval]
) -> None:
    node = SimulatedIptables()
    node.install(monkeypatch)
    chains: dict[str, list[str]] = {chain: []}
    for jump in jumps:
        chains.setdefault(jump.split(" ", 1)[0], []).append(f"-A {jump}")
    node.tables[4, "nat"] = chains
    assert firewall_removal.remove(removals) == {}
    assert node.rules() == []
    assert chain not in node.tables[4, "nat"]


def map_port(port: int, address: str, host_ip: str = "") -> list[str]:
    """Return the rules of the chain for a mapped port, as iptables-save prints them."""
    match = f"{host_ip and f'-d {host_ip}/32 '}-p tcp -m tcp --dport {port}"
    sources = [f"-A {CHAIN} -s {source} {match} -j CNI-HOSTPORT-SETMARK" for source in ("10.1.0.0/16", "127.0.0.1/32")]
    return [*sources, f"-A {CHAIN} {match} -j DNAT --to-destination {address}:80"]


def jump(*ports: int) -> str:
    numbers = ",".join(map(str, ports))
    return f"-A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports {numbers} -j {CHAIN}"


FIRST, SECOND = [*map_port(8080, "10.1.0.2"), *map_port(8081, "10.1.0.2", "127.0.0.1")], map_port(9090, "10.1.0.3")
SHARED = map_port(8080, "10.1.0.3")


@pytest.mark.parametrize(
    ("chain", "jumps", "addresses", "expected"),
    [
        ([*FIRST, *SECOND], [jump(8080, 8081), jump(9090)], ["10.1.0.3"], [*FIRST, jump(8080, 8081)]),
        ([*FIRST, *SECOND], [jump(8080, 8081), jump(9090)], ["10.1.0.2"], [*SECOND, jump(9090)]),
        (
            [*FIRST, *SECOND],
            [jump(8080, 8081), jump(9090)],
            ["10.1.0.4"],
            [*FIRST, *SECOND, jump(8080, 8081), jump(9090)],
        ),
        ([*FIRST, *SHARED], [jump(8080, 8081)], ["10.1.0.3"], [*FIRST, *SHARED[:2], jump(8080, 8081)]),
        (
            [*FIRST, *SECOND, *SECOND],
            [jump(8080, 8081), jump(9090), jump(9090)],
            ["10.1.0.3"],
            [*FIRST, jump(8080, 8081)],
        ),
        ([*SECOND[:2]], [jump(9090)], ["10.1.0.3"], []),
    ],
    ids=[
        "the second",
        "the first",
        "an interface without ports",
        "a port of both",
        "rules that are there twice",
        "none left",
    ],
)
def test_the_ports_of_one_interface_are_removed_and_those_of_the_others_stay(
    monkeypatch: pytest.MonkeyPatch, chain: list[str], jumps: list[str], addresses: list[str], expected: list[str]
) -> None:
    node = SimulatedIptables()
    node.install(monkeypatch)
    node.tables[4, "nat"] = {CHAIN: [*chain], "CNI-HOSTPORT-DNAT": [*jumps]}
    assert firewall_removal.remove([removal("blue", *addresses)]) == {}
    assert sorted(node.rules()) == sorted(expected)
    assert (CHAIN in node.tables[4, "nat"]) == bool(expected)


def test_two_interfaces_that_are_removed_together_leave_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    node = SimulatedIptables()
    node.install(monkeypatch)
    node.tables[4, "nat"] = {CHAIN: [*FIRST, *SECOND], "CNI-HOSTPORT-DNAT": [jump(8080, 8081), jump(9090)]}
    assert firewall_removal.remove([removal("blue", "10.1.0.2"), removal("blue", "10.1.0.3")]) == {}
    assert node.tables[4, "nat"] == {"CNI-HOSTPORT-DNAT": []}


def test_a_container_with_the_name_of_a_chain_loses_no_rules_of_that_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    node = SimulatedIptables()
    node.install(monkeypatch)
    for name in (CHAIN, "CNI-HOSTPORT-DNAT"):
        node.tables[4, "nat"] = {
            CHAIN: [],
            "CNI-HOSTPORT-DNAT": [f"-A {JUMP}"],
            "OUTPUT": ["-A OUTPUT -j CNI-HOSTPORT-DNAT"],
        }
        before = node.rules()
        assert firewall_removal.remove([removal(name), removal(name, kind=MASQUERADE)]) == {}
        assert node.rules() == before


OTHERS = [Chain("ip", "nat", "POSTROUTING"), Chain("ip", "nat", firewall_names.container_chains("net", "other")[1])]
OWN = Chain("ip", "nat", firewall_names.container_chains("net", "blue")[1])


@pytest.mark.parametrize(
    ("chains", "is_legacy", "lists"),
    [
        ([], False, False),
        (OTHERS, False, False),
        ([*OTHERS, OWN], False, True),
        ([Chain("ip6", firewall_names.PORTS_TABLE, "prerouting")], False, True),
        (None, False, True),
        ([], True, True),
    ],
    ids=["no chain", "chains of others", "its chain", "a table of nftables", "unknown chains", "a legacy table"],
)
def test_programs_list_rules_only_if_the_kernel_may_have_those_of_a_removal(
    program_dir: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    chains: list[Chain] | None,
    is_legacy: bool,
    lists: bool,
) -> None:
    def list_chains() -> list[Chain]:
        if chains is None:
            raise CniError(Code.IO_FAILURE, "cannot list the chains of nf_tables")
        return chains

    monkeypatch.setattr(nf_tables, "list_chains", list_chains)
    monkeypatch.setattr(iptables, "may_have_legacy_table", lambda dummy: is_legacy)
    monkeypatch.setattr(rule_cache, "is_kept", lambda: False)
    write_program(program_dir, "iptables-save", "socket: Too many open files")
    assert sorted(firewall_removal.remove(REMOVALS[:1])) == ([0] if lists else [])
