# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Numbers of configurations have the ranges of the kernel when plugins read them."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys
from ansible_collections.cni.node.plugins.module_utils._linux.links.qdiscs import bound_burst
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import ipam_config
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import read_request

RESULT: JsonObject = {"cniVersion": "1.1.0", "ips": [{"address": "10.1.0.2/24"}]}
TOO_LARGE = 1 << 32


@pytest.mark.parametrize(
    ("key", "number"),
    [(key, number) for key in ("scope", "table", "priority", "mtu", "advmss") for number in (-1, TOO_LARGE)]
    + [("scope", 256)],
)
def test_a_number_of_a_route_is_within_the_range_of_the_kernel(key: str, number: int) -> None:
    with pytest.raises(CniError, match=f"^/ipam/routes/0/{key}: {number} is out of range"):
        ipam_config.read_routes(Keys({"routes": [{"dst": "10.9.0.0/16", key: number}]}, "/ipam"))


def test_the_last_numbers_of_a_route_are_read() -> None:
    numbers = {"scope": 255, "table": TOO_LARGE - 1, "priority": TOO_LARGE - 1}
    assert ipam_config.read_routes(Keys({"routes": [{"dst": "10.9.0.0/16", **numbers}]})) == [
        {"dst": "10.9.0.0/16", **numbers}
    ]


@pytest.mark.parametrize(
    ("plugin_type", "keys", "key"),
    [
        ("tuning", {"mtu": -1}, "/mtu"),
        ("tuning", {"txQLen": TOO_LARGE}, "/txQLen"),
        ("ptp", {"mtu": -1}, "/mtu"),
        ("ptp", {"mtu": TOO_LARGE}, "/mtu"),
        ("sbr", {"table": -1}, "/table"),
        ("sbr", {"table": TOO_LARGE}, "/table"),
        ("vrf", {"vrfname": "red", "table": TOO_LARGE}, "/table"),
        ("bandwidth", {"ingressRate": 8, "ingressBurst": 8}, "/ingressRate"),
        ("bandwidth", {"egressRate": 1, "egressBurst": 1}, "/egressRate"),
        ("bandwidth", {"egressRate": 8 * TOO_LARGE, "egressBurst": 8000}, "/egressRate"),
        ("bandwidth", {"ingressRate": 1000000, "ingressBurst": 34359738360}, "/ingressBurst"),
        ("bandwidth", {"ingressRate": -1, "ingressBurst": 8}, "/ingressRate"),
    ],
)
def test_add_refuses_a_number_out_of_range_with_its_place(plugin_type: str, keys: JsonObject, key: str) -> None:
    plugin = registry.load(plugin_type)
    with pytest.raises(CniError, match=f"^{key}: .* is out of range"):
        plugin.add(read_request("ADD", prevResult=RESULT, **keys))


RATES = [(125_000, (2**32 - 1) // 8), (1_250_000, (2**32 - 1) // 8), (125_000, 256_000_000), (8, 2**32 - 2)]


@pytest.mark.parametrize(("rate", "burst"), [*RATES, (2**32 - 1, 2**32 - 2)])
def test_the_time_and_the_size_of_a_bounded_burst_have_32_bits(rate: int, burst: int) -> None:
    bounded = bound_burst(rate, burst)
    assert 0 < bounded < burst
    ticks = 1e6 * bounded / rate * 15.625
    assert ticks < 2**32
    assert bounded + rate * 0.025 < 2**32
    assert ticks > 0.999 * 2**32 or bounded + rate * 0.025 > 0.999 * 2**32


def test_a_burst_that_the_kernel_can_count_stays_as_it_is() -> None:
    assert bound_burst(2_000_000, (2**32 - 1) // 8) == (2**32 - 1) // 8
    assert bound_burst(125_000_000, 1600) == 1600
