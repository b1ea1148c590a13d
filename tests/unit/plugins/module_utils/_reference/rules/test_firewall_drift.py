# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Missing firewall rules of an attachment. Tests with real rules are in tests/integration."""

from __future__ import annotations

import ipaddress
import json
import os
import pathlib
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rule_drift import find_drift
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names, firewall_repair
from ansible_collections.cni.node.plugins.module_utils._reference.rules.masquerading import describe_all_masquerading

EMPTY = "*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n"
LOST = "the masquerade rule of 10.1.0.2 is gone"
MASQUERADED: JsonObject = {"type": "bridge", "ipMasq": True}
MAPPED: JsonObject = {"type": "portmap", "capabilities": {"portMappings": True}}
PORT: JsonObject = {"hostPort": 8080, "containerPort": 80, "protocol": "TCP"}


def rules(container: str = "blue", source: str = "10.1.0.2/32") -> str:
    """Return the rules that bridge makes for one container."""
    chain = firewall_names.masquerade_chain("net", container)
    return f"""\
*nat
:{chain} - [0:0]
-A POSTROUTING -s {source} -m comment --comment "name: \\"net\\" id: \\"{container}\\"" -j {chain}
-A {chain} -d 10.1.0.0/16 -j ACCEPT
-A {chain} ! -d 224.0.0.0/4 -j MASQUERADE
COMMIT
"""


