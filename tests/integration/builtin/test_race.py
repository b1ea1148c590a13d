# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Built-in plugins and executables work on one network at the same time."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.builtin import racer
from ansible_collections.cni.node.tests.integration.builtin.networks import (
    as_set,
    require_check,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import namespaces
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins, pytest.mark.slow]

# The choices of both processes follow from it; the test's name has it. `CNI_RACE_SEED=N` makes other choices.
SEED = int(os.environ.get("CNI_RACE_SEED", "1"))
LONGEST_RACE = 300.0  # seconds, on a slow machine
CONTAINERS = 20
# In the same time, built-in plugins do more of them.
OPERATIONS = {"always": ring.repetitions(outer=320, inner=80), "never": ring.repetitions(outer=180, inner=40)}
# Few more addresses than containers, so that each is used often.
NETWORK = reference_networks.network(
    reference_networks.bridge(ipMasq=True, ipam=reference_networks.host_local("10.1.0.0/27")),
    reference_networks.PORTMAP,
)
LEASES = pathlib.Path("/var/lib/cni/networks/net")


class Addresses:
    """The addresses that are in use according to the log of the processes."""

    def __init__(self, log: t.IO[str]) -> None:
        self._log = log
        self._rest = ""
        self.owners: dict[str, str] = {}
        self.count = 0

    def read(self) -> None:
        """Read the complete lines that are new; fail if an address has two owners."""
        *lines, self._rest = (self._rest + self._log.read()).split("\n")
        for line in lines:
            entry = json.loads(line)
            self.count += 1
            for address in entry["addresses"]:
                if entry["command"] == "ADD":
                    assert address not in self.owners, f"{address}: {self.owners[address]}, {entry['container_id']}"
                    self.owners[address] = entry["container_id"]
                else:
                    assert self.owners.pop(address) == entry["container_id"]


def watch(processes: t.Sequence[subprocess.Popen[str]], addresses: Addresses) -> None:
    """Read the log until the processes have ended; fail if one of them failed."""

    def have_ended() -> bool | None:
        addresses.read()
        return True if all(process.poll() is not None for process in processes) else None

    try:
        until(have_ended, LONGEST_RACE)
    finally:
        for process in processes:
            process.kill()
        printed = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), printed
    addresses.read()


@pytest.mark.parametrize("seed", [SEED])
def test_built_in_plugins_and_executables_share_a_network(
    node: EngineNode, here: Engine, there: Engine, tmp_path: pathlib.Path, seed: int
) -> None:
    node.write(NETWORK)
    with namespaces(*(f"race{number}" for number in range(CONTAINERS))) as made:
        items = [
            attachment(
                "net",
                container,
                capability_args={"portMappings": [{"hostPort": 9000 + number, "containerPort": 80, "protocol": "tcp"}]},
            )
            for number, container in enumerate(made)
        ]
        there.add(items[0])
        there.delete(items[0])
        before = node.state()
        (tmp_path / "items.json").write_text(json.dumps(items), encoding="utf-8")
        racer.log_path(tmp_path).touch()
        with racer.log_path(tmp_path).open(encoding="utf-8") as log:
            addresses = Addresses(log)
            processes = [
                racer.start(builtin, tmp_path, count, seed + number)
                for number, (builtin, count) in enumerate(OPERATIONS.items())
            ]
            watch(processes, addresses)
        assert addresses.count == sum(OPERATIONS.values())
        attached = [item for item in items if node.record_of(item).exists()]
        assert sorted(set(addresses.owners.values())) == sorted(item["container_id"] for item in attached)
        leases = {path.name for path in LEASES.iterdir() if path.name[:4] not in ("lock", "last")}
        assert leases == {address.partition("/")[0] for address in addresses.owners}
        for number, item in enumerate(attached):
            require_check(here, item)
            require_check(there, item)
            (here if number % 2 else there).delete(item)
        assert as_set(before).difference(as_set(node.state())) == ""
