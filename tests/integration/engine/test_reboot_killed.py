# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A restoration killed at any point is finished by the next one, and nothing is lost."""

from __future__ import annotations

import contextlib
import logging
import pathlib
import signal
import subprocess

import pytest

from ansible_collections.cni.node.tests.integration.engine import faults, reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import (
    DNS,
    RESOLV_CONF,
    RESTORES,
    addresses,
    attach_behind_a_free_address,
    boot,
    command,
    interface_addresses,
    item,
    make,
    unfinished_intents,
    write_stalling_network,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import reboot
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.support.until import until

pytestmark = list(RESTORES)

LOG = logging.getLogger(__name__)


def killed_in(node: EngineNode, held_command: str) -> None:
    """Kill a restoration while `stall` is in the middle of a command."""
    with node.plugins.gate() as gate:
        write_stalling_network(node, **{held_command: ScriptedAnswer(hold=gate)})
        running = subprocess.Popen(command(), stdout=subprocess.DEVNULL)
        (call,) = node.plugins.wait_for_held(1)
        running.kill()
        running.wait()
    until(lambda: not pathlib.Path(f"/proc/{call.pid}").exists() or None)
    write_stalling_network(node)


@pytest.mark.parametrize("held", ["DEL", "ADD"])
def test_a_killed_restoration_is_finished_by_the_next_with_the_same_address(restorable: EngineNode, held: str) -> None:
    node = restorable
    write_stalling_network(node)
    had, leases = attach_behind_a_free_address(node)
    with reboot():
        killed_in(node, held)
        assert "blue" in boot()
        assert (addresses(node), node.leases("net"), node.intents()) == (had, leases, [])
        assert interface_addresses("blue") == had["net-blue-eth0"]
    with reboot():
        boot()
        assert (addresses(node), node.leases("net")) == (had, leases)


def test_restorations_killed_at_any_time_lose_nothing(restorable: EngineNode) -> None:
    """Kill each restoration a little later than the previous one."""
    node = restorable
    names = [f"c{number}" for number in range(4)]
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True), reference_networks.PORTMAP))
    make(node, *names)
    node.attach(*(item(name) for name in names))
    had, leases = addresses(node), node.leases("net")
    for step in range(0, 8, ring.repetitions(outer=1, inner=4)):
        with reboot():
            for pause in (0.15 + 0.05 * step, 0.25 + 0.04 * step):
                running = subprocess.Popen(command(), stdout=subprocess.DEVNULL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(pause)
                running.kill()
                running.wait()
            boot()
            assert (node.leases("net"), unfinished_intents(node)) == (leases, [])
            assert addresses(node) == had
            assert [interface_addresses(name) for name in names] == [had[f"net-{name}-eth0"] for name in names]


def test_a_restoration_killed_at_any_boundary_is_finished_by_the_next(restorable: EngineNode) -> None:
    """Kill before and after each plugin, flush, rename and removal."""
    node = restorable
    node.write(reference_networks.network({**reference_networks.bridge(), "dns": DNS}))
    make(node, "blue")
    node.attach(item())
    had, resolv_conf = addresses(node), RESOLV_CONF.read_bytes()
    python, dummy, *program = command()
    survived, stride = 0, ring.repetitions(outer=1, inner=5)
    for moments in range(ring.SEED % stride, 1000, stride):
        RESOLV_CONF.unlink()
        with reboot():
            beset = [python, "-I", faults.__file__, "SIGKILL", str(moments), *program]
            killed = subprocess.run(beset, check=False, capture_output=True)
            assert killed.returncode in (0, -signal.SIGKILL), killed.stderr
            boot()
            assert (addresses(node), node.leases("net"), interface_addresses("blue")) == (
                had,
                ["10.1.0.2"],
                had["net-blue-eth0"],
            )
            assert unfinished_intents(node) == []
            assert RESOLV_CONF.read_bytes() == resolv_conf
        if killed.returncode == 0:
            break
        survived += 1
    assert survived > 20 // stride
    LOG.info("a restoration: %d times SIGKILL", survived)
    node.run("gc", min_age=0).succeeded()
    assert [path for path in node.cache_dir.rglob(".*") if path.is_file()] == []
