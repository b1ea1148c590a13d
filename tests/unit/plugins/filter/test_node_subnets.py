# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import concurrent.futures
import ipaddress
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError
from hypothesis import assume, given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.filter.conflist_findings import conflist_findings
from ansible_collections.cni.node.plugins.filter.fleet_findings import fleet_findings
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
def test_hosts_keep_their_assigned_subnets(cut: tuple[str, int], times: list[set[str]]) -> None:
    """Hosts come, go and come back; each call gets all earlier assignments."""
    cluster, prefix = cut
    assume(len(set().union(*times)) <= 4)
    known: dict[str, str] = {}
    for hosts in times:
        given_out = node_subnets(cluster, list(hosts), prefix, known)
        assert all(known.get(host, subnet) == subnet for host, subnet in given_out.items())
        known |= given_out
        assert len(set(known.values())) == len(known)


def test_hosts_whose_names_do_not_collide_keep_their_subnets_without_a_file() -> None:
    hosts = [f"node-{number}" for number in range(40)]
    alone = {host: node_subnets("10.0.0.0/8", [host], 24)[host] for host in hosts}
    assert node_subnets("10.0.0.0/8", hosts, 24) == alone


def test_the_last_subnet_is_found_and_one_host_more_is_refused() -> None:
    hosts = ["a", "b", "c", "d"]
    assert len(set(node_subnets("192.0.2.0/28", hosts, 30).values())) == 4
    with pytest.raises(AnsibleFilterError, match=r"no subnet for e: all 4 subnets of 192\.0\.2\.0/28 are taken; "):
        node_subnets("192.0.2.0/28", [*hosts, "e"], 30)


def test_the_subnet_of_an_absent_host_is_not_reassigned() -> None:
    (own,) = node_subnets("192.0.2.0/28", ["a"], 30).values()
    assert node_subnets("192.0.2.0/28", ["a"], 30, {"away": own})["a"] != own


LAN = "192.168.1.0/24"


def ends(given_out: JsonObject) -> list[tuple[int, int]]:
    return [
        (int(ipaddress.ip_address(subnet["rangeStart"])), int(ipaddress.ip_address(subnet["rangeEnd"])))
        for subnet in given_out.values()
    ]


@given(
    st.sampled_from([("192.168.1.0/24", 28), ("192.168.1.0/28", 32), ("10.0.0.0/8", 12), ("fd00:1::/64", 120)]),
    st.sets(names, max_size=8),
)
def test_hosts_on_one_link_get_ranges_of_their_own(cut: tuple[str, int], hosts: set[str]) -> None:
    lan, prefix = cut
    given_out = node_subnets(lan, list(hosts), prefix, shared=True)
    assert given_out.keys() == hosts
    previous = int(ipaddress.ip_network(lan)[0])
    for first, last in sorted(ends(given_out)):
        assert previous < first <= last
        previous = last
    whole = ipaddress.ip_network(lan)
    assert previous < int(whole[-1]) + (whole.version == 6)
    again = node_subnets(lan, [*hosts, "another"], prefix, given_out, shared=True)
    assert {host: again[host] for host in hosts} == given_out


def test_ranges_of_one_link_pass_validation() -> None:
    given_out = node_subnets(LAN, ["a", "b", "c"], 28, shared=True)
    nodes = {host: {**MACVLAN, "plugins": [_macvlan(own)]} for host, own in given_out.items()}
    assert [finding for network in nodes.values() for finding in conflist_findings(network)] == []
    assert fleet_findings(nodes) == []


MACVLAN = {"cniVersion": "1.0.0", "name": "lan"}


def _macvlan(own: t.Any) -> JsonObject:
    return {"type": "macvlan", "master": "eth0", "ipam": {"type": "host-local", "ranges": [[own]]}}


def test_a_reserved_subnet_is_assigned_to_no_host() -> None:
    hosts = [str(number) for number in range(8)]
    reserved = ["192.168.1.1-192.168.1.99", "192.168.1.254", "192.168.1.128/28", "10.0.0.1"]
    given_out = node_subnets(LAN, hosts[:7], 28, shared=True, reserved=reserved)
    firsts = {subnet["rangeStart"] for subnet in given_out.values()}
    # Parts 0 to 6, 8 and 15 have a reserved address.
    assert firsts == {f"192.168.1.{16 * part}" for part in (7, *range(9, 15))}
    with pytest.raises(AnsibleFilterError, match=r"no subnet for 7: all 16 subnets of .* are taken or reserved"):
        node_subnets(LAN, hosts, 28, shared=True, reserved=reserved)


