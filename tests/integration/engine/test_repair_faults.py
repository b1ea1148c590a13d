# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program of the firewall that fails is reported for each attachment that needs it; all other rules are repaired."""

from __future__ import annotations

import pathlib
import subprocess
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair
from ansible_collections.cni.node.tests.integration.engine import broken_programs, reference_networks
from ansible_collections.cni.node.tests.integration.engine.broken_programs import broken
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import flush, map_port
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace
from ansible_collections.cni.node.tests.support.state import node_state

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

NETWORK = reference_networks.network(
    reference_networks.bridge(
        ipMasq=True, macspoofchk=True, ipam=reference_networks.host_local("10.1.0.0/16", "fd00:1::/64")
    ),
    reference_networks.PORTMAP,
    reference_networks.FIREWALL,
)
TOOLS = {"iptables-restore": "iptables", "ip6tables-restore": "ip6tables", "nft": "nftables"}
FAILURES = {name: broken_programs.FAILURES[name] for name in ("missing", "fails", "hangs")}
LISTS = "*list*"  # nft can still list rules
# Without nft, no rule of nftables can be compared.
CASES = [(tool, failure) for tool in TOOLS for failure in FAILURES if (tool, failure) != ("nft", "missing")]
LIMIT = 1.0  # seconds


@pytest.fixture
def attached(node: EngineNode, blue: Namespace) -> t.Iterator[list[JsonObject]]:
    node.write(NETWORK)
    with namespace("green") as green:
        items = [map_port(blue), map_port(green, 1)]
        for item in items:  # one after the other: plugins that run at the same time write shared rules twice
            node.attach(item)
        yield items


def repair(node: EngineNode) -> list[Repair]:
    repairs, errors = repair_node(NODE_PATHS, str(node.cache_dir), 60, Selection(), dry_run=False)
    assert errors == []
    return repairs


def firewall() -> dict[str, list[str]]:
    """Return the rules of containers by tool, in any order, because that of attachments may change."""
    sections = node_state().sections
    tables = subprocess.run(["nft", "list", "tables", "bridge"], capture_output=True, text=True, check=True).stdout
    lists = {tool: [line for line in sections[tool] if line.startswith("-A")] for tool in ("iptables", "ip6tables")}
    spoof_checks = [line for line in sections["nftables"] if "macspoofchk" in line] if tables else []
    return {tool: sorted(lines) for tool, lines in {**lists, "nftables": spoof_checks}.items()}


@pytest.mark.parametrize(("tool", "failure"), CASES)
def test_rules_of_working_tools_are_repaired_and_the_failing_tool_is_named(
    node: EngineNode,
    attached: list[JsonObject],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    failure: str,
) -> None:
    before = firewall()
    assert all(before.values())
    flush()
    monkeypatch.setattr(program, "TIMEOUT", LIMIT)
    with broken(tool, tmp_path, FAILURES[failure], but=LISTS):
        started = time.monotonic()
        repairs = repair(node)
        assert time.monotonic() - started < 10 * LIMIT
        for done in repairs:
            assert done.error
            assert tool in done.error.msg
            assert done.left
            assert done.changes
    assert firewall() == {**before, TOOLS[tool]: []}
    assert [(done.error, done.left) for done in repair(node)] == [(None, ())] * len(attached)
    assert firewall() == before


def test_a_node_without_tools_for_ipv6_is_repaired_without_an_error(
    node: EngineNode, attached: list[JsonObject], tmp_path: pathlib.Path
) -> None:
    before = firewall()
    flush()
    with broken("ip6tables-restore", tmp_path, broken_programs.MISSING) as path:
        path.with_name("ip6tables-save").unlink()
        assert [(done.error, done.left) for done in repair(node)] == [(None, ())] * len(attached)
    assert firewall() == {**before, "ip6tables": []}


def test_rules_that_cannot_be_listed_are_named_and_all_others_are_repaired(
    node: EngineNode, attached: list[JsonObject], tmp_path: pathlib.Path
) -> None:
    before = firewall()
    why = "its rules cannot be compared: iptables-save"
    with broken("iptables-save", tmp_path, FAILURES["fails"]):
        untouched = repair(node)
        subprocess.run(["ip6tables", "-t", "nat", "-F"], check=True)
        repaired = repair(node)
    for done in (*untouched, *repaired):
        assert done.error is None
        assert done.reason.startswith(why)
        assert "the kernel refuses" in done.reason
    assert [done.drift for done in untouched] == [()] * len(attached)
    assert all(done.repaired for done in repaired)
    assert firewall() == before
