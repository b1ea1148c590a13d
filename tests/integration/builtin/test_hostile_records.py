# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever a record claims, nothing of the node and nothing of another container changes.

The inner ring tries some hundred records, the outer ring 20,000. `CNI_SEED` repeats them.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment, Policy
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import restore
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import Collector
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import ValidAttachments
from ansible_collections.cni.node.plugins.module_utils._node.info import inventory
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor
from ansible_collections.cni.node.tests.integration.builtin.hostile_records import Generator, Surroundings, file_name
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    PLUGIN_DIRS,
    Engine,
    EngineNode,
    attachment,
)
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import empty_node, inside
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespace
from ansible_collections.cni.node.tests.support.state import State, network_state, node_state, tree_lines

pytestmark = [pytest.mark.requires_root]

RECORDS = ring.repetitions(20_000, 300)
# The outer ring searches; the inner one repeats what holds.
SEED = ring.SEED if ring.IS_OUTER else 1
BATCH = 20
LIMIT = 1  # seconds for an operation and for a lock
ELSEWHERE = pathlib.Path("/run/elsewhere")
PORTS: JsonObject = {"portMappings": [{"hostPort": 8081, "containerPort": 80, "protocol": "tcp"}]}
OWN_RULE = "-A FORWARD -s 10.7.0.0/16 -j DROP"
# Rules of the victim, the node's own included, have to stay; a record may have had more.
RULES = ("iptables", "ip6tables", "nftables")
# The node's end of the pair that the records' own container has: they may change it.
OWN_END = "veth0"
# Records name it as their bridge. One that is added again as recorded makes it, and bridges stay by design.
NEW_BRIDGE = "eth0"
OWN_LINKS = ("lo", "up0", "world", "br0", "all", "default")


