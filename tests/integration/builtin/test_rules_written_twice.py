# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules that are there twice, as plugins that run at the same time write them, are removed as one."""

from __future__ import annotations

import json
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, firewall_state
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_repair
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, remove
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import map_port
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root]

ADDRESS = "10.1.0.2"
_IPTABLES = ("nat", "filter")


def delete(node: EngineNode, engine: Engine, item: JsonObject) -> None:
    engine.delete(item)


def undo(node: EngineNode, engine: Engine, item: JsonObject) -> None:
    record = engine.record(item)
    firewall_repair.remove_own(firewall_state(RecordedRequests(record)))


def collect(node: EngineNode, engine: Engine, item: JsonObject) -> None:
    node.record_of(item).unlink()
    remove(Namespace(item["container_id"]))
    node.run("gc", min_age=0).succeeded()


@pytest.mark.parametrize("take_away", [delete, undo, collect])
@pytest.mark.parametrize("backend", ["iptables", "nftables"])
def test_every_copy_of_a_rule_is_removed(
    node: EngineNode, here: Engine, blue: Namespace, backend: str, take_away: t.Callable[..., None]
) -> None:
    bridge = reference_networks.bridge(ipMasq=True, ipMasqBackend=backend)
    portmap = {**reference_networks.PORTMAP, "backend": backend}
    node.write(reference_networks.network(bridge, portmap, {"type": "firewall", "backend": "iptables"}))
    item = map_port(blue)
    here.add(item)
    double_rules()
    assert len(own_rules()) >= 8
    take_away(node, here, item)
    assert own_rules() == []


def own_rules() -> list[str]:
    """Return the rules that name the container or its address."""
    return [line for line in run("nft", "list", "ruleset").splitlines() if ADDRESS in line or "blue" in line]


def double_rules() -> None:
    """Write each rule that names the container once more, with each of its jumps."""
    for table in _IPTABLES:
        lines = run("iptables-save", "-t", table).splitlines()
        own = [line for line in lines if line.startswith("-A ") and (ADDRESS in line or "blue" in line)]
        run("iptables-restore", "--noflush", stdin="\n".join([f"*{table}", *own, "COMMIT", ""]))
    listed = json.loads(run("nft", "-j", "list", "ruleset"))["nftables"]
    rules = [entry["rule"] for entry in listed if entry.get("rule", {}).get("comment")]
    keys = ("family", "table", "chain", "expr", "comment")
    commands = [{"add": {"rule": {key: rule[key] for key in keys}}} for rule in rules if rule["table"] not in _IPTABLES]
    run("nft", "-j", "-f", "-", stdin=json.dumps({"nftables": commands}))


def run(*argv: str, stdin: str = "") -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, input=stdin).stdout
