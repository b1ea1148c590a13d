# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables of routing rules, and VRFs, which no recorded case has."""

from __future__ import annotations

import ipaddress

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Address, Link, Route, Rule, View
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import ContainerComparison
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import State
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.attachments.test_drift import ETH0

V4, V6 = ipaddress.ip_address("10.1.0.2"), ipaddress.ip_address("fd00::2")
NETWORKS = ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00::/64")
STATE: State = (
    resources.Rule(V4),
    resources.Rule(V6),
    resources.Route("eth0", NETWORKS[0], None, True, moved_for=V4),
    resources.Route("eth0", NETWORKS[1], None, True, moved_for=V6),
)
# As sbr leaves it: the table of IPv4 has the routes of IPv6, too.
ROUTES = (
    Route(NETWORKS[0], None, 2, 100),
    Route(NETWORKS[1], None, 2, 100),
    Route(NETWORKS[1], None, 2, 101),
)
RULES = (
    Rule(ipaddress.ip_network(V4), 100, 32765, 2),
    Rule(ipaddress.ip_network(V6), 101, 32765, 10),
)


def differences(state: State, view: View) -> list[Difference]:
    return list(ContainerComparison(state, view, {}).find())


def test_a_rule_returns_to_the_table_that_has_its_routes() -> None:
    assert differences(STATE, View((ETH0,), (), ROUTES, RULES)) == []
    for rules in (RULES[:1], RULES[1:], ()):
        found = differences(STATE, View((ETH0,), (), ROUTES, rules))
        missing = [rule for rule in RULES if rule not in rules]
        assert [difference.resource for difference in found] == [
            resources.Rule(rule.source.network_address, rule.table) for rule in missing if rule.source
        ]


def test_a_rule_without_routes_gets_a_free_table() -> None:
    other = Route(ipaddress.ip_network("10.9.0.0/16"), None, 3, 100)
    found = differences(STATE, View((ETH0,), (), (other,), ()))
    tables = [difference.resource.table for difference in found if isinstance(difference.resource, resources.Rule)]
    routes = [difference.resource.table for difference in found if isinstance(difference.resource, resources.Route)]
    assert tables == routes == [101, 102]


VRF = Link(ifindex=9, name="red", mac="", mtu=1500, is_up=True, master=0, peer=0, kind="vrf", table=10)
MEMBERSHIP: State = (resources.Vrf("red", 10), resources.Port("eth0", "red", inside=True))


def test_membership_in_a_vrf_is_named_but_not_put_back() -> None:
    member = ETH0._replace(master=9)
    assert differences(MEMBERSHIP, View((member, VRF), (), ())) == []
    for links, message in (
        ((member,), "VRF red is gone"),
        ((ETH0, VRF), "interface eth0 is not in VRF red"),
        ((member, VRF._replace(table=11)), "the table of VRF red is 11, not 10"),
    ):
        (difference,) = differences(MEMBERSHIP, View(links, (), ()))
        assert (difference.message, difference.is_repairable) == (message, False)
    (down,) = differences(MEMBERSHIP, View((member, VRF._replace(is_up=False)), (), ()))
    assert (down.message, down.is_repairable) == ("VRF red is down", True)


@pytest.mark.parametrize(
    ("kind", "mode", "expected", "is_repairable"),
    [
        ("macvlan", "private", "bridge", True),
        ("macvlan", "passthru", "bridge", False),
        ("macvlan", "vepa", "passthru", False),
        ("ipvlan", "l3", "l2", True),
    ],
)
def test_another_mode_is_put_back_where_the_kernel_changes_it(
    kind: str, mode: str, expected: str, is_repairable: bool
) -> None:
    state = (resources.Link("eth0", inside=True, mode=expected),)
    link = ETH0._replace(kind=kind, mode=mode)
    (difference,) = differences(state, View((link,), (), ()))
    assert difference.message == f"interface eth0 has {kind} mode {mode}, not {expected}"
    assert (difference.resource, difference.is_repairable) == (*state, is_repairable)
    assert differences(state, View((link._replace(mode=expected),), (), ())) == []


def test_an_address_on_another_interface_is_missing() -> None:
    address = ipaddress.ip_interface("10.1.0.2/16")
    state = (resources.Address("eth0", address, inside=True),)
    assert differences(state, View((ETH0,), (Address(2, address),), ())) == []
    (missing,) = differences(state, View((ETH0,), (Address(3, address),), ()))
    assert (missing.message, missing.link) == ("address 10.1.0.2/16 is missing", ETH0)
