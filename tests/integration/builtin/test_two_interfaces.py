# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two interfaces of one container in one network: what removes one of them leaves what the other one needs."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.connections import NEIGHBOUR, NODE, listen, neighbour
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import rules
from ansible_collections.cni.node.tests.support.namespaces import Namespace

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
