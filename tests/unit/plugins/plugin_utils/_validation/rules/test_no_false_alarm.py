# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks that only resemble broken ones, and have no finding."""

from __future__ import annotations

import json
import typing as t

import pytest

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import validate
from ansible_collections.cni.node.tests.support.check_each import check_each

IPV6: t.Final[JsonObject] = {"type": "bridge", "ipam": {"type": "host-local", "subnet": "fd00::/64"}}
BANDWIDTH: t.Final[JsonObject] = {"type": "bandwidth", "ingressRate": 1000000}


def bridge(*sets: list[JsonObject], **keys: t.Any) -> list[JsonObject]:
    return [{"type": "bridge", "isGateway": True, **keys, "ipam": {"type": "host-local", "ranges": list(sets)}}]


def static(*addresses: str, plugin: str = "ptp", **keys: t.Any) -> list[JsonObject]:
    listed = [{"address": address} for address in addresses]
    return [{"type": plugin, **keys, "ipam": {"type": "static", "addresses": listed}}]


CASES: t.Final[dict[str, list[JsonObject]]] = {
    "a subnet of each family": bridge([{"subnet": "10.1.0.0/24"}], [{"subnet": "fd00::/64"}]),
    "two subnets of IPv6": bridge([{"subnet": "fd00::/64"}], [{"subnet": "fd01::/64"}]),
    "two subnets without a gateway": bridge([{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/24"}], isGateway=False),
    "two ranges of a subnet with its gateway": bridge(
        [
            {"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.10", "rangeEnd": "10.1.0.19"},
            {"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.30", "rangeEnd": "10.1.0.39"},
        ]
    ),
    "two static addresses with one gateway": static("10.1.0.5/24", "10.1.0.6/24", plugin="bridge", isGateway=True),
    "static addresses that the runtime replaces": static(
        "10.1.0.5/24", "10.2.0.5/32", plugin="bridge", isGateway=True, capabilities={"ips": True}
    ),
    "a single address of ptp": static("10.1.0.5/32"),
    "both addresses of a pair": static("10.1.0.4/31", "10.1.0.7/31"),
    "the first and the last address of IPv6": static("fd00::/64", "fd00::ffff:ffff:ffff:ffff/64"),
    "one address in two networks": static("10.1.0.5/24", "10.1.0.5/16"),
    "ends that look reserved inside a larger subnet": bridge(
        [{"subnet": "10.1.0.0/16", "rangeStart": "10.1.2.0", "rangeEnd": "10.1.2.255", "gateway": "10.1.3.255"}]
    ),
    "a far gateway of ptp that looks reserved": [
        {"type": "ptp", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24", "gateway": "10.2.0.255"}}
    ],
    "masquerading for a virtual machine, which gets its default route from the gateway": [
        {"type": "ptp", "ipMasq": True, "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}},
        {"type": "tc-redirect-tap"},
    ],
    "a word of Calico for the range of one family": [
        {
            "type": "calico",
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": "usePodCidr"}], [{"subnet": "fd00::/64"}]],
                "routes": [{"dst": "0.0.0.0/0"}, {"dst": "fd00::/42"}],
            },
        }
    ],
    "IPv6 of new interfaces only": [IPV6, {"type": "tuning", "sysctl": {"net.ipv6.conf.default.disable_ipv6": "1"}}],
    "IPv6 of another interface": [IPV6, {"type": "tuning", "sysctl": {"net.ipv6.conf.eth9.disable_ipv6": "1"}}],
    "IPv6 left on": [IPV6, {"type": "tuning", "sysctl": {"net.ipv6.conf.all.disable_ipv6": "0"}}],
    "IPv6 switched off beside IPv4": [
        *static("10.1.0.5/24"),
        {"type": "tuning", "mtu": 576, "sysctl": {"net.ipv6.conf.all.disable_ipv6": "1"}},
    ],
    "the least MTU of IPv6": [IPV6, {"type": "tuning", "mtu": 1280}],
    "a burst of one packet": [{"type": "bridge"}, {**BANDWIDTH, "ingressBurst": 12112}],
    "a burst of one small packet": [{"type": "bridge", "mtu": 576}, {**BANDWIDTH, "ingressBurst": 8000}],
    "a burst with an unknown MTU": [{"type": "acme"}, {**BANDWIDTH, "ingressBurst": 8000}],
    "chains of others": [
        {"type": "acme"},
        {"type": "firewall", "iptablesAdminChainName": "forward"},
        {"type": "portmap", "externalSetMarkChain": "KUBE-MARK-MASQ"},
    ],
    "a local MAC address": [{"type": "bridge"}, {"type": "tuning", "mac": "02:00:5e:00:00:01"}],
}


def require_no_finding(plugins: list[JsonObject]) -> None:
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": plugins}
    assert list(map(str, validate([Source("test", json.dumps(network).encode())]))) == []


def test_a_network_that_only_resembles_a_broken_one_has_no_finding() -> None:
    check_each(CASES, require_no_finding)
