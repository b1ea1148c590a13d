# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two interfaces of one container in one network: what removes one of them leaves what the other one needs."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.connections import NEIGHBOUR, NODE, listen, neighbour
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    remove,
    require_success,
)
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import rules
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip

pytestmark = [pytest.mark.requires_root]

DUAL_STACK = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64", routes=reference_networks.DEFAULT_ROUTES)


def require_unchanged(engine: Engine, item: JsonObject) -> None:
    """Require that the comparison with the kernel and the plugins' CHECK find an attachment complete."""
    for check in ("drift", "always"):
        assert require_success(engine.ensure(item, check=check, on_drift="report"))[:2] == ("checked", False)


def map_ports(blue: Namespace, ifname: str, *ports: int) -> JsonObject:
    """Return an attachment with mapped ports: those of even numbers on a loopback address of IPv4 only."""
    mappings: list[t.Any] = [{"hostPort": port, "containerPort": 80, "protocol": "tcp"} for port in ports]
    for mapping in mappings:
        mapping.update({"hostIP": "127.0.0.1"} if mapping["hostPort"] % 2 == 0 else {})
    return attachment("net", blue, ifname=ifname, capability_args={"portMappings": mappings})


@pytest.mark.parametrize("ports", [(), (9091,), (9091, 9092)], ids=["no port", "a port", "ports"])
@pytest.mark.parametrize("backend", ["iptables", "nftables"])
def test_del_keeps_the_mapped_ports_of_the_other_interface(
    node: EngineNode, here: Engine, blue: Namespace, backend: str, ports: tuple[int, ...]
) -> None:
    portmap = {**reference_networks.PORTMAP, "backend": backend}
    node.write(reference_networks.network(reference_networks.bridge(ipam=DUAL_STACK), portmap))
    kept = map_ports(blue, "eth0", 8081, 8082)
    removed = map_ports(blue, "eth1", *ports)
    here.add(kept)
    before = rules()
    here.add(removed)
    record = here.record(removed)
    for dummy in ("DEL", "DEL again"):
        here.runtime.delete(record)
        assert rules() == before
    require_unchanged(here, kept)
    with neighbour() as client, listen(blue.path, 4, 80) as listener:
        listener.connect(client.path, NODE[4], 8081, NEIGHBOUR[4]).exchange()
    here.delete(kept)
    assert not any(word in rules() for word in ("CNI-DN-", "dnat name:"))


def test_del_of_both_interfaces_together_removes_all_mapped_ports(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    portmap = {**reference_networks.PORTMAP, "backend": "iptables"}
    node.write(reference_networks.network(reference_networks.bridge(ipam=DUAL_STACK), portmap))
    items = [map_ports(blue, "eth0", 8081, 8082), map_ports(blue, "eth1", 9091)]
    node.attach(*items, builtin="always")
    assert [entry["action"] for entry in node.detach(*items, builtin="always")] == ["removed", "removed"]
    assert not any(word in rules() for word in ("CNI-DN-", "dnat name:"))


GATEWAY = "10.1.0.1"
EGRESS: JsonObject = {"egressRate": 8_000_000, "egressBurst": 8_000_000}
OTHER: JsonObject = {"egressRate": 16_000_000, "egressBurst": 8_000_000}


def limit(blue: Namespace, ifname: str, limits: JsonObject) -> JsonObject:
    return attachment("net", blue, ifname=ifname, capability_args={"bandwidth": limits})


def write_limited_network(node: EngineNode, *others: JsonObject) -> None:
    bandwidth: JsonObject = {"type": "bandwidth", "capabilities": {"bandwidth": True}}
    node.write(reference_networks.network(reference_networks.bridge(), bandwidth, *others))


def add_two(node: EngineNode, here: Engine, blue: Namespace) -> list[JsonObject]:
    """Add two attachments with the same limit, and return them."""
    write_limited_network(node)
    items = [limit(blue, ifname, EGRESS) for ifname in ("eth0", "eth1")]
    for item in items:
        here.add(item)
    return items


def ifb_links() -> list[str]:
    return [link["ifname"] for link in ip("link", "show", "type", "ifb")]


def reach_gateway(blue: Namespace, ifname: str) -> None:
    blue.run("ping", "-I", ifname, "-c1", "-W5", GATEWAY)


@pytest.mark.parametrize("limits", [EGRESS, {}], ids=["the same limit", "no limit"])
def test_del_keeps_the_limit_of_the_other_interface(
    node: EngineNode, here: Engine, blue: Namespace, limits: JsonObject
) -> None:
    write_limited_network(node)
    kept, removed = limit(blue, "eth0", EGRESS), limit(blue, "eth1", limits)
    here.add(kept)
    here.add(removed)
    require_unchanged(here, kept)
    record = here.record(removed)
    for dummy in ("DEL", "DEL again"):
        here.runtime.delete(record)
        require_unchanged(here, kept)
        reach_gateway(blue, "eth0")
    assert node.run("gc", min_age=0).succeeded().result["findings"] == []
    assert len(ifb_links()) == 1
    here.delete(kept)
    assert ifb_links() == []


def test_del_without_a_result_keeps_the_limit_of_the_other_interface(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    items = add_two(node, here, blue)
    here.runtime.delete(here.record(items[0])._replace(result=None))
    require_unchanged(here, items[1])
    reach_gateway(blue, "eth1")
    here.runtime.delete(here.record(items[1])._replace(result=None))
    assert ifb_links() == []


def test_an_add_that_fails_keeps_the_limit_of_the_other_interface(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    write_limited_network(node)
    kept = limit(blue, "eth0", EGRESS)
    here.add(kept)
    with pytest.raises(CniError, match="eth1 has another egressRate or egressBurst than another interface"):
        here.add(limit(blue, "eth1", OTHER))
    require_unchanged(here, kept)
    reach_gateway(blue, "eth0")
    write_limited_network(node, {"type": "portmap", "backend": "unknown"})
    with pytest.raises(CniError, match="backend"):
        here.add(limit(blue, "eth1", EGRESS))
    reach_gateway(blue, "eth0")
    here.delete(kept)
    assert ifb_links() == []


def test_the_limit_can_be_changed_while_the_other_interface_is_detached(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    write_limited_network(node)
    for limits in (EGRESS, OTHER):
        items = [limit(blue, ifname, limits) for ifname in ("eth0", "eth1")]
        node.attach(*items, builtin="always")
        for item in items:
            require_unchanged(here, item)
        node.detach(items[1], builtin="always")
    node.detach(items[0], builtin="always")
    assert ifb_links() == []


def test_a_repair_of_one_interface_keeps_the_limit_of_the_other_one(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    items = add_two(node, here, blue)
    subprocess.run(["ip", "link", "delete", *ifb_links()], check=True)
    for item in items:
        assert require_success(here.ensure(item, check="drift"))[0] == "repaired"
        reach_gateway(blue, item["ifname"])
    for item in items:
        require_unchanged(here, item)


def test_a_leaked_ifb_link_is_removed_after_both_interfaces_are_lost(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    items = add_two(node, here, blue)
    for item in items:
        node.record_of(item).unlink()
    remove(blue)
    node.run("gc", min_age=0).succeeded()
    assert ifb_links() == []
