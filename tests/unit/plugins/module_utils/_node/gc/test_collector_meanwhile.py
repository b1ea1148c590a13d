# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Containers come and go while the collector searches for leaks."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import socket
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._node.gc import owners as gc_owners
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import Finder, GcRun, collect_leaks, read_node
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import KEPT, REMOVED, GcPolicy, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.link_leaks import BridgePortFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.own_files import OwnFiles
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners, ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._node.gc.records import RecordCollector
from ansible_collections.cni.node.plugins.module_utils._node.gc.rule_leaks import (
    FirewallRuleFinder,
    IptablesRuleFinder,
    NftPortMappingFinder,
    OrphanChainFinder,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

POLICY = GcPolicy(0, dry_run=False)
RUN = GcRun(POLICY, NODE_PATHS, [], frozenset(["net"]))
NO_OWNERS = Owners("net")

# It prints the first text, then the later one, and logs all other commands.
PROGRAM = """\
#!/bin/sh
PATH=/usr/bin:/bin
cd {directory} || exit 1
case "$*" in
"" | "-j link show"* | "-j list table ip cni_hostport") cat {name}.first; cp {name}.later {name}.first ;;
"-j list tables") cat {name}.tables ;;
*) echo "{name} $*" >> done; cat >> done ;;
esac
"""


class ScriptedTools:
    """Fake programs. Each prints one text at first and another text later."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory

    def list_table(self, name: str, first: str, later: str) -> None:
        self.install("iptables-save", *(f"*{name}\n{rules}COMMIT\n" for rules in (first, later)))

    def install(self, name: str, first: str = "", later: str = "", tables: str = "") -> None:
        for kind, text in (("first", first), ("later", later), ("tables", tables)):
            (self._directory / f"{name}.{kind}").write_text(text, encoding="utf-8")
        path = self._directory / name
        path.write_text(PROGRAM.format(directory=self._directory, name=name), encoding="utf-8")
        path.chmod(0o755)

    @property
    def done(self) -> str:
        path = self._directory / "done"
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture
def tools(program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedTools:
    monkeypatch.setattr(live_namespaces, "reachable_paths", dict)
    monkeypatch.setattr(gc_owners, "find_add_in_progress", lambda: "")
    made = ScriptedTools(program_dir)
    made.install("iptables-restore")
    return made


def collect(finder: Finder[t.Any], owners: Owners = NO_OWNERS) -> list[Leak]:
    items = finder.snapshot(read_node())
    return list(collect_leaks(finder, items, owners, lambda: (owners, read_node()), POLICY))


def subjects(leaks: t.Iterable[Leak]) -> list[str]:
    collected = list(leaks)
    assert {leak.action for leak in collected} <= {REMOVED}
    return [leak.subject for leak in collected]


def masquerade_rules(container: str, address: str) -> str:
    chain = firewall_names.masquerade_chain("net", container)
    comment = f'-m comment --comment "name: \\"net\\" id: \\"{container}\\""'
    return f":{chain} - [0:0]\n-A POSTROUTING -s {address}/32 {comment} -j {chain}\n"


def test_an_iptables_rule_that_is_made_after_records_were_read_is_ignored(tools: ScriptedTools) -> None:
    lost, new = masquerade_rules("lost", "10.1.0.9"), masquerade_rules("new", "10.1.0.8")
    again = masquerade_rules("lost", "10.1.0.7")
    tools.list_table("nat", first=lost, later=lost + new + again)
    assert subjects(collect(IptablesRuleFinder(RUN))) == [
        f"iptables nat {firewall_names.masquerade_chain('net', 'lost')}"
    ]
    assert ("10.1.0.9" in tools.done, "10.1.0.8" in tools.done, "10.1.0.7" in tools.done) == (True, False, False)


def test_a_rule_that_disappears_during_the_run_is_not_reported(tools: ScriptedTools) -> None:
    tools.list_table("nat", first=masquerade_rules("lost", "10.1.0.9"), later=masquerade_rules("new", "10.1.0.8"))
    assert collect(IptablesRuleFinder(RUN)) == []
    assert tools.done == ""


def port_rules(*containers: str) -> str:
    place = {"family": "ip", "table": "cni_hostport", "chain": "hostports"}
    counter = {"counter": {"packets": len(containers), "bytes": 0}}
    rules = [
        {**place, "handle": number, "comment": name, "expr": [counter]} for number, name in enumerate(containers, 1)
    ]
    return json.dumps({"nftables": [{"rule": rule} for rule in rules]})


def test_an_nftables_rule_that_is_made_after_records_were_read_is_ignored(tools: ScriptedTools) -> None:
    tables = json.dumps({"nftables": [{"table": {"family": "ip", "name": "cni_hostport"}}]})
    tools.install("nft", first=port_rules("lost"), later=port_rules("lost", "new"), tables=tables)
    assert subjects(collect(NftPortMappingFinder(RUN))) == ["nft ip cni_hostport: lost"]
    assert tools.done == "nft -f -\ndelete rule ip cni_hostport hostports handle 1\n"


def test_a_chain_that_is_made_meanwhile_is_ignored(tools: ScriptedTools) -> None:
    lost, new = (firewall_names.masquerade_chain("net", name) for name in ("lost", "new"))
    tools.list_table("nat", first=f":{lost} - [0:0]\n", later=f":{lost} - [0:0]\n:{new} - [0:0]\n")
    assert subjects(collect(OrphanChainFinder(RUN))) == [f"iptables nat {lost}"]
    assert new not in tools.done


def let_pass(address: str) -> str:
    state = "-m conntrack --ctstate RELATED,ESTABLISHED"
    return f"-A CNI-FORWARD -d {address}/32 {state} -j ACCEPT\n-A CNI-FORWARD -s {address}/32 -j ACCEPT\n"


def test_a_rule_of_the_plugin_firewall_that_is_made_after_records_were_read_is_ignored(tools: ScriptedTools) -> None:
    lost, gone, new = map(let_pass, ("10.1.0.9", "10.1.0.8", "10.1.0.7"))
    tools.list_table("filter", first=lost + gone, later=lost + new)
    assert subjects(collect(FirewallRuleFinder(RUN))) == ["iptables filter CNI-FORWARD: 10.1.0.9"]
    assert ("10.1.0.9" in tools.done, "10.1.0.7" in tools.done) == (True, False)


def test_the_firewall_is_listed_before_records_are_read(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, tools: ScriptedTools
) -> None:
    read_owners = RecordCollector.read_owners

    def read_owners_after_an_add(records: RecordCollector) -> Owners:
        tools.list_table("filter", let_pass("10.1.0.9"), let_pass("10.1.0.9"))
        return read_owners(records)

    tools.install("iptables-save")
    monkeypatch.setattr(RecordCollector, "read_owners", read_owners_after_an_add)
    networks = conf_dir.load(str(node.conf_dir))
    assert Collector(node.runtime(), str(node.cache_dir), networks, ValidAttachments(), POLICY, 0).collect([]) == []


def test_a_lock_that_is_taken_meanwhile_is_kept(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "cni.node" / "locks" / "container-0123"
    path.parent.mkdir(parents=True)
    path.touch()
    files = OwnFiles(str(tmp_path), str(tmp_path / "net.d"), (), POLICY, NodePaths.below(str(tmp_path / "root")))
    with path.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        (leak,) = files.collect(())
    assert (leak.action, leak.error, "a run holds it now" in leak.evidence) == (KEPT, None, True)
    assert path.exists()


def test_what_killed_runs_left_in_directories_of_the_node_is_removed(tmp_path: pathlib.Path) -> None:
    paths = NodePaths.below(str(tmp_path / "root"))
    places = ("sysctl.d", "modules-load.d", "systemd/system", "netns/blue")
    left = [tmp_path / "root" / "etc" / place / ".cni.node-0123456789abcdef.tmp" for place in places]
    for path in left:
        path.parent.mkdir(parents=True)
        path.touch()
        path.with_name("other.tmp").touch()
    leaks = list(OwnFiles(str(tmp_path), str(tmp_path / "net.d"), (), POLICY, paths).collect(()))
    assert {leak.subject for leak in leaks if leak.collected} == set(map(str, left))
    assert [path for path in left if path.exists() or not path.with_name("other.tmp").exists()] == []


PORT_NAME = "veth0123abcd"
PORT = (
    Link(7, "br0", "", 1500, True, 0, 0, "bridge"),
    Link(3, PORT_NAME, "", 1500, True, 7, 2, "veth", peer_netns=0),
)
BRIDGED = config.parse(b'{"cniVersion": "0.4.0", "name": "net", "type": "bridge", "bridge": "br0"}', "10-net.conf")


def test_a_port_is_kept_if_a_namespace_cannot_be_inspected_for_its_other_end(
    tools: ScriptedTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "/proc/self/ns/net"
    tools.install("ip")
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(3, PORT_NAME)])
    monkeypatch.setattr(live_namespaces, "reachable_paths", lambda: {os.stat(own).st_ino: own})
    monkeypatch.setattr(netns, "run_inside", lambda path, operation: operation())
    monkeypatch.setattr(rtnetlink, "links", Ports())
    (leak,) = collect(BridgePortFinder(RUN._replace(configurations=(BRIDGED,))))
    assert (leak.action, leak.error) == (KEPT, None)
    assert leak.evidence.endswith(
        "its other end may be in a network namespace that cannot be inspected: the kernel does not say"
    )
    assert tools.done == ""


def test_an_address_that_may_be_in_use_in_an_uninspected_namespace_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable = {"/proc/7/ns/net": CniError(Code.IO_FAILURE, "cannot look into it")}
    monkeypatch.setattr(live_namespaces, "addresses", lambda: live_namespaces.NetnsAddresses({}, unreadable))
    owners = Owners("net")
    reason = owners.reason_to_keep("lost", ["10.1.0.9"])
    assert reason == "10.1.0.9 may be in use in a network namespace that cannot be inspected: cannot look into it"
    assert owners.reason_to_keep("lost", []) == ""


class Ports:
    """Links of the node. Every second call is for another network namespace, and fails."""

    def __init__(self) -> None:
        self._is_readable = False

    def __call__(self) -> tuple[Link, ...]:
        self._is_readable = not self._is_readable
        if not self._is_readable:
            raise CniError(Code.IO_FAILURE, "the kernel does not say")
        return PORT


def test_an_interface_of_a_result_may_have_no_name(tools: ScriptedTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(3, PORT_NAME)])
    result = Result("1.0.0", {"interfaces": [{"mac": "02:00:00:00:00:01"}, {"name": PORT_NAME}]})
    record = Record(Attachment("net", "blue", "eth0"), b"", result)
    monkeypatch.setattr(rtnetlink, "links", lambda: PORT)
    run = RUN._replace(configurations=(BRIDGED,))
    assert collect(BridgePortFinder(run), Owners(records=(record,))) == []
