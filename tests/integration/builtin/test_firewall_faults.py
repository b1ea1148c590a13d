# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""While a program of the firewall does not work, nothing succeeds without its rules, and nothing is lost or left.

Each program is broken in each way during each operation, with both backends. The inner ring takes a sample.
"""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Action, AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import FAILED, GcPolicy
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.tests.integration.builtin.networks import as_set
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.broken_programs import (
    CUT_SHORT,
    FAILS_LATE,
    FAILURES,
    HANGS,
    broken,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment, remove
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import flush
from ansible_collections.cni.node.tests.integration.engine.situations import MADE_UP
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import (
    inside,
    spare_duplicate_address_detection,
)
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.check_each import check_each
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.state import State

pytestmark = [pytest.mark.requires_root]

LIMIT = 0.5  # seconds
SAMPLED = 40  # the inner ring takes one of so many cases, and each operation with each failure
# With a single address of each family: a lost lease prevents every further ADD.
SINGLE: JsonObject = {
    "type": "host-local",
    "ranges": [
        [{"subnet": subnet, "rangeStart": address, "rangeEnd": address}]
        for subnet, address in (("10.1.0.0/24", "10.1.0.2"), ("fd00:1::/64", "fd00:1::2"))
    ],
    "routes": reference_networks.DEFAULT_ROUTES,
}
LEASES = pathlib.Path("/var/lib/cni/networks/net")
ADDRESSES = ["10.1.0.2", "fd00:1::2"]
PORTS: JsonObject = {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}


def bridge(backend: str) -> JsonObject:
    return reference_networks.bridge(ipMasq=True, ipMasqBackend=backend, macspoofchk=True, ipam=SINGLE)


def portmap(backend: str) -> JsonObject:
    return {**reference_networks.PORTMAP, "backend": backend}


NETWORKS: dict[str, list[JsonObject]] = {
    "iptables": [bridge("iptables"), portmap("iptables"), reference_networks.FIREWALL],
    "nftables": [bridge("nftables"), portmap("nftables")],
}
LISTS = {**FAILURES, "stops in the middle": CUT_SHORT}
WRITES = {**FAILURES, "fails after it has written": FAILS_LATE}


class Tool(t.NamedTuple):
    """A program, the arguments with which it fails, and those with which it still works."""

    name: str
    failures: t.Mapping[str, str]
    only: str = "*"
    but: str = "-"


def present(failures: t.Mapping[str, str]) -> dict[str, str]:
    """Return the failures of a program that is there: a part of it cannot be missing."""
    return {name: failure for name, failure in failures.items() if failure}


NFT_LISTS = "*list*"
TOOLS = {
    "iptables-save": Tool("iptables-save", LISTS),
    "iptables-restore": Tool("iptables-restore", WRITES),
    "ip6tables-save": Tool("ip6tables-save", LISTS),
    "ip6tables-restore": Tool("ip6tables-restore", WRITES),
    "nft": Tool("nft", {"missing": FAILURES["missing"]}),
    "nft that lists": Tool("nft", present(LISTS), only=NFT_LISTS),
    "nft that writes": Tool("nft", present(WRITES), but=NFT_LISTS),
}


class Case(t.NamedTuple):
    operation: str
    tool: Tool
    failure: str


class Bench:
    """A node with a network whose rules are in one backend, its container, and what the node is like with and without it."""

    def __init__(self, node: EngineNode, blue: Namespace, backend: str, scratch: pathlib.Path) -> None:
        self.node, self.blue = node, blue
        self._scratch = scratch
        self.engine = Engine(node, "always")
        node.write(reference_networks.network(*NETWORKS[backend]))
        self.item = attachment("net", blue, capability_args=PORTS)
        self.backend = backend
        self.attach()
        self.detach()
        self.without = self.state()
        self.attach()
        self.complete = self.state()
        self.detach()

    def state(self) -> State:
        """Return the node's state, with what is recorded of the container."""
        sections = as_set(self.node.state()).sections
        records = [self.node.record_of(self.item).exists(), *(path.name for path in self.node.intents())]
        sections = {**sections, "records": [str(record) for record in records]}
        if self.backend != "nftables":  # nft cannot show all rules of iptables, which are compared above
            sections["nftables"] = [line for line in sections["nftables"] if "macspoofchk" in line]
        return State({name: [MADE_UP.sub("*", line) for line in lines] for name, lines in sections.items()})

    @contextlib.contextmanager
    def break_program(self, case: Case) -> t.Iterator[None]:
        """Break a program for the block; one that hangs is given a short time."""
        tool, failure = case.tool, case.tool.failures[case.failure]
        with pytest.MonkeyPatch.context() as patch:
            if failure == HANGS:
                patch.setattr(program, "TIMEOUT", LIMIT)
            with broken(tool.name, self._scratch, failure, only=tool.only, but=tool.but):
                yield

    def attach(self) -> None:
        assert self.add().error is None

    def add(self) -> AttachmentResult:
        return self.engine.ensure(self.item, check="never")

    def detach(self) -> None:
        outcome = self.engine.ensure(self.item, present=False)
        assert outcome.error is None, outcome.error

    def lose_namespace(self) -> None:
        remove(self.blue)

    def restore_namespace(self) -> None:
        subprocess.run(["ip", "netns", "add", self.blue.name], check=True)
        with inside(self.blue.path):
            spare_duplicate_address_detection()

    def run(self, case: Case) -> None:
        """Run a case; after a failure, clean the node for the next case."""
        try:
            OPERATIONS[case.operation](self, case)
        except Exception:
            self._clean()
            raise

    def _clean(self) -> None:
        self.engine.ensure(self.item, present=False)
        flush()
        for directory in (LEASES, self.node.cache_dir / "results"):
            shutil.rmtree(directory, ignore_errors=True)
        self.attach()  # which makes what containers share
        self.detach()

    def collect(self) -> list[str]:
        """Run gc and return its errors."""
        networks = conf_dir.load(str(self.node.conf_dir))
        policy = GcPolicy(0, dry_run=False)
        cache_dir = str(self.node.cache_dir)
        leaks = Collector(self.engine.runtime, cache_dir, networks, ValidAttachments(), policy, 5).collect(())
        return [f"{leak.subject}: {leak.error}" for leak in leaks if leak.action == FAILED]

    def repair(self) -> list[str]:
        """Run a repair and return why it is not complete."""
        repairs, errors = repair_node(NODE_PATHS, str(self.node.cache_dir), 60, Selection(), dry_run=False)
        assert errors == []
        return [
            str(done.error or done.reason or done.left) for done in repairs if done.error or done.reason or done.left
        ]

    def leases(self) -> list[str]:
        names = {path.name for path in LEASES.glob("*")}
        return sorted(name for name in names if name != "lock" and not name.startswith("last_reserved_ip"))

    def require_without(self) -> None:
        assert self.without.difference(self.state()) == ""

    def require_complete(self) -> None:
        assert self.complete.difference(self.state()) == ""

    def require_kept(self) -> None:
        assert (self.node.record_of(self.item).exists(), self.leases()) == (True, ADDRESSES)

    def require_no_rule_without_lease(self) -> None:
        """Require that no rule leads to an address without a lease, which may be another container's next."""
        if self.leases() != ADDRESSES:
            sections = self.state().sections
            left = {name: sections[name] for name in ("iptables", "ip6tables", "nftables")}
            assert [
                line for lines in left.values() for line in lines if "10.1.0.2" in line or "fd00:1::2" in line
            ] == []


