# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After several simultaneous runs, some of them killed, the next run establishes the requested state."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    EngineNode,
    attachment,
    wait_for_result,
)
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespaces

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

# `CNI_SOAK=1000 ... test_soak.py` is the long run; the test's name has the seed that repeats it.
OPERATIONS = int(os.environ.get("CNI_SOAK") or ring.repetitions(outer=200, inner=24))
SEED = ring.SEED
CONTAINERS, AT_ONCE = 8, 3
LONGEST_RUN = 1.0  # seconds; the kill comes at a random time before


class RandomOperations:
    """Runs that attach and detach, some of them killed, and deletions of interfaces."""

    def __init__(self, node: EngineNode, made: t.Sequence[Namespace], seed: int) -> None:
        self._node, self._made, self._random = node, made, random.Random(seed)
        self.items = [self._item(number, container) for number, container in enumerate(made)]

    def _item(self, number: int, container: Namespace) -> JsonObject:
        mapping = {"hostPort": 9000 + number, "containerPort": 80, "protocol": "tcp"}
        if number % 2:
            return attachment("routed", container)
        return attachment("net", container, capability_args={"portMappings": [mapping]})

    def run(self, operations: int) -> None:
        running: list[tuple[subprocess.Popen[str], threading.Timer | None]] = []
        while operations > 0 or running:
            if operations > 0:
                chosen = self._random.sample(self.items, self._random.randint(1, 4))
                operations -= len(chosen)
                running.append(self._start(chosen))
            if len(running) == AT_ONCE or operations <= 0:
                self._end(*running.pop(0))
            if self._random.random() < 0.3:
                container = self._random.choice(self._made)
                subprocess.run(["ip", "-n", container.name, "link", "delete", "eth0"], check=False, capture_output=True)

    def _start(self, chosen: list[JsonObject]) -> tuple[subprocess.Popen[str], threading.Timer | None]:
        items = [{**item, "state": self._random.choice(["present", "absent"])} for item in chosen]
        process = self._node.start("attachments", attachments=items, check=self._random.choice(["always", "drift"]))
        if self._random.random() < 0.6:
            return process, None
        killer = threading.Timer(self._random.uniform(0, LONGEST_RUN), process.kill)
        killer.start()
        return process, killer

    def _end(self, process: subprocess.Popen[str], killer: threading.Timer | None) -> None:
        if killer is None:
            wait_for_result(process)
        else:
            process.communicate(timeout=60)
            killer.cancel()


@pytest.mark.parametrize("node", ["never", "always"], indirect=True)
@pytest.mark.parametrize("seed", [SEED])
def test_a_run_after_random_damage_establishes_exactly_the_requested_state(node: EngineNode, seed: int) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), reference_networks.PORTMAP))
    node.write(reference_networks.network(reference_networks.PTP, name="routed"))
    with namespaces(*(f"soak{number}" for number in range(CONTAINERS))) as made:
        workload = RandomOperations(node, made, seed)
        before = node.attach_and_detach(*workload.items)
        workload.run(OPERATIONS)
        desired = workload.items[: CONTAINERS // 2]
        unwanted = [{**item, "state": "absent"} for item in workload.items[CONTAINERS // 2 :]]
        node.attach(*desired, *unwanted)
        # A killed run may leave an unfinished file and its locks, and nothing else.
        findings = node.run("gc", min_age=0).succeeded().result["findings"]
        assert {(finding["kind"], finding["action"]) for finding in findings} <= {
            ("temporary file", "removed"),
            ("lock", "removed"),
        }, findings
        again = node.attach(*desired, *unwanted)
        assert {(entry["action"], entry["changed"]) for entry in again} <= {("checked", False), ("unchanged", False)}
        assert sorted(path.name for path in (node.cache_dir / "results").iterdir()) == sorted(
            node.record_of(item).name for item in desired
        )
        attached = sorted(container.name for container in made if "eth0" in container.links())
        assert attached == sorted(item["container_id"] for item in desired)
        for name in ("net", "routed"):
            count = sum(item["network"] == name for item in desired)
            assert len(node.leases(name)) == count
        node.detach(*desired)
        assert before.difference(node.state()) == ""
