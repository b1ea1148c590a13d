# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After any loss of firewall rules, a repair names it and makes the rules what they were."""

from __future__ import annotations

import collections
import os
import random
import re
import shlex
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import as_other_runtime, flush
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespaces

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

# `CNI_SOAK=1000 ... test_repair_soak.py` is the long run; the test's name has the seed that repeats it.
LOSSES = int(os.environ.get("CNI_SOAK") or ring.repetitions(outer=200, inner=20))
SEED = ring.SEED
CONTAINERS = 4
DUAL_STACK = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64")
IPTABLES = reference_networks.network(
    reference_networks.bridge(ipMasq=True, macspoofchk=True, ipam=DUAL_STACK),
    reference_networks.PORTMAP,
    {**reference_networks.FIREWALL, "ingressPolicy": "same-bridge"},
)
# Plugins that know no backend write iptables; after the first loss, a repair writes what the configuration says.
NFTABLES = reference_networks.network(
    reference_networks.bridge(
        bridge="cni1",
        ipMasq=True,
        ipMasqBackend="nftables",
        ipam=reference_networks.host_local("10.2.0.0/16", "fd00:2::/64"),
    ),
    {**reference_networks.PORTMAP, "backend": "nftables"},
    name="modern",
)
TOOLS = ("iptables", "ip6tables")
OTHERS = (
    "-t nat -A POSTROUTING -o other -j ACCEPT",
    "-t nat -A PREROUTING -i other -j ACCEPT",
    "-A FORWARD -i other -j DROP",
)
OWN_CHAIN = re.compile(r"CNI-(DN-)?[0-9a-f]{20,}")

Chains = dict[tuple[str, str, str], list[str]]


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def iptables_chains() -> Chains:
    """Return the rules by tool, table and chain."""
    chains: Chains = collections.defaultdict(list)
    for tool in TOOLS:
        table = ""
        for line in output(f"{tool}-save").splitlines():
            table = line[1:] if line.startswith("*") else table
            if line.startswith("-A"):
                chains[tool, table, line.split()[1]].append(line)
    return chains


def nftables_chains() -> Chains:
    """Return the rules, with their handles, by family, table and chain of the tables that have no form in iptables."""
    chains: Chains = collections.defaultdict(list)
    place = ("", "", "")
    for line in map(str.strip, output("nft", "-s", "-a", "list", "ruleset").splitlines()):
        words = line.split()
        if words[:1] == ["table"]:
            place = (words[1], words[2], "")
        elif words[:1] == ["chain"]:
            place = (*place[:2], words[1])
        elif "# handle" in line and (place[1].startswith("cni_") or place[0] == "bridge"):
            chains[place].append(line)
    return chains


def is_foreign(line: str) -> bool:
    return " other " in line


def comparable() -> Chains:
    """Return the rules of containers: in order for the chains of one container, as sets for shared chains."""
    everything = {
        **iptables_chains(),
        **{key: [line.partition(" # ")[0] for line in lines] for key, lines in nftables_chains().items()},
    }
    own = {key: [line for line in lines if not is_foreign(line)] for key, lines in everything.items()}
    return {key: lines if OWN_CHAIN.match(key[2]) else sorted(lines) for key, lines in own.items() if lines}


def foreign() -> Chains:
    return {
        key: kept for key, lines in iptables_chains().items() if (kept := [line for line in lines if is_foreign(line)])
    }