class Firewall:
    """A node with programs that print rules, and a record that is an hour old."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self.records = RecordStore(str(directory / "results"))
        self.view = NodeView()

    def prints(self, rules: str, tool: str = "iptables-save", status: int = 0) -> None:
        (self._directory / f"{tool}.out").write_text(rules, encoding="utf-8")
        path = self._directory / tool
        script = f"#!/bin/sh\necho $0 >>{self._directory}/log\n/bin/cat {self._directory}/{tool}.out\nexit {status}\n"
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def reads(self) -> int:
        """Return how often a program ran since the last call."""
        log = self._directory / "log"
        count = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
        log.unlink(missing_ok=True)
        return count

    def lost(
        self,
        *plugins: JsonObject,
        container: str = "blue",
        ports: t.Any = (PORT,),
        age: float = 3600,
        network: JsonObject | None = None,
        **result: t.Any,
    ) -> tuple[str, ...] | None:
        """Return the drift of an attachment that was added this many seconds ago."""
        document = {"cniVersion": "1.0.0", "name": "net", "plugins": plugins or [MASQUERADED], **(network or {})}
        parsed = config.parse(json.dumps(document).encode(), "net")
        attachment = Attachment("net", container, "eth0", "/run/netns/x", {}, {"portMappings": ports})
        keys = {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16"}], **result}
        record = Record(attachment, parsed.content, Result("1.0.0", keys))
        self.records.write(record)
        os.utime(self.records.path_of(attachment.key), (time.time() - age,) * 2)
        drift = find_drift(RecordedRequests(record), self.view, self.records)
        return drift.messages if drift.parts else None


@pytest.fixture
def firewall(program_dir: pathlib.Path) -> Firewall:
    return Firewall(program_dir)


def test_rules_that_exist_are_not_drift_and_are_read_once(firewall: Firewall) -> None:
    firewall.prints(rules("blue") + rules("red"))
    assert [firewall.lost(container=name) for name in ("blue", "red", "blue")] == [(), (), ()]
    assert firewall.reads() == 1


def test_a_masquerade_rule_of_old_releases_has_the_network_instead_of_the_address(firewall: Firewall) -> None:
    firewall.prints(rules(source="10.1.0.0/16"))
    assert firewall.lost() == ()
    firewall.prints(rules(source="10.1.0.3/32"))
    firewall.view = NodeView()
    assert firewall.lost() == (LOST,)


def test_rules_read_after_the_add_show_drift_without_reading_them_again(firewall: Firewall) -> None:
    firewall.prints(EMPTY)
    assert [firewall.lost(container=name) for name in ("blue", "red", "green")] == [(LOST,)] * 3
    assert firewall.reads() == 1


def test_rules_are_read_again_for_a_later_attachment(firewall: Firewall) -> None:
    firewall.prints(EMPTY)
    assert firewall.lost() == (LOST,)
    firewall.prints(rules("red"))
    assert firewall.lost(container="red", age=0) == ()
    assert firewall.lost(container="green", age=0) == (LOST,)
    assert firewall.reads() == 3


def test_a_record_with_a_future_time_does_not_hide_drift(firewall: Firewall) -> None:
    firewall.prints(EMPTY)
    assert firewall.lost(age=-3600) == (LOST,)


def test_rules_that_cannot_be_read_are_not_compared(firewall: Firewall) -> None:
    assert firewall.lost(MASQUERADED, MAPPED) is None
    firewall.prints("", status=3)
    assert firewall.lost(MASQUERADED, MAPPED) is None


def test_rules_of_a_backend_that_cannot_be_read_are_not_compared(firewall: Firewall) -> None:
    firewall.prints(EMPTY)
    assert firewall.lost({**MASQUERADED, "ipMasqBackend": "nftables"}) is None
    firewall.prints('{"nftables": []}', tool="nft")
    firewall.view = NodeView()
    assert firewall.lost({**MASQUERADED, "ipMasqBackend": "nftables"}) == (LOST,)
    firewall.prints(rules())
    firewall.view = NodeView()
    assert firewall.lost({**MASQUERADED, "ipMasqBackend": "nftables"}) == ()


NO_RULES: dict[str, JsonObject] = {
    "no masquerading": {"type": "bridge"},
    "masquerading by others": {"type": "flannel", "ipMasq": True},
    "a capability that is not declared": {"type": "portmap"},
}


@pytest.mark.parametrize("plugin", NO_RULES.values(), ids=NO_RULES)
def test_no_rules_are_read_without_expected_rules(firewall: Firewall, plugin: JsonObject) -> None:
    firewall.prints(EMPTY)
    assert firewall.lost(plugin) is None
    assert firewall.lost(network={"disableCheck": True}) is None
    assert firewall.reads() == 0


def test_ports_are_mapped_to_the_first_address_of_the_interface_in_each_family(firewall: Firewall) -> None:
    firewall.prints(EMPTY)
    firewall.prints(EMPTY, tool="ip6tables-save")
    ips = ["10.9.0.1/16", "10.1.0.2/16", "10.1.0.3/16", "fd00::2/64", "fd00::3/64"]
    interfaces = [{"name": "cni0"}, {"name": "eth0", "sandbox": "/run/netns/x"}]
    result: JsonObject = {
        "interfaces": interfaces,
        "ips": [{"address": ip, "interface": int(ip != ips[0])} for ip in ips],
    }
    others = [{**PORT, "hostIP": "::1"}, {**PORT, "hostIP": "192.0.2.1", "protocol": "udp"}]
    mapping = "the rule that maps host port"
    assert firewall.lost(MAPPED, ports=[PORT, *others], **result) == (
        f"{mapping} 8080/tcp to 10.1.0.2:80 is gone",
        f"{mapping} 192.0.2.1:8080/udp to 10.1.0.2:80 is gone",
        f"{mapping} 8080/tcp to [fd00::2]:80 is gone",
        f"{mapping} [::1]:8080/tcp to [fd00::2]:80 is gone",
    )


def test_an_unspecified_host_ip_counts_as_missing(firewall: Firewall) -> None:
    chain = firewall_names.ports_chain("net", "blue")
    jumps = [f"-A {hook} -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT" for hook in ("PREROUTING", "OUTPUT")]
    entrance = f"-A CNI-HOSTPORT-DNAT -p tcp -m multiport --dports 8080 -j {chain}"
    rule = f"-A {chain} -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.1.0.2:80"
    firewall.prints("\n".join(["*nat", *jumps, entrance, rule, "COMMIT", ""]))
    without_snat = {**MAPPED, "snat": False}
    for host in ("0.0.0.0", ""):
        assert firewall.lost(without_snat, ports=[{**PORT, "hostIP": host}]) == ()
    assert firewall.lost(without_snat, ports=[{**PORT, "hostPort": 808}]) != ()


@pytest.mark.parametrize("ports", ["8080", [None], [{}], [{**PORT, "hostIP": "x"}], [{**PORT, "hostPort": "a"}]])
def test_unusual_port_mappings_are_not_compared(firewall: Firewall, ports: t.Any) -> None:
    firewall.prints(EMPTY)
    assert firewall.lost(MAPPED, ports=ports) is None


def test_nothing_is_written_where_only_the_legacy_rules_can_be_listed(
    firewall: Firewall, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = ipaddress.ip_interface("10.1.0.2/16")
    parts = describe_all_masquerading(Attachment("net", "blue", "eth0"), [address], "")
    monkeypatch.setattr(iptables, "legacy_table", lambda *dummy: iptables.Table({"POSTROUTING": []}, {}))
    firewall.prints("", status=1)
    ((part, error),) = firewall_repair.write_missing(parts)
    assert (part, error.msg) == (parts[0], "iptables-save -t nat failed")