def add(bench: Bench, case: Case) -> None:
    """Require that ADD makes every rule, or fails and leaves at most what the next run undoes."""
    with bench.break_program(case):
        outcome = bench.add()
    if outcome.error is None:
        bench.require_complete()
    else:
        if not bench.node.intents():
            bench.require_without()
        bench.require_no_rule_without_lease()
    bench.attach()
    bench.require_complete()
    bench.detach()
    bench.require_without()


def check(bench: Bench, case: Case) -> None:
    """Require that a check of a complete attachment changes nothing, whether it succeeds or fails."""
    bench.attach()
    with bench.break_program(case):
        outcome = bench.engine.ensure(bench.item, check="always")
    assert outcome.action in (Action.CHECKED, Action.FAILED)
    bench.require_complete()
    bench.detach()
    bench.require_without()


def check_incomplete(bench: Bench, case: Case) -> None:
    """Require that no check succeeds if rules are missing."""
    bench.attach()
    flush()
    with bench.break_program(case):
        assert bench.engine.ensure(bench.item, check="always", on_drift="fail").error is not None
    assert bench.engine.ensure(bench.item, check="always").action is Action.REPAIRED
    bench.require_complete()
    bench.detach()
    bench.require_without()


def converge(bench: Bench, case: Case) -> None:
    """Require that a run writes missing rules, or fails; the attachment stays."""
    bench.attach()
    flush()
    with bench.break_program(case):
        outcome = bench.engine.ensure(bench.item, check="always")
    if outcome.error is None:
        bench.require_complete()
    bench.require_kept()
    assert bench.engine.ensure(bench.item, check="always").error is None
    bench.require_complete()
    bench.detach()
    bench.require_without()


