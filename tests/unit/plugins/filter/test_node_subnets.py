# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress
import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.filter.node_subnets import node_subnets

names = st.text(min_size=1, max_size=8)
ranges = st.sampled_from([("10.244.0.0/16", 24), ("10.244.0.0/20", 26), ("192.0.2.0/28", 30), ("fd00:244::/48", 64)])


@given(ranges, st.sets(names, max_size=4))
def test_each_host_has_a_subnet_of_its_own_inside_the_range(cut: tuple[str, int], hosts: set[str]) -> None:
    cluster, prefix = cut
    given_out = node_subnets(cluster, list(hosts), prefix)
    assert given_out.keys() == hosts
    networks = [ipaddress.ip_network(subnet) for subnet in given_out.values()]
    assert len(set(networks)) == len(hosts)
    for network in networks:
        assert network.prefixlen == prefix
        assert network.subnet_of(ipaddress.ip_network(cluster))  # type: ignore[arg-type]


@given(ranges, st.sets(names, min_size=1, max_size=4), st.randoms())
def test_the_order_of_hosts_does_not_matter(cut: tuple[str, int], hosts: set[str], random: t.Any) -> None:
    cluster, prefix = cut
    shuffled = sorted(hosts)
    random.shuffle(shuffled)
    assert node_subnets(cluster, shuffled, prefix) == node_subnets(cluster, sorted(hosts), prefix)


@given(ranges, st.lists(st.sets(names, max_size=4), min_size=2, max_size=5))
def test_with_what_was_assigned_no_host_ever_moves(cut: tuple[str, int], times: list[set[str]]) -> None:
    """Hosts come, go and come back; what is kept of them is handed in each time."""
    cluster, prefix = cut
    assume(len(set().union(*times)) <= 4)
    known: dict[str, str] = {}
    for hosts in times:
        given_out = node_subnets(cluster, list(hosts), prefix, known)
        assert all(known.get(host, subnet) == subnet for host, subnet in given_out.items())
        known |= given_out
        assert len(set(known.values())) == len(known)


def test_without_memory_hosts_whose_names_do_not_collide_stay_as_well() -> None:
    hosts = [f"node-{number}" for number in range(40)]
    alone = {host: node_subnets("10.0.0.0/8", [host], 24)[host] for host in hosts}
    assert node_subnets("10.0.0.0/8", hosts, 24) == alone


def test_the_last_subnet_is_found_and_one_host_more_is_refused() -> None:
    hosts = ["a", "b", "c", "d"]
    assert len(set(node_subnets("192.0.2.0/28", hosts, 30).values())) == 4
    with pytest.raises(AnsibleFilterError, match=r"192\.0\.2\.0/28 has 4 subnets, which are all taken; e gets none"):
        node_subnets("192.0.2.0/28", [*hosts, "e"], 30)


def test_what_is_assigned_to_a_host_that_is_away_is_given_to_no_other() -> None:
    (own,) = node_subnets("192.0.2.0/28", ["a"], 30).values()
    assert node_subnets("192.0.2.0/28", ["a"], 30, {"away": own})["a"] != own


REFUSED: dict[str, tuple[tuple[t.Any, ...], str]] = {
    "no range": (("x", [], 24), "the range: 'x'"),
    "host bits": (("10.0.0.1/8", [], 24), "has host bits set"),
    "a prefix that is too short": (("10.0.0.0/16", [], 8), "prefix: 8; expected: 16 to 32"),
    "a prefix that is none": (("10.0.0.0/16", [], "x"), "prefix: 'x'; expected: a number"),
    "no prefix": (("10.0.0.0/16", [], None), "prefix: None; expected: a number"),
    "hosts that are none": (("10.0.0.0/16", "abc", 24), "hosts: 'abc'; expected: a list of names"),
    "assigned elsewhere": (
        ("10.0.0.0/16", ["a"], 24, {"a": "10.1.0.0/24"}),
        "assigned to a: 10.1.0.0/24; expected: a /24 of",
    ),
    "assigned too wide": (("10.0.0.0/16", ["a"], 24, {"a": "10.0.0.0/23"}), "expected: a /24 of 10.0.0.0/16"),
    "of the other family": (("10.0.0.0/16", ["a"], 24, {"a": "fd00::/24"}), "expected: a /24 of 10.0.0.0/16"),
    "assigned twice": (
        ("10.0.0.0/16", ["a"], 24, {"a": "10.0.5.0/24", "b": "10.0.5.0/24"}),
        "10.0.5.0/24 is assigned to two hosts",
    ),
    "assigned as a list": (("10.0.0.0/16", ["a"], 24, ["10.0.5.0/24"]), "expected: subnets by the names of hosts"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_anything_else_is_refused_in_a_sentence(arguments: tuple[t.Any, ...], message: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        node_subnets(*arguments)
    assert message in str(refused.value)
