# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""UDP flows follow mapped ports: datagrams of a client that never pauses go to where the rules say."""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import socket
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.connections import NEIGHBOUR, NODE, neighbour
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import flush
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import inside
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace

pytestmark = [pytest.mark.requires_root]
in_both_families = pytest.mark.parametrize("family", [4, 6])
in_both_backends = pytest.mark.parametrize("backend", ["iptables", "nftables"])

HERE = pathlib.Path("/proc/thread-self/ns/net")
HOST_PORT, CONTAINER_PORT = 8053, 53
_FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
_PATIENCE = 10.0
_numbers = itertools.count()


class UdpClients:
    """Clients in a neighbour of the node, each with a flow of its own, and the sockets that receive."""

    def __init__(self, family: int, client: Namespace, stack: contextlib.ExitStack) -> None:
        self._family, self._client, self._stack = family, client, stack
        self.clients = [self.open(client.path, NEIGHBOUR[family], 40000 + number) for number in range(2)]

    def open(self, at: pathlib.Path, address: str, port: int) -> socket.socket:
        with inside(at):
            made = self._stack.enter_context(socket.socket(_FAMILY[self._family], socket.SOCK_DGRAM))
        made.bind((address, port))
        made.settimeout(_PATIENCE)
        return made

    def send(self) -> list[bytes]:
        """Send a datagram of each client to the mapped port of the node."""
        texts = [f"text {next(_numbers)}".encode() for dummy in self.clients]
        for client, text in zip(self.clients, texts):
            client.sendto(text, (NODE[self._family], HOST_PORT))
        return texts

    def require_arrival(self, receiver: socket.socket) -> None:
        texts = self.send()
        assert [receiver.recv(100) for dummy in texts] == texts


@pytest.fixture
def udp_clients(node: EngineNode, family: int) -> t.Iterator[UdpClients]:
    with neighbour() as client, contextlib.ExitStack() as stack:
        track_connections()
        yield UdpClients(family, client, stack)


def track_connections() -> None:
    """Let the kernel track connections, as the firewall of nearly every node does."""
    for tool in ("iptables", "ip6tables"):
        subprocess.run([tool, "-A", "INPUT", "-m", "conntrack", "--ctstate", "NEW", "-j", "ACCEPT"], check=True)


def write_network(node: EngineNode, backend: str = "iptables") -> None:
    ipam = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64", routes=reference_networks.DEFAULT_ROUTES)
    bridge = reference_networks.bridge(ipam=ipam)
    node.write(reference_networks.network(bridge, {**reference_networks.PORTMAP, "backend": backend}))


def map_port(container: Namespace, **keys: t.Any) -> JsonObject:
    port = {"hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "udp", **keys}
    return attachment("net", container, capability_args={"portMappings": [port]})


@in_both_backends
@in_both_families
def test_add_forgets_each_flow_to_its_ports(
    node: EngineNode, here: Engine, blue: Namespace, udp_clients: UdpClients, backend: str
) -> None:
    write_network(node, backend)
    udp_clients.send()
    here.add(map_port(blue))
    udp_clients.require_arrival(udp_clients.open(blue.path, "", CONTAINER_PORT))


@in_both_backends
@in_both_families
def test_del_forgets_each_flow_to_its_ports(
    node: EngineNode, here: Engine, blue: Namespace, udp_clients: UdpClients, backend: str
) -> None:
    write_network(node, backend)
    item = map_port(blue)
    here.add(item)
    udp_clients.require_arrival(udp_clients.open(blue.path, "", CONTAINER_PORT))
    here.delete(item)
    udp_clients.require_arrival(udp_clients.open(HERE, "", HOST_PORT))


@in_both_families
def test_a_repair_of_the_rules_forgets_each_flow_to_their_ports(
    node: EngineNode, here: Engine, blue: Namespace, udp_clients: UdpClients
) -> None:
    write_network(node)
    here.add(map_port(blue))
    flush()
    track_connections()
    udp_clients.send()
    assert node.run("repair").succeeded().result["changed"]
    udp_clients.require_arrival(udp_clients.open(blue.path, "", CONTAINER_PORT))


@in_both_backends
@in_both_families
def test_gc_forgets_each_flow_to_the_ports_of_a_lost_container(
    node: EngineNode, here: Engine, blue: Namespace, udp_clients: UdpClients, backend: str
) -> None:
    write_network(node, backend)
    item = map_port(blue)
    here.add(item)
    udp_clients.require_arrival(udp_clients.open(blue.path, "", CONTAINER_PORT))
    node.record_of(item).unlink()
    subprocess.run(["ip", "netns", "delete", blue.name], check=True)
    findings = node.run("gc").succeeded().result["findings"]
    assert {finding["action"] for finding in findings if finding["kind"] == "chain"} == {"removed"}
    udp_clients.require_arrival(udp_clients.open(HERE, "", HOST_PORT))


@pytest.mark.parametrize("family", [4])
def test_del_keeps_flows_to_other_containers(
    node: EngineNode, here: Engine, blue: Namespace, udp_clients: UdpClients
) -> None:
    write_network(node)
    with namespace("green") as green:
        other = map_port(green, hostIP="127.0.0.1")
        here.add(map_port(blue))
        here.add(other)
        udp_clients.require_arrival(udp_clients.open(blue.path, "", CONTAINER_PORT))
        before = flows()
        here.delete(other)
        assert (len(before), flows()) == (2, before)


def flows() -> list[list[str]]:
    """Return the words of each flow to the mapped port, without its numbers, which change."""
    with open("/proc/thread-self/net/nf_conntrack", encoding="ascii") as lines:
        return sorted(line.split()[5:] for line in lines if f" dport={HOST_PORT} " in line)
