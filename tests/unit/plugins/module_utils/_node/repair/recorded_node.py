# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node that a recorded run has left. Repairs read and write its links, settings, leases and rules of iptables."""

from __future__ import annotations

import contextlib
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key, netns_identity
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux import netns, process_table, sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair, Resource
from ansible_collections.cni.node.plugins.module_utils._node.repair.repairer import Repairer
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_directory
from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, firewall_state
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_repair
from ansible_collections.cni.node.tests.support.reference_cases import situation
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.state.recorded_kernel import (
    HOST,
    RecordedKernel,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.state.simulated_chains import (
    SimulatedIptables,
)

EVERYTHING = frozenset(Resource)
FORWARDING = "net/ipv4/ip_forward"


class RecordedNode:
    """The node after the last ADD of a recorded case. Files stand for network namespaces; leases are real files.

    Its lease directory is that of `NodePaths.below` the directory of the test.

    Attributes:
        records: The attachments, oldest first.
        locks: The directory of the lock of repairs.
        writes: What was written to links and settings, in order.
        begun: The attachments on which an operation has begun.
        mark: Variables of the processes that belong to the node. Others of the machine may run plugins, too.
    """

    def __init__(self, directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
        self._directory = directory
        recorded = situation(case)
        find_lease = lease_directory.find
        self.kernel = RecordedKernel(recorded)
        self.kernel.install(monkeypatch)
        self.firewall = SimulatedIptables()
        self.firewall.install(monkeypatch)
        self.records = [self._place(record) for record in recorded.records]
        self.lease_dir = pathlib.Path(NodePaths.below(str(directory)).lease_dir)
        self.locks = directory / "locks"
        self.writes: list[str] = []
        self.begun: set[Key] = set()
        self.mark = {"RECORDED_NODE": str(directory)}
        find_values = process_table.find_values
        monkeypatch.setattr(
            process_table, "find_values", lambda variables, name: find_values({**variables, **self.mark}, name)
        )
        monkeypatch.setattr(netns, "is_namespace", os.path.isfile)
        monkeypatch.setattr(kernel_writer, "connect", lambda: contextlib.nullcontext(self))
        monkeypatch.setattr(sysctl, "write_at", self._write_setting)
        monkeypatch.setattr(lease_directory, "find", find_lease)
        for record in self.records:
            assert firewall_repair.write_missing(firewall_state(RecordedRequests(record))) == []
            for address in record.addresses:
                owner = record.attachment.container_id, record.attachment.ifname
                lease_directory.assign(str(self.leases), address.partition("/")[0], *owner)

    def _place(self, record: Record) -> Record:
        """Return a record whose network namespace is a file with the name of the recorded one."""
        path = self._directory / os.path.basename(record.attachment.netns)
        path.touch()
        return record._replace(
            attachment=record.attachment.with_netns(str(path)), netns_identity=netns_identity(str(path))
        )

    @property
    def leases(self) -> pathlib.Path:
        """The directory of the leases."""
        return self.lease_dir / self.records[0].attachment.network

    @property
    def host_end(self) -> dict[str, t.Any]:
        """The keys of the first veth of the node."""
        links = self.kernel.state[HOST]["links"].values()
        return next(keys for keys in links if keys and keys.get("kind") == "veth")

    def lose_rules(self) -> None:
        self.firewall.flush()

    def lose_forwarding(self) -> None:
        self.kernel.state[HOST]["sysctls"][FORWARDING] = "0"

    def lose_link(self) -> None:
        self.host_end["flags"].remove("UP")

    def lose_lease(self) -> None:
        (self.leases / self.records[0].addresses[0].partition("/")[0]).unlink()

    def state(self) -> t.Any:
        """Return all that repairs change."""
        settings = dict(self.kernel.state[HOST]["sysctls"])
        files = {path.name: path.read_bytes() for path in self.leases.iterdir()}
        return self.firewall.rules(), settings, list(self.host_end["flags"]), files

    def set_up(self, ifindex: int) -> None:
        """Set a link of the node up, for those who write to the kernel."""
        link = self.kernel.find(ifindex=ifindex)
        assert link is not None
        self.kernel.state[HOST]["links"][link.name]["flags"].append("UP")
        self.writes.append(f"{link.kind} up")

    def _write_setting(self, path: str, value: str) -> None:
        self.kernel.state[HOST]["sysctls"][path] = value
        self.writes.append(f"{path} = {value}")

    def repair(
        self, *records: Record, resources: frozenset[Resource] = EVERYTHING, timeout: float = 10, dry_run: bool = False
    ) -> list[Repair]:
        """Repair some attachments, or all."""
        repairer = Repairer(timeout, str(self.locks), str(self.lease_dir), self._is_attached, dry_run=dry_run)
        repairs = repairer.compare_and_repair((record, resources) for record in records or self.records)
        return [repair._replace(after=None) for repair in repairs]

    def _is_attached(self, record: Record) -> bool:
        return record.attachment.key not in self.begun