class NodeWithNeighbours:
    """A node with links and files of its own, with a container of another network, and with the container of the records."""

    def __init__(self, node: EngineNode, green: Namespace, blue: Namespace) -> None:
        self.node, self.green, self.blue = node, green, blue
        reference_networks.make_uplink()
        for command in (
            "ip link add br0 type bridge",
            "ip address add 10.7.0.1/16 dev br0",
            "ip link set br0 up",
            "ip route add 10.8.0.0/16 via 10.4.255.2",
            f"iptables {OWN_RULE}",
        ):
            subprocess.run(command.split(), check=True)
        self.make_own_link()
        pathlib.Path("/run/netns/node").touch()
        subprocess.run(["mount", "--bind", "/proc/self/ns/net", "/run/netns/node"], check=True)
        for directory in (ELSEWHERE, ELSEWHERE / "net", ELSEWHERE / "other"):
            directory.mkdir(exist_ok=True)
            for name in ("10.1.0.2", "10.1.0.77", "blue-eth0.json", "hostile0_eth0.json", "lock"):
                (directory / name).write_text("hostile0\r\neth0", encoding="ascii")
        chain = [reference_networks.bridge(ipMasq=True), reference_networks.PORTMAP, reference_networks.FIREWALL]
        node.write(reference_networks.network(*chain))
        self.item = attachment("net", green, capability_args=PORTS)
        Engine(node, "always").add(self.item)
        self.runtime = Runtime(make_executor(PLUGIN_DIRS, LIMIT, builtin="always"), str(node.cache_dir), LIMIT)
        self.results = node.cache_dir / "results"

    def make_own_link(self) -> None:
        """Make the interface of the records' own container, unless it is there."""
        if OWN_END in links():
            return
        for command in (
            f"ip link add {OWN_END} type veth peer name eth0 netns blue",
            f"ip link set {OWN_END} up",
            "ip -n blue link set eth0 up",
            "ip -n blue address add 10.1.0.77/16 dev eth0",
        ):
            subprocess.run(command.split(), check=True)

    def surroundings(self) -> Surroundings:
        here, there = links(), links(self.green.name)
        macs = [link["address"] for each in (here, there, links(self.blue.name)) for link in each.values()]
        paths = ["/run/netns/blue", "/run/netns/green", "/run/netns/node", "/proc/1/ns/net", "/proc/self/ns/net"]
        addresses = ["10.1.0.2/16", "10.1.0.1/16", "10.1.0.77/16", "10.7.0.1/16", "10.4.255.2/16", "127.0.0.1/8"]
        directories = [str(ELSEWHERE), "/var/lib/cni/networks", "/var/lib/cni/results", "/etc", "/run/netns"]
        return Surroundings(
            [*here, NEW_BRIDGE], macs, [*paths, "/run/netns/gone", ""], addresses, directories, addresses[2:]
        )

    def state(self) -> State:
        """Return everything that belongs to the node and to other containers."""
        node = node_state().sections
        sections = {name: node[name] for name in ("links", "routes", "routing rules", *RULES, "leases")}
        with inside(self.green.path):
            sections.update({f"{part} of green": lines for part, lines in network_state().sections.items()})
        sections["files"] = tree_lines(ELSEWHERE)
        sections["record"] = [line for line in tree_lines(self.results) if "green" in line]
        sections["namespaces"] = [name for name in node["namespaces"] if name in ("green", "blue", "node")]
        sections["settings"] = [
            f"{path} {path.read_text(encoding='ascii').strip()}"
            for family in ("ipv4", "ipv6")
            for link in OWN_LINKS
            for path in sorted(pathlib.Path(f"/proc/sys/net/{family}/conf/{link}").glob("*"))
            if path.stat().st_mode & 0o400 and path.name != "stable_secret"
        ]
        return State(sections).without(rf"^{OWN_END} ")

    def process(self, records: t.Sequence[JsonObject]) -> None:
        """Let everything that reads records read these, and then delete their attachments."""
        self.make_own_link()
        for record in records:
            name = file_name(record)
            if name:
                (self.results / name).write_text(json.dumps(record), encoding="utf-8")
        cache_dir = str(self.node.cache_dir)
        networks = conf_dir.load(str(self.node.conf_dir))
        inventory.list_attachments(cache_dir, str(self.node.conf_dir), NODE_PATHS.lease_dir, drift=True)
        for dry_run in (True, False):
            repair_node(NODE_PATHS, cache_dir, LIMIT, Selection(), dry_run=dry_run)
        found = [
            record
            for record in RecordStore.of_records(cache_dir).read_all()[0]
            if record.attachment.container_id != self.green.name
        ]
        for stored in found:
            with contextlib.suppress(CniError):
                self.runtime.check(stored)
        attachments = [stored.attachment for stored in found]
        # An operator requests attachments of the own container only, and removes all.
        own = [each for each in attachments if each.netns == str(self.blue.path)]
        for wanted, is_present in ((own, True), (attachments[::2], False)):
            desired = [DesiredAttachment(each, is_present) for each in wanted]
            reconcile_all(Reconciler(self.runtime, networks, Policy()), desired, 1)
        for dry_run in (True, False):
            collector = Collector(self.runtime, cache_dir, networks, ValidAttachments(), GcPolicy(0, dry_run), LIMIT)
            with contextlib.suppress(CniError):
                collector.collect(())
        restore(cache_dir, 1, NODE_PATHS)
        self._forget(records)

    def _forget(self, records: t.Sequence[JsonObject]) -> None:
        """Remove what is left of the records, and the attachments that were restored."""
        networks = conf_dir.load(str(self.node.conf_dir))
        left = [
            record.attachment
            for record in RecordStore.of_records(str(self.node.cache_dir)).read_all()[0]
            if record.attachment.container_id != self.green.name
        ]
        reconcile_all(
            Reconciler(self.runtime, networks, Policy()), [DesiredAttachment(each, False) for each in left], 1
        )
        for path in self.results.glob("*"):
            if path.name != self.node.record_of(self.item).name:
                path.unlink() if path.is_file() else shutil.rmtree(path)
        # A repair writes the lease of a record; DEL that fails keeps it.
        for lease in pathlib.Path(NODE_PATHS.lease_dir).glob("*/*"):
            if lease.is_file() and lease.read_bytes().startswith(b"hostile"):
                lease.unlink()
        shutil.rmtree(self.node.cache_dir / "cni.node" / "intents", ignore_errors=True)
        (self.node.cache_dir / "cni.node" / "intents").mkdir(parents=True, exist_ok=True)
        subprocess.run(["ip", "netns", "delete", "gone"], check=False, stderr=subprocess.DEVNULL)
        if NEW_BRIDGE in links():
            subprocess.run(["ip", "link", "delete", NEW_BRIDGE, "type", "bridge"], check=True)


@contextlib.contextmanager
def make_node_with_neighbours(node: EngineNode) -> t.Iterator[NodeWithNeighbours]:
    with namespace("green") as green, namespace("blue") as blue:
        try:
            yield NodeWithNeighbours(node, green, blue)
        finally:
            subprocess.run(["umount", "/run/netns/node"], check=False)


def find_difference(before: State, after: State) -> str:
    """Return what a batch has changed; rules may have been added."""
    difference = [line for line in before.difference(after).splitlines() if not line.startswith(("---", "+++", "@@"))]
    rules = {line for name in RULES for line in after.sections[name]}
    return "\n".join(line for line in difference if not (line.startswith("+") and line[1:] in rules))


def find_culprit(records: t.Sequence[JsonObject]) -> str:
    """Return the first record that changes something by itself, with what it changes."""
    for record in records:
        with empty_node():
            node = EngineNode()
            with make_node_with_neighbours(node) as place:
                before = place.state()
                place.process([record])
                difference = find_difference(before, place.state())
        if difference:
            return f"{json.dumps(record)}\n{difference}"
    return ""


def test_no_record_changes_the_node_or_another_container(node: EngineNode) -> None:
    with make_node_with_neighbours(node) as place:
        generator = Generator(SEED, place.surroundings())
        before = place.state()
        for start in range(0, RECORDS, BATCH):
            records = [generator.record(start + number) for number in range(BATCH)]
            place.process(records)
            difference = find_difference(before, place.state())
            assert not difference, f"{difference}\n{find_culprit(records) or records}"