class TestFile:
    """The assignments are kept in a file on the controller."""

    def test_hosts_keep_their_subnets_when_others_come_and_go(self, tmp_path: pathlib.Path) -> None:
        file = str(tmp_path / "subnets.json")
        first = node_subnets("192.0.2.0/28", ["a", "b", "c"], 30, file=file)
        assert node_subnets("192.0.2.0/28", ["d", "b"], 30, file=file)["b"] == first["b"]
        assert node_subnets("192.0.2.0/28", ["a", "b", "c"], 30, file=file) == first
        with pytest.raises(AnsibleFilterError, match=f"no subnet for e(?s:.*)read from {file}$"):
            node_subnets("192.0.2.0/28", ["e"], 30, file=file)

    def test_the_file_of_subnets_is_readable_and_has_any_number_of_ranges(self, tmp_path: pathlib.Path) -> None:
        file = tmp_path / "subnets.json"
        subnet = node_subnets("10.244.0.0/16", ["a"], 24, file=str(file))
        shared = node_subnets(LAN, ["a"], 28, shared=True, file=str(file))
        kept = json.loads(file.read_text(encoding="utf-8"))
        assert kept["10.244.0.0/16"] == subnet
        assert ipaddress.ip_address(shared["a"]["rangeEnd"]) in ipaddress.ip_network(kept[LAN]["a"])
        assert (file.stat().st_mode & 0o777, [path.name for path in tmp_path.iterdir()]) == (0o644, ["subnets.json"])

    def test_the_file_of_subnets_is_written_only_for_new_hosts(self, tmp_path: pathlib.Path) -> None:
        file = tmp_path / "subnets.json"
        unsaved = node_subnets(LAN, ["a"], 28, file=str(file), save=False)
        assert not file.exists()
        assert node_subnets(LAN, ["a"], 28, file=str(file)) == unsaved
        file.chmod(0o600)
        before = file.stat()
        assert node_subnets(LAN, ["a"], 28, file=str(file)) == unsaved
        after = file.stat()
        # Reading the file may change its time of access.
        assert (after.st_ino, after.st_mode, after.st_ctime_ns) == (before.st_ino, before.st_mode, before.st_ctime_ns)
        node_subnets(LAN, ["b"], 28, file=str(file))
        assert file.stat().st_mode == before.st_mode

    def test_a_symbolic_link_to_the_file_of_subnets_is_kept(self, tmp_path: pathlib.Path) -> None:
        real, link = tmp_path / "real.json", tmp_path / "link.json"
        link.symlink_to(real)
        node_subnets(LAN, ["a"], 28, file=str(link))
        assert link.is_symlink()
        assert real.is_file()

    def test_simultaneous_runs_assign_the_same_subnets(self, tmp_path: pathlib.Path) -> None:
        """The hashes of some names select the same subnet; the first run gets it."""
        file = str(tmp_path / "subnets.json")
        with concurrent.futures.ProcessPoolExecutor(4) as pool:
            jobs = [pool.submit(node_subnets, "10.0.0.0/28", [str(host)], 32, file=file) for host in range(16)]
            given_out = [subnet for job in jobs for subnet in job.result().values()]
        assert len(set(given_out)) == 16

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", "subnets.json is not valid JSON"),
            ("[]", "subnets.json: not an assignments file"),
            ('{"192.168.1.0/24": {"a": 5}}', "subnets.json: not an assignments file"),
            ('{"192.168.1.0/24": {"a": "192.168.1.0/25"}}', "assigned to a: 192.168.1.0/25; expected: a /28"),
        ],
    )
    def test_a_file_of_another_format_is_refused_by_name(
        self, tmp_path: pathlib.Path, content: str, message: str
    ) -> None:
        file = tmp_path / "subnets.json"
        file.write_text(content, encoding="utf-8")
        with pytest.raises(AnsibleFilterError) as refused:
            node_subnets(LAN, ["b"], 28, file=str(file))
        assert message in str(refused.value)
        assert str(file) in str(refused.value)
        assert file.read_text(encoding="utf-8") == content

    def test_a_path_must_be_absolute_and_in_an_existing_directory(self, tmp_path: pathlib.Path) -> None:
        with pytest.raises(AnsibleFilterError, match=r"'None/subnets.json' is not absolute; expected: .*inventory_dir"):
            node_subnets(LAN, ["a"], 28, file="None/subnets.json")
        with pytest.raises(AnsibleFilterError, match=f"there is no directory {tmp_path}/x"):
            node_subnets(LAN, ["a"], 28, file=str(tmp_path / "x" / "subnets.json"))
        assert list(tmp_path.iterdir()) == []


OPTIONS_REFUSED: dict[str, tuple[JsonObject, str]] = {
    "a flag that is none": ({"shared": "perhaps"}, "shared: 'perhaps'; expected: true or false"),
    "reserved as text": ({"reserved": "10.0.0.1"}, "reserved: '10.0.0.1'; expected: a list"),
    "reserved that is nothing": ({"reserved": ["x"]}, "reserved: 'x'"),
    "reserved backwards": ({"reserved": ["192.168.1.9-192.168.1.1"]}, "the lower one first"),
    "reserved of the other family": ({"reserved": ["fd00::1"]}, "expected: addresses of 192.168.1.0/24"),
    "reserved what a host has": (
        {"reserved": ["192.168.1.20"], "assigned": {"a": "192.168.1.16/28"}},
        "assigned to a: 192.168.1.16/28 contains a reserved address",
    ),
    "two parts": (
        {"assigned": {"a": {"rangeStart": "192.168.1.16", "rangeEnd": "192.168.1.40"}}, "shared": True},
        "assigned to a: ",
    ),
    "no range": ({"assigned": {"a": {"subnet": LAN}}, "shared": True}, "rangeStart: "),
}


@pytest.mark.parametrize(("options", "message"), OPTIONS_REFUSED.values(), ids=OPTIONS_REFUSED)
def test_an_unknown_option_is_refused_in_one_sentence(options: JsonObject, message: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        node_subnets(LAN, ["a"], 28, **options)
    assert message in str(refused.value)


def test_a_subnet_without_room_is_not_shared() -> None:
    with pytest.raises(AnsibleFilterError, match=r"10\.0\.0\.0/31 is too small to be shared"):
        node_subnets("10.0.0.0/31", ["a"], 32, shared=True)


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
    "assigned as a list": (
        ("10.0.0.0/16", ["a"], 24, ["10.0.5.0/24"]),
        "expected: a dictionary of host names to subnets",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_input_of_another_type_is_refused_in_one_sentence(arguments: tuple[t.Any, ...], message: str) -> None:
    with pytest.raises(AnsibleFilterError) as refused:
        node_subnets(*arguments)
    assert message in str(refused.value)
