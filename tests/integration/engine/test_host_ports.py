# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A mapped port redirects all its traffic, so it is refused if a process or another attachment uses it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment, remove
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

PORT = reference_networks.HOST_PORT
ADDRESS = "10.9.9.9"


def mapping(namespace: Namespace, port: int = PORT, **keys: t.Any) -> JsonObject:
    mapped = {"hostPort": port, "containerPort": 80, **keys}
    return attachment("net", namespace, capability_args={"portMappings": [mapped]})


@contextlib.contextmanager
def bound(address: str = "0.0.0.0", kind: int = socket.SOCK_STREAM, port: int = PORT) -> t.Iterator[None]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, kind) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((address, port))
        if kind == socket.SOCK_STREAM:
            held.listen()
        yield


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    node.write(reference_networks.network(reference_networks.bridge(), reference_networks.PORTMAP))
    return mapping(blue)


@pytest.fixture
def red(node: EngineNode) -> t.Iterator[Namespace]:
    with namespace("red") as made:
        yield made


def test_a_port_on_which_a_process_listens_is_refused(node: EngineNode, item: JsonObject) -> None:
    with bound():
        error = node.refusal(
            item,
            "host port 8080/tcp is in use: ",
            f"(process {os.getpid()}) listens on 0.0.0.0:8080",
            "choose another hostPort",
        )
        assert error["code"] == 4
        assert node.refusal(item, _ansible_check_mode=True) == error
    assert node.attach(item)[0]["action"] == "added"


@pytest.mark.parametrize(
    ("listens", "mapped"),
    [
        (("127.0.0.53", socket.SOCK_DGRAM), {"protocol": "UDP"}),
        (("::",), {"hostIP": ADDRESS}),
        (("::ffff:127.0.0.1",), {}),
        (("::1",), {}),
        ((ADDRESS,), {"hostIP": ADDRESS}),
        ((ADDRESS,), {"hostIP": "0.0.0.0"}),
    ],
)
def test_overlapping_addresses_are_a_conflict(
    node: EngineNode, blue: Namespace, item: JsonObject, listens: tuple[t.Any, ...], mapped: JsonObject
) -> None:
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    with bound(*listens):
        node.refusal(mapping(blue, **mapped), "is in use")


@pytest.mark.parametrize(
    ("listens", "mapped"),
    [
        (("0.0.0.0", socket.SOCK_DGRAM), {}),
        (("0.0.0.0", socket.SOCK_STREAM, PORT + 1), {}),
        (("127.0.0.1",), {"hostIP": ADDRESS}),
        (("0.0.0.0",), {"hostIP": "::"}),
        (("::1",), {"hostIP": "0.0.0.0"}),
    ],
)
def test_other_ports_protocols_and_addresses_are_free(
    node: EngineNode, blue: Namespace, item: JsonObject, listens: tuple[t.Any, ...], mapped: JsonObject
) -> None:
    with bound(*listens):
        assert node.attach(mapping(blue, **mapped))[0]["action"] == "added"


def test_a_connection_does_not_occupy_its_port(node: EngineNode, item: JsonObject) -> None:
    """Ignore connections: their packets are not mapped, and a client's port is random."""
    with bound("127.0.0.1", port=PORT + 1), socket.socket() as client:
        client.bind(("127.0.0.1", PORT))
        client.connect(("127.0.0.1", PORT + 1))
        assert node.attach(item)[0]["action"] == "added"


def test_a_port_in_use_may_be_allowed(node: EngineNode, item: JsonObject) -> None:
    with bound():
        done = node.run("attachments", attachments=[item], allow_ports_in_use=True).succeeded()
        assert done.entries[0]["action"] == "added"
        (warning,) = done.result["warnings"]
        assert "host port 8080/tcp is in use" in str(warning)


def test_an_attachment_keeps_its_port_when_it_is_recreated(node: EngineNode, item: JsonObject) -> None:
    node.attach(item)
    with bound():
        subprocess.run(["iptables", "-t", "nat", "-F", "CNI-HOSTPORT-DNAT"], check=True)
        assert node.attach(item, on_drift="recreate")[0]["action"] == "recreated"
        assert node.attach(item)[0]["action"] == "checked"


def test_a_change_to_a_used_port_leaves_the_attachment_unchanged(
    node: EngineNode, blue: Namespace, item: JsonObject
) -> None:
    node.attach(item)
    before = node.state()
    with bound(port=PORT + 1):
        node.refusal(mapping(blue, PORT + 1), "host port 8081/tcp is in use")
    assert before.difference(node.state()) == ""


@pytest.mark.parametrize("check", [True, False])
def test_a_port_of_another_attachment_is_refused_until_its_removal(
    node: EngineNode, blue: Namespace, red: Namespace, item: JsonObject, check: bool
) -> None:
    node.attach(item)
    other = mapping(red)
    error = node.refusal(other, "host port 8080/tcp is mapped by the attachment of blue (eth0) to network net")
    assert node.refusal(other, _ansible_check_mode=True) == error
    node.attach(mapping(red, hostIP="::"), _ansible_check_mode=True)
    done = node.attach(other, {**item, "state": "absent"}, _ansible_check_mode=check)
    assert [entry["action"] for entry in done] == ["added", "removed"]


def test_a_port_is_not_mapped_twice_by_one_task(node: EngineNode, red: Namespace, item: JsonObject) -> None:
    first, second = node.refusals([item, mapping(red)])
    assert "host port 8080/tcp is requested for the attachment of red (eth0) to network net as well" in first["text"]
    assert "host port 8080/tcp is requested for the attachment of blue (eth0) to network net as well" in second["text"]


def test_ports_can_be_swapped_in_one_task(node: EngineNode, blue: Namespace, red: Namespace, item: JsonObject) -> None:
    node.attach(item, mapping(red, PORT + 1))
    done = node.attach(mapping(blue, PORT + 1), mapping(red))
    assert [entry["action"] for entry in done] == ["recreated", "recreated"]


def test_an_attachment_without_its_namespace_keeps_its_port_until_removed(
    node: EngineNode, blue: Namespace, red: Namespace, item: JsonObject
) -> None:
    """Refuse the port while rules still redirect it to the lost namespace."""
    node.attach(item)
    remove(blue)
    node.refusal(
        mapping(red), "is mapped by the attachment of blue (eth0) to network net", "its network namespace is gone"
    )
    node.detach(item)
    assert node.attach(mapping(red))[0]["action"] == "added"


@pytest.mark.interop
def test_a_port_that_libcni_has_mapped_is_refused(
    node: EngineNode, libcni: Libcni, blue: Namespace, red: Namespace, item: JsonObject
) -> None:
    theirs = mapping(blue, protocol="tcp")
    libcni.run("ADD", [theirs])
    node.refusal(mapping(red), "host port 8080/tcp is mapped by the attachment of blue (eth0) to network net")
    libcni.run("DEL", [theirs])
    assert node.attach(mapping(red))[0]["action"] == "added"