def delete(bench: Bench, case: Case) -> None:
    """Require that DEL removes everything, or fails and keeps record and leases for the next one."""
    bench.attach()
    with bench.break_program(case):
        outcome = bench.engine.ensure(bench.item, present=False)
    if outcome.error is None:
        bench.require_without()
    else:
        bench.require_kept()
    bench.detach()
    bench.require_without()


def delete_without_namespace(bench: Bench, case: Case) -> None:
    bench.attach()
    bench.lose_namespace()
    try:
        with bench.break_program(case):
            outcome = bench.engine.ensure(bench.item, present=False)
        if outcome.error is None:
            assert bench.leases() == []
        else:
            bench.require_kept()
        bench.require_no_rule_without_lease()
        bench.detach()
    finally:
        bench.restore_namespace()
    bench.require_without()


def repair(bench: Bench, case: Case) -> None:
    """Require that a repair puts every rule back, or says what is missing."""
    bench.attach()
    flush()
    with bench.break_program(case):
        problems = bench.repair()
    if not problems:
        bench.require_complete()
    bench.require_kept()
    assert bench.repair() == []
    bench.require_complete()
    bench.detach()
    bench.require_without()


def collect(bench: Bench, case: Case) -> None:
    """Require that gc deletes a lost attachment as a whole, or keeps its record and its leases."""
    bench.attach()
    bench.lose_namespace()
    try:
        with bench.break_program(case):
            errors = bench.collect()
        if bench.node.record_of(bench.item).exists():
            assert errors
            bench.require_kept()
        bench.require_no_rule_without_lease()
        assert bench.collect() == []
    finally:
        bench.restore_namespace()
    bench.require_without()


def collect_unrecorded(bench: Bench, case: Case) -> None:
    """Require that gc frees no address without a record while a rule may lead to it."""
    bench.attach()
    bench.node.record_of(bench.item).unlink()
    bench.lose_namespace()
    try:
        with bench.break_program(case):
            bench.collect()
        bench.require_no_rule_without_lease()
        assert bench.collect() == []
    finally:
        bench.restore_namespace()
    bench.require_without()


Operation = t.Callable[[Bench, Case], None]
OPERATIONS: dict[str, Operation] = {
    "ADD": add,
    "CHECK": check,
    "CHECK without rules": check_incomplete,
    "run without rules": converge,
    "DEL": delete,
    "DEL without its namespace": delete_without_namespace,
    "repair": repair,
    "gc": collect,
    "gc without a record": collect_unrecorded,
}


def cases(tools: t.Mapping[str, Tool], inner: int) -> dict[str, Case]:
    """Return all combinations in the outer ring, and a sample in the inner one."""
    every = {
        f"{operation}, {name} {failure}": Case(operation, tool, failure)
        for operation, (name, tool) in itertools.product(OPERATIONS, tools.items())
        for failure in tool.failures
    }
    chosen = ring.sample(list(every.items()), inner, key=lambda entry: entry[1].operation, seed=1)
    return dict(chosen)


@pytest.mark.parametrize("backend", ["iptables", "nftables"])
def test_nothing_succeeds_without_its_rules_while_a_program_is_broken(
    node: EngineNode, blue: Namespace, tmp_path: pathlib.Path, backend: str
) -> None:
    bench = Bench(node, blue, backend, tmp_path)
    check_each(cases(TOOLS, SAMPLED), bench.run)
