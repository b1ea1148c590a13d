# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs run beside each other and beside ADD and DEL of other runtimes; nothing is lost, doubled or left behind."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import os
import pathlib
import random
import threading
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Resource
from ansible_collections.cni.node.plugins.module_utils._node.repair.repairer import Repairer
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    EngineNode,
    attachment,
    remove,
    wait_for_result,
)
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import (
    NETWORK,
    as_other_runtime,
    flush,
    rules,
)
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespace, namespaces
from ansible_collections.cni.node.tests.support.state import State

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

LEASES = pathlib.Path(NODE_PATHS.lease_dir, "net")
OPERATIONS = int(os.environ.get("CNI_SOAK") or ring.repetitions(outer=200, inner=30))
SEED = ring.SEED
FIREWALL = ("iptables", "ip6tables", "nftables")
AT_ONCE, STAYING, CHANGING = 4, 3, 4


def map_port(number: int, container: Namespace) -> JsonObject:
    mapping = {"hostPort": 9000 + number, "containerPort": 80, "protocol": "tcp"}
    return attachment("net", container, capability_args={"portMappings": [mapping]})


@pytest.fixture
def items(node: EngineNode) -> t.Iterator[list[JsonObject]]:
    node.write(NETWORK)
    with namespaces(*(f"busy{number}" for number in range(STAYING + CHANGING))) as made:
        yield [map_port(number, container) for number, container in enumerate(made)]


def own_rules() -> list[str]:
    return sorted(line for line in rules().splitlines() if line.startswith("-A"))


def find_repeated(lines: t.Iterable[str]) -> list[str]:
    return [line for line, count in collections.Counter(lines).items() if count > 1]


@pytest.mark.parametrize(
    ("looks", "is_own"), [(1, True), (1, False), (2, False)], ids=["own", "foreign", "between two plugins"]
)
def test_a_repair_is_undone_if_a_del_begins_meanwhile(
    node: EngineNode, items: list[JsonObject], looks: int, is_own: bool
) -> None:
    for item in items[:2]:
        node.attach(item)
        if not is_own:
            as_other_runtime(node, item)
    records = RecordStore.of_records(NODE_PATHS.state_dir).read_all()[0]
    leases = [LEASES / address for record in records for address in record.addresses]
    flush()
    for lease in leases:
        lease.unlink()
    ended = records[0].attachment
    asked: list[Record] = []

    def is_attached(record: Record) -> bool:
        """Return whether DEL has not begun: that of the first attachment begins after its rules were written.

        A DEL of another runtime may show only when its plugins have ended.
        """
        asked.append(record)
        return record.attachment != ended or asked.count(record) <= looks

    repairer = Repairer(60, NODE_PATHS.state_dir, NODE_PATHS.lease_dir, is_attached)
    first, second = repairer.compare_and_repair((record, frozenset(Resource)) for record in records)
    assert (first.reason, second.reason) == ("an operation on it has begun", "")
    assert second.repaired == second.drift
    assert [lease.exists() for lease in leases] == [False, True]
    own = [any(record.attachment.container_id in line for line in own_rules()) for record in records]
    assert own == [False, True]


def test_repair_continues_after_a_namespace_disappears(node: EngineNode, items: list[JsonObject]) -> None:
    with namespace("brief") as brief:
        for item in (map_port(99, brief), items[0]):
            node.attach(item)
            Namespace(item["netns"].rpartition("/")[2]).run("ip", "route", "delete", "default")
        records = RecordStore.of_records(NODE_PATHS.state_dir).read_all()[0]

        def is_attached(record: Record) -> bool:
            if record.attachment.container_id == brief.name and brief.path.exists():
                remove(brief)
            return True

        repairer = Repairer(60, NODE_PATHS.state_dir, NODE_PATHS.lease_dir, is_attached)
        repairs = repairer.compare_and_repair((record, frozenset(Resource)) for record in records)
        lost, other = sorted(repairs, key=lambda repair: repair.record.attachment.container_id != brief.name)
        assert lost.error is not None
        assert (other.error, other.repaired) == (None, ("the route to 0.0.0.0/0 is missing",))


