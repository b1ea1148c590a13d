# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import (
    parse_address,
    parse_interface,
    parse_network,
    parse_subnet,
)

NOT_TEXT: list[object] = [None, 1, 1.5, True, [], {}, b"10.1.0.1"]
NOT_ADDRESSES = ["", "10.1.0", "::ffff:10.1.0.1%lo", "10.1.0.1/24", "010.1.0.1", "fe80::1%eth0", " 10.1.0.1"]
NOT_INTERFACES = [
    "", "10.1.0.1", "10.1.0.1/", "10.1.0.1/33", "fd00::/129", "10.1.0.1/255.255.0.0", "10.1.0.1/+8", "10.1.0.1/8/8",
    "10.1.0.1/0008", "::ffff:10.1.0.1/95", "::ffff:10.1.0.1/129", "10.1.0.1/\u0661", "fe80::1%eth0/64", "/8",
]  # fmt: skip


@pytest.mark.parametrize("value", ["10.1.0.1", "fd00::1", "::10.1.0.1"])
def test_an_address_is_parsed(value: str) -> None:
    assert parse_address(value) == ipaddress.ip_address(value)


@pytest.mark.parametrize("value", [*NOT_TEXT, *NOT_ADDRESSES])
def test_text_that_go_rejects_is_not_an_address(value: object) -> None:
    assert parse_address(value) is None


@pytest.mark.parametrize("value", ["10.1.2.3/16", "0.0.0.0/0", "fd00::1/128", "10.1.0.1/08"])
def test_an_address_with_a_prefix_length_is_parsed_with_its_network(value: str) -> None:
    assert parse_interface(value) == ipaddress.ip_interface(value)
    assert parse_network(value) == ipaddress.ip_interface(value).network


@pytest.mark.parametrize("value", [*NOT_TEXT, *NOT_INTERFACES])
def test_text_that_go_rejects_is_not_an_address_with_a_prefix_length(value: object) -> None:
    assert parse_interface(value) is None
    assert parse_network(value) is None


@pytest.mark.parametrize("text", ["::ffff:10.1.0.7", "::FFFF:0a01:0007", "0:0:0:0:0:ffff:10.1.0.7"])
def test_an_ipv4_address_in_ipv6_form_is_that_address(text: str) -> None:
    assert parse_address(text) == ipaddress.ip_address("10.1.0.7")
    assert parse_interface(f"{text}/120") == ipaddress.ip_interface("10.1.0.7/24")
    assert parse_interface(f"{text}/96") == ipaddress.ip_interface("10.1.0.7/0")
    assert parse_network(f"{text}/120") == ipaddress.ip_network("10.1.0.0/24")


def test_a_subnet_of_ipv4_has_no_ipv6_form() -> None:
    assert parse_subnet("10.1.0.0/24") == ipaddress.ip_interface("10.1.0.0/24")
    assert parse_subnet("fd00::/64") == ipaddress.ip_interface("fd00::/64")
    assert parse_subnet("::ffff:10.1.0.0/120") is None
    assert parse_subnet("10.1.0.0") is None
