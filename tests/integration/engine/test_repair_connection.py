# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections that were open when the node lost its firewall rules go on after a repair, over the same sockets."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.connections import (
    NEIGHBOUR,
    NODE,
    Connection,
    Listener,
    listen,
    neighbour,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import (
    as_other_runtime,
    flush,
    map_port,
    rules,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

HERE = pathlib.Path("/proc/thread-self/ns/net")
HOST_PORT, CONTAINER_PORT, OUTSIDE_PORT = 8080, 80, 9000
NETWORK = reference_networks.network(
    reference_networks.bridge(
        ipMasq=True,
        hairpinMode=True,
        ipam=reference_networks.host_local("10.1.0.0/16", "fd00:1::/64", routes=reference_networks.DEFAULT_ROUTES),
    ),
    reference_networks.PORTMAP,
    reference_networks.FIREWALL,
)
# What a script of an administrator leaves: no rule of a container, and no forwarding without one.
STRICT = "*filter\n:FORWARD DROP [0:0]\n-A INPUT -i lo -j ACCEPT\nCOMMIT\n*nat\nCOMMIT\n"


def load_strict_rules() -> None:
    flush()
    for tool in ("iptables-restore", "ip6tables-restore"):
        subprocess.run([tool], input=STRICT, text=True, check=True)


LOSSES: dict[str, t.Callable[[], None]] = {
    "nft flush ruleset": flush,
    "a script that drops forwarded packets": load_strict_rules,
}
every_loss = pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
every_family = pytest.mark.parametrize("family", [4, 6])
any_runtime = pytest.mark.parametrize("is_own", [True, False], ids=["own", "of another runtime"])


@pytest.fixture
def lan(node: EngineNode) -> t.Iterator[Namespace]:
    with neighbour() as made:
        yield made


@pytest.fixture
def attached(node: EngineNode, blue: Namespace, lan: Namespace, is_own: bool) -> JsonObject:
    node.write(NETWORK)
    item = map_port(blue)
    node.attach(item)
    if not is_own:
        as_other_runtime(node, item)
    return item


@pytest.fixture
def web(attached: JsonObject, family: int) -> t.Iterator[Listener]:
    with listen(pathlib.Path(attached["netns"]), family, CONTAINER_PORT) as listener:
        yield listener


@pytest.fixture
def outside(attached: JsonObject, lan: Namespace, family: int) -> t.Iterator[Listener]:
    with listen(lan.path, family, OUTSIDE_PORT) as listener:
        yield listener


@contextlib.contextmanager
def keep_connection(connection: Connection) -> t.Iterator[Connection]:
    """Check that a connection works before and after the block."""
    connection.exchange()
    yield connection
    connection.exchange()


def repair(node: EngineNode, item: JsonObject, lose: t.Callable[[], None]) -> None:
    """Lose all rules and repair; check that nothing but rules has changed."""
    index = rtnetlink.link("eth0", item["netns"])
    lose()
    repair_lost(node)
    assert rtnetlink.link("eth0", item["netns"]) == index


def repair_lost(node: EngineNode) -> None:
    assert "MASQUERADE" not in rules()
    (entry,) = node.run("repair").succeeded().entries
    assert (entry["action"], entry["left"]) == ("repaired", [])


@any_runtime
@every_family
@every_loss
def test_repair_keeps_a_connection_from_outside_to_a_mapped_port(
    node: EngineNode, lan: Namespace, attached: JsonObject, web: Listener, family: int, lose: t.Callable[[], None]
) -> None:
    with keep_connection(web.connect(lan.path, NODE[family], HOST_PORT, source=NEIGHBOUR[family])):
        repair(node, attached, lose)


@any_runtime
@every_family
def test_a_mapped_port_accepts_new_connections_after_a_repair(
    node: EngineNode, lan: Namespace, attached: JsonObject, web: Listener, family: int
) -> None:
    repair(node, attached, flush)
    web.connect(lan.path, NODE[family], HOST_PORT, source=NEIGHBOUR[family])


@any_runtime
@every_family
@every_loss
def test_repair_keeps_a_connection_from_the_node_to_its_own_address(
    node: EngineNode, attached: JsonObject, web: Listener, family: int, lose: t.Callable[[], None]
) -> None:
    with keep_connection(web.connect(HERE, NODE[family], HOST_PORT)):
        repair(node, attached, lose)
    web.connect(HERE, NODE[family], HOST_PORT)


@any_runtime
@every_family
@every_loss
def test_repair_keeps_a_masqueraded_connection_and_data_sent_meanwhile(
    node: EngineNode, attached: JsonObject, outside: Listener, family: int, lose: t.Callable[[], None]
) -> None:
    container = pathlib.Path(attached["netns"])
    with keep_connection(
        outside.connect(container, NEIGHBOUR[family], OUTSIDE_PORT, source=NODE[family])
    ) as connection:
        lose()
        text = connection.send(connection.client)
        repair_lost(node)
        connection.receive(text, connection.server)
    outside.connect(container, NEIGHBOUR[family], OUTSIDE_PORT, source=NODE[family])


@any_runtime
@pytest.mark.parametrize("family", [4])
def test_repair_keeps_a_connection_of_a_container_to_its_own_mapped_port(
    node: EngineNode, attached: JsonObject, web: Listener, family: int
) -> None:
    """Packets that enter and leave the bridge at the same port need the marks of portmap."""
    container = pathlib.Path(attached["netns"])
    with keep_connection(web.connect(container, NODE[family], HOST_PORT)):
        repair(node, attached, flush)