@pytest.mark.parametrize("module", ["attachments", "repair"])
def test_a_failed_lock_of_repairs_is_an_error_only_of_attachments_that_need_a_repair(
    node: EngineNode, items: list[JsonObject], module: str
) -> None:
    lost, intact, new = items[:3]
    node.attach(lost, intact)
    ifindex = links(lost["container_id"])["eth0"]["ifindex"]
    Namespace(lost["container_id"]).run("ip", "route", "delete", "default")
    # A directory cannot be locked.
    (node.cache_dir / "cni.node" / "locks" / "repair").mkdir(parents=True)
    given = {"attachments": [lost, intact, new]} if module == "attachments" else {}
    done = node.run(module, **given)
    assert "cni.node/locks/repair" in done.require_failure("failed")
    actions = {entry["container_id"]: entry["action"] for entry in done.entries}
    expected = {intact["container_id"]: "checked", new["container_id"]: "added"} if given else {}
    assert actions == {lost["container_id"]: "failed", **expected}
    assert links(lost["container_id"])["eth0"]["ifindex"] == ifindex


def test_one_of_several_simultaneous_repairs_restores_the_rules(node: EngineNode, items: list[JsonObject]) -> None:
    for item in items:
        node.attach(item)
    before = own_rules()
    assert find_repeated(before) == []
    for _again in range(5):
        flush()
        running = [node.start("repair") for dummy in range(AT_ONCE)]
        done = [wait_for_result(process).succeeded() for process in running]
        assert sorted(run.result["changed"] for run in done) == [False] * (AT_ONCE - 1) + [True]
        assert own_rules() == before


def without_firewall(state: State) -> State:
    """Return a state without rules, whose order may change."""
    return State({name: lines for name, lines in state.sections.items() if name not in FIREWALL})


class Repairs:
    """Repairs that follow each other, with a loss of rules before some of them."""

    def __init__(self, node: EngineNode, seed: int) -> None:
        self._node, self._random = node, random.Random(seed)
        self._is_over = threading.Event()
        self.count = 0
        self.messages: list[str] = []

    def _run(self) -> None:
        while not self._is_over.is_set():
            if self._random.random() < 0.3:
                flush()
            done = wait_for_result(self._node.start("repair"))
            self.count += 1
            if done.status:
                self.messages.append(done.msg)

    @contextlib.contextmanager
    def run_meanwhile(self) -> t.Iterator[None]:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = pool.submit(self._run)
            try:
                yield
            finally:
                self._is_over.set()
            future.result()


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.parametrize("seed", [SEED])
def test_repairs_beside_libcni_neither_lose_nor_leak_resources(
    node: EngineNode, libcni: Libcni, items: list[JsonObject], seed: int
) -> None:
    """A flush may make a plugin's ADD or DEL fail; then libcni's caller repeats it."""
    staying, changing = items[:STAYING], items[STAYING:]
    before = node.attach_and_detach(*items)
    for item in staying:
        node.attach(item)
    expected, attached = own_rules(), node.state()
    repairs, chosen = Repairs(node, seed), random.Random(seed + 1)
    with repairs.run_meanwhile():
        present: set[str] = set()
        for _operation in range(OPERATIONS):
            item = chosen.choice(changing)
            name = item["container_id"]
            command = "DEL" if name in present else "ADD"
            (error,) = libcni.run(command, [item]).errors
            if error and command == "ADD":
                libcni.run("DEL", [item])
            elif not error:
                present ^= {name}
        for item in changing:
            libcni.run("DEL", [item])
    for item in changing:  # again, as a flush may have made it fail
        libcni.run("DEL", [item])
    assert repairs.count > 5
    assert repairs.messages == []
    node.run("repair").succeeded()
    assert own_rules() == expected
    assert without_firewall(attached).difference(without_firewall(node.state())) == ""
    node.detach(*staying)
    assert [line for line in own_rules() if "busy" in line or "10.1.0." in line] == []
    assert without_firewall(before).difference(without_firewall(node.state())) == ""
