# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The difference of two states has exactly the changes, and namespaces are removed at the end of their block."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip, links, namespace, namespaces
from ansible_collections.cni.node.tests.support.programs import path_without
from ansible_collections.cni.node.tests.support.state import State, node_state, tree_lines

in_sandbox = pytest.mark.skipif("CNI_SANDBOX" not in os.environ, reason="changes the node: run it in the sandbox")


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def test_a_difference_names_its_section_and_line() -> None:
    before = State({"links": ["lo loopback", "cni0 bridge"], "leases": []})
    after = State({"links": ["lo loopback"], "leases": ["n/10.0.0.2"]})
    assert before.difference(before) == ""
    lines = before.difference(after).splitlines()
    assert [line for line in lines if not line.startswith("@@")] == [
        "--- leases before", "+++ leases after", "+n/10.0.0.2", "--- links before", "+++ links after", "-cni0 bridge",
    ]  # fmt: skip
    assert before.without("^cni0 ").difference(after.without("leases|10.0.0.2")) == ""


def test_a_tree_shows_content_mode_and_optionally_identity(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_text("one", encoding="utf-8")
    (tmp_path / "to").symlink_to("a")
    plain, exact = tree_lines(tmp_path), tree_lines(tmp_path, identity=True)
    (tmp_path / "new").write_text("one", encoding="utf-8")
    (tmp_path / "new").chmod((tmp_path / "a").stat().st_mode)
    (tmp_path / "new").replace(tmp_path / "a")
    assert tree_lines(tmp_path) == plain
    assert tree_lines(tmp_path, identity=True) != exact
    (tmp_path / "a").chmod(0o600)
    assert tree_lines(tmp_path) != plain
    assert [line.split()[0] for line in plain] == [".", "a", "to"]
    assert plain[2].endswith("-> a")
    assert tree_lines(tmp_path / "none") == []


def test_a_path_without_a_program_has_all_others(tmp_path: pathlib.Path) -> None:
    path = path_without({"ls"}, tmp_path)
    assert shutil.which("ls") is not None
    assert shutil.which("ls", path=path) is None
    assert shutil.which("cat", path=path) is not None


CHANGES = [
    ("links", "ip link add v0 type veth peer name v1", "ip link delete v0"),
    ("links", "ip address add 10.9.0.1/32 dev lo", "ip address delete 10.9.0.1/32 dev lo"),
    ("routes", "ip route add blackhole 10.8.0.0/16", "ip route delete blackhole 10.8.0.0/16"),
    ("routing rules", "ip rule add from 10.7.0.0/16 table 100", "ip rule delete from 10.7.0.0/16 table 100"),
    ("iptables", "iptables -t nat -N CNI-TEST", "iptables -t nat -X CNI-TEST"),
    ("ip6tables", "ip6tables -t nat -N CNI-TEST", "ip6tables -t nat -X CNI-TEST"),
    ("nftables", "nft add table inet cni_test", "nft delete table inet cni_test"),
    ("mounts", "mount -t tmpfs tmpfs /mnt", "umount /mnt"),
    ("namespaces", "ip netns add cni-test", "ip netns delete cni-test"),
    ("leases", "cp /etc/hostname /var/lib/cni/networks/n/10.1.0.2", "rm /var/lib/cni/networks/n/10.1.0.2"),
    ("leases", "cp /etc/hostname /var/lib/cni/networks/n/fd00_2__2", "rm /var/lib/cni/networks/n/fd00_2__2"),
    ("records", "cp /etc/hostname /var/lib/cni/results/n-c-eth0", "rm /var/lib/cni/results/n-c-eth0"),
    ("files of /opt/cni", "cp /etc/hostname /opt/cni/p", "rm /opt/cni/p"),
]


@pytest.mark.requires_root
@in_sandbox
@pytest.mark.parametrize(("section", "change", "undo"), CHANGES)
def test_a_change_on_the_node_is_a_difference_until_it_is_undone(section: str, change: str, undo: str) -> None:
    run("mkdir", "-p", "/var/lib/cni/networks/n", "/var/lib/cni/results", "/opt/cni")
    for tables in ("iptables", "ip6tables"):  # the first use creates a table, which then stays
        run(tables, "-t", "nat", "-N", "CNI-FIRST")
        run(tables, "-t", "nat", "-X", "CNI-FIRST")
    before = node_state(trees=["/opt/cni"])
    run(*change.split())
    try:
        assert f"+++ {section} after" in before.difference(node_state(trees=["/opt/cni"]))
    finally:
        run(*undo.split())
    assert before.difference(node_state(trees=["/opt/cni"])) == ""


@pytest.mark.requires_root
@in_sandbox
def test_leases_exclude_other_files_of_host_local() -> None:
    directory = pathlib.Path("/var/lib/cni/networks/n")
    directory.mkdir(parents=True, exist_ok=True)
    before = node_state()
    (directory / "last_reserved_ip.0").write_text("10.1.0.2", encoding="utf-8")
    (directory / "lock").touch()
    assert before.difference(node_state()) == ""


@pytest.mark.requires_root
@in_sandbox
def test_a_namespace_shows_its_links_addresses_and_routes() -> None:
    with namespaces("ns-a", "ns-b") as (a, b):
        a.run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", b.name)
        a.run("ip", "address", "add", "10.1.0.2/24", "dev", "eth0")
        a.run("ip", "link", "set", "eth0", "up")
        b.run("ip", "link", "set", "eth0", "up")
        a.run("ip", "route", "add", "default", "via", "10.1.0.1")
        assert a.addresses("eth0") == {"10.1.0.2/24"}
        assert [(route["dst"], route["dev"]) for route in a.routes()] == [("default", "eth0"), ("10.1.0.0/24", "eth0")]
        assert b.links()["eth0"]["linkinfo"]["info_kind"] == "veth"
        assert "eth0" not in links()
    assert {entry["name"] for entry in ip("netns", "list")}.isdisjoint({"ns-a", "ns-b"})


@pytest.mark.requires_root
@in_sandbox
def test_a_namespace_ends_with_its_block_in_any_state() -> None:
    with namespace("ns-a") as made:
        run("ip", "netns", "delete", made.name)
    with pytest.raises(KeyError), namespace("ns-a") as made:
        raise KeyError(made.name)
    assert not Namespace("ns-a").path.exists()
