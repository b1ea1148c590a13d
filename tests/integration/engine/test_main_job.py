# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ADD, connectivity, CHECK, drift, repair and DEL on every kind of network that runs here."""

from __future__ import annotations

import socket
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import inside
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

Drift = t.Callable[[Namespace], object]


def _in_namespace(*command: str) -> Drift:
    return lambda namespace: namespace.run(*command)


def _on_node(*command: str) -> Drift:
    return lambda namespace: subprocess.run(command, check=True)


def _delete_shaping(namespace: Namespace) -> None:
    (link,) = (name for name in links() if name.startswith("bwp"))
    subprocess.run(["ip", "link", "delete", link], check=True)


DELETE = _in_namespace("ip", "link", "delete", "eth0")
FLUSH = _in_namespace("ip", "address", "flush", "dev", "eth0")
LOSE_ROUTE = _in_namespace("ip", "route", "delete", "default")
STATIC = reference_networks.bridge(
    ipam={"type": "static", "addresses": [{"address": "10.1.0.9/16", "gateway": "10.1.0.1"}]}
)
BOTH_FAMILIES = reference_networks.bridge(ipam=reference_networks.host_local("10.1.0.0/16", "fd00:1::/64"))
MASQUERADING = reference_networks.bridge(ipMasq=True)


class Job(t.NamedTuple):
    """A network's plugins, an address that its containers reach, and a fault."""

    plugins: t.Sequence[JsonObject]
    reaches: str
    drift: Drift
    keys: JsonObject = {}
    version: str = "1.0.0"

    @property
    def reaction(self) -> str:
        """The reaction to the fault: only an interface that is gone needs ADD."""
        return "recreated" if self.drift is DELETE else "repaired"


GATEWAY = "10.1.0.1"
CAPABILITIES: JsonObject = {"capability_args": reference_networks.CAPABILITY_ARGS}
MAC: JsonObject = {"capability_args": {"mac": reference_networks.MAC}}
BRIDGE = reference_networks.bridge()
TUNED = [BRIDGE, reference_networks.TUNING]
FULL = reference_networks.full()["plugins"]
JOBS = {
    "bridge, interface deleted": Job([BRIDGE], GATEWAY, DELETE),
    "bridge, addresses flushed": Job([BRIDGE], GATEWAY, FLUSH),
    "bridge masquerading, interface deleted": Job([MASQUERADING], GATEWAY, DELETE),
    "bridge masquerading, default route lost": Job([MASQUERADING], GATEWAY, LOSE_ROUTE),
    "bridge with static addresses, flushed": Job([STATIC], GATEWAY, FLUSH),
    "bridge with both families, interface deleted": Job([BOTH_FAMILIES], "fd00:1::1", DELETE),
    "tuning, another MAC": Job(
        TUNED, GATEWAY, _in_namespace("ip", "link", "set", "eth0", "address", "02:00:00:00:09:09"), MAC
    ),
    "tuning, another value": Job(TUNED, GATEWAY, _in_namespace("sysctl", "-w", "net.core.somaxconn=99"), MAC),
    "portmap at 0.4.0, interface deleted": Job(FULL, GATEWAY, DELETE, CAPABILITIES, "0.4.0"),
    "ptp masquerading, interface deleted": Job([reference_networks.PTP], "fd00:3::1", DELETE),
    "ptp masquerading, addresses flushed": Job([reference_networks.PTP], "10.3.0.1", FLUSH),
    "macvlan, interface deleted": Job([reference_networks.MACVLAN], reference_networks.WORLD, DELETE),
    "macvlan, addresses flushed": Job([reference_networks.MACVLAN], reference_networks.WORLD, FLUSH),
    "host-device, addresses flushed": Job([reference_networks.HOST_DEVICE], reference_networks.WORLD, FLUSH),
    "bandwidth, shaping lost": Job([BRIDGE, reference_networks.BANDWIDTH], GATEWAY, _delete_shaping),
    "firewall, rules flushed": Job(
        [BRIDGE, reference_networks.FIREWALL], GATEWAY, _on_node("iptables", "-F", "CNI-FORWARD")
    ),
    "loopback, set down": Job(
        [reference_networks.LOOPBACK], "127.0.0.1", _in_namespace("ip", "link", "set", "lo", "down")
    ),
}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_an_attachment_is_added_checked_repaired_and_deleted(
    node: EngineNode, engine: Engine, blue: Namespace, job: Job
) -> None:
    reference_networks.make_uplink()
    if kind := reference_networks.missing_kind(job.plugins):
        pytest.skip(f"this kernel has no {kind}")
    node.write(reference_networks.network(*job.plugins, version=job.version))
    item = attachment("net", blue, **job.keys)
    before, inside_before = node.attach_and_detach(item), sorted(blue.links())
    assert require_success(engine.ensure(item)) == ("added", True, "")
    blue.run("ping", "-c1", "-W5", job.reaches)
    assert require_success(engine.ensure(item)) == ("checked", False, "")
    job.drift(blue)
    drifted = engine.ensure(item, on_drift="report")
    assert (drifted.action, drifted.changed, bool(drifted.error)) == ("checked", False, True)
    action, changed, reason = require_success(engine.ensure(item))
    assert drifted.error is not None
    assert (action, changed, drifted.error.msg in reason) == (job.reaction, True, True)
    blue.run("ping", "-c1", "-W5", job.reaches)
    assert require_success(engine.ensure(item, present=False)) == ("removed", True, "")
    assert before.difference(node.state()) == ""
    assert sorted(blue.links()) == inside_before


def test_drift_with_on_drift_fail_fails_and_stays(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(BRIDGE))
    item = attachment("net", blue)
    node.attach(item)
    FLUSH(blue)
    node.refusal(item, "address 10.1.0.", "is missing", on_drift="fail")
    assert blue.addresses("eth0") == set()


def test_two_containers_reach_each_other_and_a_mapped_port(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.full())
    with namespace("red") as red:
        items = [attachment("net", blue, **CAPABILITIES), attachment("net", red)]
        blues, reds = node.attach(*items)
        assert blue.links()["eth0"]["address"] == reference_networks.MAC
        address = reds["result"]["ips"][0]["address"].split("/")[0]
        blue.run("ping", "-c1", "-W5", address)
        with inside(blue.path):
            server = socket.create_server(("0.0.0.0", reference_networks.CONTAINER_PORT))
        gateway = blues["result"]["ips"][0]["gateway"]
        with server, socket.create_connection((gateway, reference_networks.HOST_PORT), timeout=5) as client:
            accepted, dummy = server.accept()
            with accepted:
                accepted.sendall(b"hello")
            assert client.recv(5) == b"hello"


def test_a_container_has_an_interface_on_each_of_two_networks(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(BRIDGE))
    node.write({**reference_networks.network(reference_networks.PTP), "name": "other"})
    items = [attachment("net", blue), attachment("other", blue, ifname="eth1")]
    before = node.attach_and_detach(*items)
    assert [entry["action"] for entry in node.attach(*items)] == ["added", "added"]
    assert {"eth0", "eth1"} <= blue.links().keys()
    assert [entry["action"] for entry in node.detach(items[0])] == ["removed"]
    assert node.attach(items[1])[0]["action"] == "checked"
    node.detach(items[1])
    assert before.difference(node.state()) == ""