class Losses:
    """Random losses of rules, as administrators and other programs cause them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._kinds = (
            [self._rule] * 4
            + [self._jump] * 2
            + [
                self._chain,
                self._nft_rule,
                self._nft_rule,
                self._nft_chain,
                self._table,
                self._restore,
                self._everything,
            ]
        )

    def happen(self) -> list[str]:
        """Lose something, or several things; return what."""
        count = 1 if self._random.random() < 0.6 else self._random.randint(2, 8)
        return [text for text in (self._random.choice(self._kinds)() for _again in range(count)) if text]

    def _pick(self, choices: t.Iterable[t.Any]) -> list[t.Any]:
        """Return one of the choices, or an empty list if there are none."""
        listed = list(choices)
        return [self._random.choice(listed)] if listed else []

    def _delete(self, *, built_in: bool) -> str:
        found = self._pick(
            (key, line)
            for key, lines in iptables_chains().items()
            for line in lines
            if not is_foreign(line) and (built_in <= (not key[2].startswith("CNI-")))
        )
        if not found:
            return ""
        (tool, table, _chain), line = found[0]
        output(tool, "-t", table, "-D", *shlex.split(line)[1:])
        return f"{tool} -t {table} -D {line[3:]}"

    def _rule(self) -> str:
        return self._delete(built_in=False)

    def _jump(self) -> str:
        return self._delete(built_in=True)

    def _chain(self) -> str:
        for tool, table, chain in self._pick(key for key in iptables_chains() if key[2].startswith("CNI-")):
            output(tool, "-t", table, "-F", chain)
            return f"{tool} -t {table} -F {chain}"
        return ""

    def _nft_rule(self) -> str:
        """Delete a rule with an owner, or a jump; the other rules of a table's frame are written again with these."""
        found = self._pick(
            (key, line)
            for key, lines in nftables_chains().items()
            for line in lines
            if "comment" in line or "goto" in line or "hostports_all" in line
        )
        if not found:
            return ""
        key, line = found[0]
        output("nft", "delete", "rule", *key, "handle", line.rpartition(" ")[2])
        return f"nft delete rule {' '.join(key)}: {line}"

    def _nft_chain(self) -> str:
        for chain in self._pick(nftables_chains()):
            output("nft", "flush", "chain", *chain)
            return f"nft flush chain {' '.join(chain)}"
        return ""

    def _table(self) -> str:
        for table in self._pick(line.split()[1:] for line in output("nft", "list", "tables").splitlines()):
            output("nft", "delete", "table", *table)
            return f"nft delete table {' '.join(table)}"
        return ""

    def _restore(self) -> str:
        tool = self._random.choice(TOOLS)
        saved = [
            line for line in output(f"{tool}-save").splitlines() if "CNI-" not in line and not OWN_CHAIN.search(line)
        ]
        subprocess.run([f"{tool}-restore"], input="\n".join([*saved, ""]), text=True, check=True)
        return f"{tool}-restore"

    def _everything(self) -> str:
        flush()
        return "nft flush ruleset"


def items_for(made: t.Sequence[Namespace]) -> list[JsonObject]:
    def mapping(number: int, **keys: t.Any) -> JsonObject:
        return {"hostPort": 9000 + number, "containerPort": 80, "protocol": "tcp", **keys}

    return [
        attachment(
            "modern" if number % 2 else "net",
            container,
            capability_args={
                "portMappings": [
                    mapping(number),
                    mapping(number + 100, protocol="udp"),
                    mapping(number + 200, hostIP="192.0.2.1"),
                ]
            },
        )
        for number, container in enumerate(made)
    ]


def repair(node: EngineNode) -> list[Repair]:
    repairs, errors = repair_node(NODE_PATHS, str(node.cache_dir), 60, Selection(), dry_run=False)
    assert (errors, [done.error for done in repairs if done.error]) == ([], [])
    assert [done.left for done in repairs if done.left] == []
    return repairs


@pytest.mark.slow
@pytest.mark.parametrize("seed", [SEED])
def test_every_loss_is_named_and_repaired(node: EngineNode, seed: int) -> None:
    node.write(IPTABLES)
    node.write(NFTABLES)
    with namespaces(*(f"soak{number}" for number in range(CONTAINERS))) as made:
        items = items_for(made)
        for number, item in enumerate(items):
            node.attach(item)
            if number > 1:
                as_other_runtime(node, item)
        flush()
        repair(node)
        before = comparable()
        assert {key[1] for key in before} >= {"nat", "filter", "cni_plugins_masquerade", "cni_hostport"}
        losses = Losses(seed)
        for number in range(LOSSES):
            for rule in OTHERS:
                if not any(rule.split("-A ")[1] in line for lines in foreign().values() for line in lines):
                    output("iptables", *rule.split())
            lost = losses.happen()
            where, others = f"loss {number} of seed {seed}: {lost}", foreign()
            is_different = comparable() != before
            repairs = repair(node)
            assert comparable() == before, where
            assert foreign() == others, where
            assert any(done.drift and done.repaired == done.drift for done in repairs) == is_different, where
