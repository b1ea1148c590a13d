# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Missing rules of plugins 1.9.1 in nftables: rules, the jumps that lead to them, and base chains.

The file beside this one is what ``nft -j list ruleset`` printed after bridge and portmap of 1.9.1 had made them for one
container, with ipMasqBackend and backend nftables, and with macspoofchk.
"""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.rule_drift import find_drift

RULESET: list[JsonObject] = json.loads(
    pathlib.Path(__file__).with_name("nftables_1_9_1.json").read_text(encoding="utf-8")
)["nftables"]

BRIDGE: JsonObject = {"type": "bridge", "ipMasq": True, "ipMasqBackend": "nftables", "macspoofchk": True}
PORTMAP: JsonObject = {"type": "portmap", "backend": "nftables", "capabilities": {"portMappings": True}}
PORTS = [
    {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
    {"hostPort": 8081, "containerPort": 81, "protocol": "udp", "hostIP": "10.1.0.1"},
]
RESULT: JsonObject = {
    "cniVersion": "1.0.0",
    "interfaces": [
        {"mac": "72:48:5e:36:fb:ae", "name": "cni0"},
        {"mac": "26:53:8c:b0:12:e7", "name": "veth7a514ad3"},
        {"mac": "42:2f:d9:ea:39:2d", "name": "eth0", "sandbox": "/run/netns/blue"},
    ],
    "ips": [
        {"address": "10.1.0.2/16", "gateway": "10.1.0.1", "interface": 2},
        {"address": "fd00:1::2/64", "gateway": "fd00:1::1", "interface": 2},
    ],
}
PROGRAM = """\
#!/bin/sh
shift
exec /bin/cat "{directory}/$*"
"""


class FakeNft:
    """A node with a fake nft that lists given tables, and an attachment that needs their rules."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._records = RecordStore(str(directory / "results"))
        path = directory / "nft"
        path.write_text(PROGRAM.format(directory=directory), encoding="utf-8")
        path.chmod(0o755)

    def lost(self, entries: t.Sequence[JsonObject], *plugins: JsonObject, mac: str = "") -> tuple[str, ...] | None:
        self._print(entries)
        document = {"cniVersion": "1.0.0", "name": "net", "plugins": plugins or [BRIDGE, PORTMAP]}
        network = config.parse(json.dumps(document).encode(), "net")
        attachment = Attachment("net", "blue", "eth0", "/run/netns/blue", {}, {"portMappings": PORTS})
        result = json.loads(json.dumps(RESULT))
        result["interfaces"][2].update({"mac": mac} if mac else {})
        record = Record(attachment, network.content, Result("1.0.0", result))
        self._records.write(record)
        drift = find_drift(RecordedRequests(record), NodeView(), self._records)
        return drift.messages if drift.parts else None

    def _print(self, entries: t.Sequence[JsonObject]) -> None:
        tables = [entry for entry in entries if "table" in entry]
        self._write("list tables", tables)
        for table in (table["table"] for table in tables):
            place = (table["family"], table["name"])
            self._write(
                f"list table {table['family']} {table['name']}", [entry for entry in entries if _place(entry) == place]
            )

    def _write(self, name: str, entries: t.Sequence[JsonObject]) -> None:
        (self._directory / name).write_text(json.dumps({"nftables": list(entries)}), encoding="utf-8")


def _place(entry: JsonObject) -> tuple[str, str]:
    (what,) = entry.values()
    return what.get("family", ""), what.get("table", "")


@pytest.fixture
def node(program_dir: pathlib.Path) -> FakeNft:
    return FakeNft(program_dir)


def without(family: str, chain: str, *words: str) -> list[JsonObject]:
    """Return the ruleset without the rules of a chain that have these words; without words, remove the chain too."""

    def is_gone(entry: JsonObject) -> bool:
        rule, whole = entry.get("rule"), entry.get("chain", {})
        if rule and (rule["family"], rule["chain"]) == (family, chain):
            return all(word in json.dumps(rule["expr"]) for word in words)
        return not words and (whole.get("family"), whole.get("name")) == (family, chain)

    remaining = [entry for entry in RULESET if not is_gone(entry)]
    assert len(remaining) < len(RULESET)
    return remaining


