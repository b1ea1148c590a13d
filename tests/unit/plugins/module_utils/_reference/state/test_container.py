# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables of routing rules, and VRFs, which no recorded case has."""

from __future__ import annotations

import ipaddress

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._linux.links.routing_rules import Rule
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import Address, Route, View
from ansible_collections.cni.node.plugins.module_utils._reference.state import resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import ContainerComparison
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import ANY_TABLE, State
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.test_attachment_drift_links import ETH0

V4, V6 = ipaddress.ip_address("10.1.0.2"), ipaddress.ip_address("fd00::2")
NETWORKS = ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00::/64")
STATE: State = (
    resources.ExpectedRule(V4),
    resources.ExpectedRule(V6),
    resources.ExpectedRoute("eth0", NETWORKS[0], None, True, moved_for=V4),
    resources.ExpectedRoute("eth0", NETWORKS[1], None, True, moved_for=V6),
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
    return list(ContainerComparison(state, view).find())


def test_a_rule_returns_to_the_table_that_has_its_routes() -> None:
    assert differences(STATE, View((ETH0,), (), ROUTES, RULES)) == []
    for rules in (RULES[:1], RULES[1:], ()):
        found = differences(STATE, View((ETH0,), (), ROUTES, rules))
        missing = [rule for rule in RULES if rule not in rules]
        assert [difference.resource for difference in found] == [
            resources.ExpectedRule(rule.source.network_address, rule.table) for rule in missing if rule.source
        ]


def test_a_rule_without_routes_gets_a_free_table() -> None:
    other = Route(ipaddress.ip_network("10.9.0.0/16"), None, 3, 100)
    found = differences(STATE, View((ETH0,), (), (other,), ()))
    tables = [
        difference.resource.table for difference in found if isinstance(difference.resource, resources.ExpectedRule)
    ]
    routes = [
        difference.resource.table for difference in found if isinstance(difference.resource, resources.ExpectedRoute)
    ]
    assert tables == routes == [101, 102]


VRF = Link(ifindex=9, name="red", mac="", mtu=1500, is_up=True, master=0, peer=0, kind="vrf", table=10)
MEMBERSHIP: State = (resources.Vrf("red", 10), resources.Port("eth0", "red", inside=True))


MEMBER = ETH0._replace(master=9)
VRF_DRIFT: dict[str, tuple[tuple[Link, ...], str, bool]] = {
    "gone": ((ETH0,), "VRF red is gone", True),
    "another link of the name": ((ETH0, VRF._replace(kind="dummy", table=0)), "VRF red is gone", False),
    "not a member": ((ETH0, VRF), "interface eth0 is not in VRF red", True),
    "member of another one": (
        (ETH0._replace(master=8), VRF, VRF._replace(ifindex=8, name="blue")),
        "interface eth0 is not in VRF red",
        True,
    ),
    "another table": ((MEMBER, VRF._replace(table=11)), "the table of VRF red is 11, not 10", False),
    "down": ((MEMBER, VRF._replace(is_up=False)), "VRF red is down", True),
}


@pytest.mark.parametrize(("links", "message", "is_repairable"), VRF_DRIFT.values(), ids=VRF_DRIFT)
def test_a_vrf_and_its_members_are_repaired(links: tuple[Link, ...], message: str, is_repairable: bool) -> None:
    assert differences(MEMBERSHIP, View((MEMBER, VRF), (), ())) == []
    (found,) = [each for each in differences(MEMBERSHIP, View(links, (), ())) if not each.follows]
    assert (found.message, found.is_repairable) == (message, is_repairable)


IN_VRF: State = (
    resources.Vrf("red"),
    resources.Port("eth0", "red", inside=True),
    resources.ExpectedAddress("eth0", ipaddress.ip_interface("10.1.0.2/16"), inside=True),
    resources.ExpectedRoute("eth0", NETWORKS[0], None, True, table=ANY_TABLE),
)


def test_addresses_and_routes_are_repaired_with_the_membership_in_a_vrf() -> None:
    # The kernel drops some of them when the interface returns, those included that are there.
    addresses = (Address(2, ipaddress.ip_interface("10.1.0.2/16")),)
    for links, table in (((ETH0, VRF), 10), ((ETH0,), 1), ((ETH0, VRF._replace(name="blue", table=1)), 2)):
        found = differences(IN_VRF, View(links, addresses, (Route(NETWORKS[0], None, 2, table),)))
        assert all(each.is_repairable for each in found)
        assert [each.resource for each in found if not isinstance(each.resource, resources.Vrf)] == [
            *IN_VRF[1:3],
            resources.ExpectedRoute("eth0", NETWORKS[0], None, True, table=table),
        ]
        assert [each.message for each in found if not each.follows] == [found[0].message]


def test_the_routes_of_an_interface_are_in_the_table_of_its_vrf() -> None:
    addresses = (Address(2, ipaddress.ip_interface("10.1.0.2/16")),)
    assert differences(IN_VRF, View((MEMBER, VRF), addresses, (Route(NETWORKS[0], None, 2, 10),))) == []
    (missing,) = differences(IN_VRF, View((MEMBER, VRF), addresses, (Route(NETWORKS[0], None, 2, 254),)))
    assert (missing.message, missing.is_repairable) == ("the route to 10.1.0.0/16 is missing", True)


@pytest.mark.parametrize(
    ("kind", "mode", "expected", "is_repairable"),
    [
        ("macvlan", "private", "bridge", True),
        ("macvlan", "passthru", "bridge", False),
        ("macvlan", "vepa", "passthru", False),
        ("ipvlan", "l3", "l2", True),
    ],
)
def test_a_changed_mode_is_repaired_if_the_kernel_can_change_it(
    kind: str, mode: str, expected: str, is_repairable: bool
) -> None:
    state = (resources.ExpectedLink("eth0", inside=True, mode=expected),)
    link = ETH0._replace(kind=kind, mode=mode)
    (difference,) = differences(state, View((link,), (), ()))
    assert difference.message == f"interface eth0 has {kind} mode {mode}, not {expected}"
    assert (difference.resource, difference.is_repairable) == (*state, is_repairable)
    assert differences(state, View((link._replace(mode=expected),), (), ())) == []


def test_an_address_on_another_interface_is_missing() -> None:
    address = ipaddress.ip_interface("10.1.0.2/16")
    state = (resources.ExpectedAddress("eth0", address, inside=True),)
    assert differences(state, View((ETH0,), (Address(2, address),), ())) == []
    (missing,) = differences(state, View((ETH0,), (Address(3, address),), ()))
    assert (missing.message, missing.link) == ("address 10.1.0.2/16 is missing", ETH0)
