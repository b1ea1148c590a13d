# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress
import os
import pathlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni import result
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.endpoints import (
    find_destination,
    find_records,
    find_source,
)
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import NodePlaces

LONG_ID = "3f1c92ab77de" * 5


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[NodePlaces]:
    directory = tmp_path_factory.mktemp("records")
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    made = NodePlaces(NODE_PATHS._replace(state_dir=str(directory)), str(directory), home)
    made.records = [
        _record("web", "eth0", "10.1.0.2/16", "fd00:1::2/64"),
        _record("web", "net1", "10.2.0.2/16"),
        _record(LONG_ID, "lo", "127.0.0.1/8", "::1/128"),
        _record(LONG_ID, "eth0", "10.1.0.3/16"),
    ]
    yield made
    os.close(home)


def _record(container_id: str, ifname: str, *addresses: str) -> Record:
    keys = {"cniVersion": "1.0.0", "ips": [{"address": address} for address in addresses]}
    attachment = Attachment("net", container_id, ifname, f"/nonexistent/{container_id}")
    return Record(attachment, b"{}", result.from_keys(keys, "1.0.0", "net"))


@pytest.mark.parametrize(
    ("text", "address", "protocol", "port"),
    [
        ("10.9.0.1", "10.9.0.1", "icmp", 0),
        ("10.9.0.1/icmp", "10.9.0.1", "icmp", 0),
        ("10.9.0.1:80", "10.9.0.1", "tcp", 80),
        ("10.9.0.1:53/udp", "10.9.0.1", "udp", 53),
        ("fd00::9", "fd00::9", "icmp", 0),
        ("[fd00::9]", "fd00::9", "icmp", 0),
        ("[fd00::9]:443/tcp", "fd00::9", "tcp", 443),
        ("web", "10.1.0.2", "icmp", 0),
        ("web:5432", "10.1.0.2", "tcp", 5432),
        ("web/net1:80/tcp", "10.2.0.2", "tcp", 80),
        (LONG_ID[:12] + ":80", "10.1.0.3", "tcp", 80),
    ],
)
def test_a_destination_is_an_address_or_a_container_with_port_and_protocol(
    places: NodePlaces, text: str, address: str, protocol: str, port: int
) -> None:
    found = find_destination(text, places)
    assert (str(found.addresses[0]), found.protocol, found.port) == (address, protocol, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":80",
        "10.9.0.1:0",
        "10.9.0.1:65536",
        "10.9.0.1/tcp",
        "10.9.0.1:80/icmp",
        "10.9.0.1:x",
        "[fd00::9",
        "ff02::1",
        "[::]:80",
        "224.0.0.1",
        "0.0.0.0:80",
    ],
)
def test_a_destination_that_cannot_be_used_is_an_error_that_says_what_is_expected(
    places: NodePlaces, text: str
) -> None:
    with pytest.raises(CniError, match="expected: an address, or the name of an attachment") as caught:
        find_destination(text, places)
    assert caught.value.code == Code.INVALID_CONFIG


def test_a_protocol_without_its_port_is_named(places: NodePlaces) -> None:
    with pytest.raises(CniError, match="to: 'web/udp': udp needs a port; expected: "):
        find_destination("web/udp", places)


def test_a_destination_that_this_node_does_not_have_has_the_code_of_an_unknown_container(places: NodePlaces) -> None:
    with pytest.raises(CniError, match="expected: an address, or the name of an attachment") as caught:
        find_destination("blue:80", places)
    assert caught.value.code == Code.UNKNOWN_CONTAINER


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("web/eth0:53/udp", ["10.1.0.2:53/udp", "[fd00:1::2]:53/udp"]),
        ("10.1.0.3", ["10.1.0.3/icmp"]),
        ("[fd00:1::2]:80", ["[fd00:1::2]:80/tcp"]),
        ("192.0.2.77:80", []),
    ],
)
def test_the_node_lists_the_destinations_that_it_has(places: NodePlaces, text: str, targets: list[str]) -> None:
    assert find_destination(text, places).list_own_targets(places) == targets
    for target in targets:
        assert find_destination(target, places).list_own_targets(places) == [target]


def test_the_node_lists_the_addresses_that_it_has_of_a_source(places: NodePlaces) -> None:
    own = {
        text: find_source(text, places, NODE_PATHS).list_own_addresses()
        for text in ("web/net1", "10.1.0.3", "192.0.2.77")
    }
    assert {text: list(map(str, addresses)) for text, addresses in own.items()} == {
        "web/net1": ["10.2.0.2"],
        "10.1.0.3": ["10.1.0.3"],
        "192.0.2.77": [],
    }


@given(text=st.text(max_size=40))
def test_any_text_is_a_destination_or_an_error(places: NodePlaces, text: str) -> None:
    try:
        found = find_destination(text, places)
    except CniError:
        return
    assert found.addresses
    assert (found.protocol == "icmp") == (found.port == 0)


def test_a_container_is_found_by_id_netns_and_the_start_of_a_long_id(places: NodePlaces) -> None:
    def names(text: str) -> list[str]:
        return [record.attachment.ifname for record in find_records(text, places)]

    assert names("web") == names("/nonexistent/web") == ["eth0", "net1"]
    assert names("web/net1") == ["net1"]
    assert names(LONG_ID) == names(LONG_ID[:12]) == ["lo", "eth0"]
    assert names(LONG_ID[:11]) == names("we") == []


def test_a_source_that_is_not_on_this_node_has_the_code_of_an_unknown_container(places: NodePlaces) -> None:
    with pytest.raises(CniError, match="attachments: 3f1c92ab77de") as caught:
        find_source("blue", places, NODE_PATHS)
    assert caught.value.code == Code.UNKNOWN_CONTAINER
    for text in ("", "a b", "-x"):
        with pytest.raises(CniError):
            find_source(text, places, NODE_PATHS)


def test_a_source_may_be_the_node_or_an_address_elsewhere(places: NodePlaces) -> None:
    assert find_source("node", places, NODE_PATHS).place is places.node
    outside = find_source("192.0.2.77", places, NODE_PATHS)
    assert (outside.place, outside.address) == (None, ipaddress.ip_address("192.0.2.77"))
    gone = find_source("web", places, NODE_PATHS)
    assert (gone.place, gone.netns) == (None, str(pathlib.Path("/nonexistent/web")))