def jump(hook: str, family: str = "ip") -> str:
    return f"the jump from {hook} to the chain hostports of {family} cni_hostport is gone"


MASQUERADED = "a rule to masquerade connections to the mapped ports of {} is gone"
UNMASQUERADED = "the jump from postrouting to the chain masq_checks of inet cni_plugins_masquerade is gone"
CHECK = "cni-br-iface-blue-eth0"
UNCHECKED = f"the chain {CHECK} lacks rules to check MACs"
UNREACHED = f"the rule that leads to the chain {CHECK} is gone"
UNRULED: dict[str, tuple[list[JsonObject], tuple[str, ...]]] = {
    "jump of prerouting": (without("ip", "prerouting", "hostports_all"), (jump("prerouting"),)),
    "prerouting": (without("ip", "prerouting"), (jump("prerouting"),)),
    "jump of output": (without("ip", "output", "hostports_all"), (jump("output"),)),
    "output of IPv6": (without("ip6", "output"), (jump("output", "ip6"),)),
    "jump between chains": (without("ip", "hostports_all", '"hostports"'), (jump("prerouting"),)),
    "masquerading of the node": (without("ip", "masquerading", "127.0.0.1"), (MASQUERADED.format("10.1.0.2"),)),
    "masquerading of itself": (without("ip6", "masquerading", "fd00:1::2"), (MASQUERADED.format("fd00:1::2"),)),
    "masquerading": (without("ip", "masquerading"), (MASQUERADED.format("10.1.0.2"),)),
    "jump of postrouting": (without("inet", "postrouting", "masq_checks"), (UNMASQUERADED,)),
    "postrouting": (without("inet", "postrouting"), (UNMASQUERADED,)),
    "jump of a check": (without("bridge", "PREROUTING", CHECK), (UNREACHED,)),
    "base chain of checks": (without("bridge", "PREROUTING"), (UNREACHED,)),
    "jump to the MACs": (without("bridge", CHECK, "mac"), (UNCHECKED,)),
    "rule for the MAC": (without("bridge", f"{CHECK}-mac", "saddr"), (UNCHECKED,)),
    "rule to drop": (without("bridge", f"{CHECK}-mac", "drop"), (UNCHECKED,)),
}


def test_rules_of_the_plugins_are_not_drift(node: FakeNft) -> None:
    assert node.lost(RULESET) == ()


@pytest.mark.parametrize(("entries", "missing"), UNRULED.values(), ids=UNRULED)
def test_missing_rules_are_named(node: FakeNft, entries: list[JsonObject], missing: tuple[str, ...]) -> None:
    assert node.lost(entries) == missing


def test_a_missing_table_is_named_by_its_rules(node: FakeNft) -> None:
    remaining = [
        entry for entry in RULESET if _place(entry)[0] != "bridge" and entry.get("table", {}).get("family") != "bridge"
    ]
    assert node.lost(remaining) == (UNREACHED,)


def test_a_chain_may_be_reached_directly(node: FakeNft) -> None:
    """Plugins 1.6.0 jump to the chain hostports directly."""
    ruleset = json.loads(json.dumps(RULESET).replace('"target": "hostports_all"', '"target": "hostports"'))
    assert node.lost(ruleset) == ()


def test_no_masquerade_rule_is_expected_without_snat(node: FakeNft) -> None:
    assert node.lost(without("ip", "masquerading"), BRIDGE, {**PORTMAP, "snat": False}) == ()


def test_a_mac_that_tuning_has_set_is_not_the_one_that_is_checked(node: FakeNft) -> None:
    mac = "02:00:00:00:00:07"
    assert node.lost(RULESET, BRIDGE, {"type": "tuning", "mac": mac}, PORTMAP, mac=mac) == ()
    assert node.lost(RULESET, mac=mac) == (UNCHECKED,)


def test_a_node_without_nft_reports_no_missing_checks(node: FakeNft, tmp_path: pathlib.Path) -> None:
    (tmp_path / "nft").unlink()
    assert node.lost(RULESET) is None
