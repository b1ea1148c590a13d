# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever a container does to its links, DEL and a repair change nothing of the node and of other containers."""

from __future__ import annotations

import itertools
import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.interface_plugin import InterfacePlugin
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import inside
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespace
from ansible_collections.cni.node.tests.support.state import State, network_state

pytestmark = [pytest.mark.requires_root]

LAN = reference_networks.host_local("10.1.0.0/16")
KINDS: dict[str, JsonObject] = {
    "bridge": reference_networks.bridge(),
    "ptp": {"type": "ptp", "ipam": LAN},
    "macvlan": {**reference_networks.MACVLAN, "ipam": LAN},
    "ipvlan": {**reference_networks.IPVLAN, "ipam": LAN},
    "vlan": {**reference_networks.VLAN, "ipam": LAN},
    "dummy": {**reference_networks.DUMMY, "ipam": LAN},
    "tap": {"type": "tap", "ipam": LAN},
}
DOWN = "ip link set eth0 down"
# What a process with all rights in the container does; {end} is a link of another container on the node.
DEEDS: dict[str, tuple[str, ...]] = {
    "renamed to a link of the node": (DOWN, "ip link set eth0 name br0"),
    "renamed to the end of another container": (DOWN, "ip link set eth0 name {end}"),
    "given the name of a link of the node as an alias": ("ip link set eth0 alias br0",),
    "given the MAC of another container": (DOWN, "ip link set eth0 address {mac}"),
    "replaced by a pair of its own": (
        DOWN,
        "ip link set eth0 name x0",
        "ip link add eth0 type veth peer name {end}",
    ),
    "replaced by a bridge with the name of the node's": (
        DOWN,
        "ip link set eth0 name x0",
        "ip link add br0 type bridge",
        "ip link add eth0 type bridge",
    ),
    "made a port of its own bridge": ("ip link add br0 type bridge", "ip link set eth0 master br0"),
    "moved to the other container": (DOWN, "ip link set eth0 netns green name eth7"),
    "moved to a namespace below": ("ip netns add nested", DOWN, "ip link set eth0 netns nested"),
}
HEADLINES = ("---", "+++", "@@ ")
MARKS = {kind: reference_networks.other_kernel_marks([plugin]) for kind, plugin in KINDS.items()}
PAIRS = [
    pair
    for needs_other_kernel, inner in ((False, 3), (True, 9))
    for pair in ring.sample(
        [pair for pair in itertools.product(KINDS, DEEDS) if bool(MARKS[pair[0]]) == needs_other_kernel],
        inner,
        key=lambda pair: pair[0],
    )
]
CASES = [pytest.param(kind, deed, id=f"{kind}, {deed}", marks=MARKS[kind]) for kind, deed in PAIRS]


def do(inside_of: Namespace, deed: str, **known: str) -> None:
    """Do what a container may do; the kernel refuses some of it for some kinds of links."""
    for command in DEEDS[deed]:
        subprocess.run(inside_of.argv(*command.format(**known).split()), check=False, stderr=subprocess.DEVNULL)


def state(green: Namespace) -> State:
    """Return the state of the node and of the other container."""
    with inside(green.path):
        there = {f"{name} of green": lines for name, lines in network_state().sections.items()}
    return State({**network_state().sections, **there})


def test_every_built_in_plugin_that_makes_an_interface_is_tried() -> None:
    makers = {name for name in registry.TYPES if isinstance(registry.load(name), InterfacePlugin)}
    assert makers - KINDS.keys() == {"host-device"}


@pytest.mark.parametrize(("kind", "deed"), CASES)
def test_del_and_repair_change_nothing_of_the_node_and_of_other_containers(
    node: EngineNode, here: Engine, blue: Namespace, kind: str, deed: str
) -> None:
    reference_networks.make_uplink()
    if missing := reference_networks.missing_kind([KINDS[kind]]):
        pytest.skip(f"this kernel has no {missing}")
    for command in ("ip link add br0 type bridge", "ip address add 10.7.0.1/16 dev br0", "ip link set br0 up"):
        subprocess.run(command.split(), check=True)
    with namespace("green") as green:
        other = reference_networks.bridge(bridge="cni1", ipam=reference_networks.host_local("10.2.0.0/16"))
        node.write(reference_networks.network(other, name="other"))
        node.write(reference_networks.network(KINDS[kind]))
        here.add(attachment("other", green))
        item = attachment("net", blue)
        here.add(item)
        here.delete(item)  # what containers share stays
        before = state(green)
        here.add(item)
        end = next(name for name in links() if name.startswith("veth") and name in str(before.sections["links"]))
        do(blue, deed, end=end, mac=links(green.name)["eth0"]["address"])
        repair_node(NODE_PATHS, str(node.cache_dir), 5, Selection(), dry_run=False)
        outcome = here.ensure(item, present=False)
        changes = [line for line in before.difference(state(green)).splitlines() if line[:3] not in HEADLINES]
        assert [line for line in changes if line.startswith("-")] == []
        assert outcome.error is None or node.leases("net") != []


def test_a_container_that_locks_its_namespace_delays_no_add(node: EngineNode, here: Engine, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "sbr"}))
    lock = "flock --exclusive /proc/self/ns/net sh -c 'echo locked; read end'"
    with subprocess.Popen(blue.argv("sh", "-c", lock), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        here.add(attachment("net", blue))
        assert holder.poll() is None
        holder.communicate(b"\n")
    assert "lookup 100" in blue.run("ip", "rule").stdout
