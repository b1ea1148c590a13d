# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Built-in plugins write every rule that a configuration asks for, as the kernel shows it."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root]

PORTS = [{"hostPort": reference_networks.HOST_PORT, "containerPort": 80, "protocol": "tcp"}]


def output(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def attach(node: EngineNode, here: Engine, blue: Namespace, plugin: JsonObject) -> JsonObject:
    """Attach a container with a plugin after bridge; a second run must find it complete."""
    node.write(reference_networks.network(reference_networks.bridge(), plugin))
    item = attachment("net", blue, capability_args={"portMappings": PORTS})
    here.add(item)
    assert require_success(here.ensure(item, check="always"))[:2] == ("checked", False)
    return item


def portmap(**keys: t.Any) -> JsonObject:
    return {**reference_networks.PORTMAP, **keys}


def test_conditions_of_nftables_may_have_names_in_quotes(node: EngineNode, here: Engine, blue: Namespace) -> None:
    item = attach(node, here, blue, portmap(backend="nftables", conditionsV4=['iifname "lo"']))
    table = output("nft", "list", "table", "ip", "cni_hostport")
    assert table.count('iifname "lo" fib daddr type local jump hostports_all') == 2
    here.delete(item)


def test_masq_all_masquerades_every_connection_with_nftables(node: EngineNode, here: Engine, blue: Namespace) -> None:
    item = attach(node, here, blue, portmap(backend="nftables", masqAll=True))
    chain = output("nft", "list", "chain", "ip", "cni_hostport", "masquerading")
    assert "ip saddr 0.0.0.0/0 ip daddr 10.1.0.2 masquerade" in chain
    assert chain.count(" masquerade ") == 1
    here.delete(item)
    assert "masquerade " not in output("nft", "list", "chain", "ip", "cni_hostport", "masquerading")


@pytest.mark.parametrize(
    ("words", "saved"),
    [
        (["-s", "1.2.3.4"], "-s 1.2.3.4/32"),
        (["-m", "mark", "--mark=0x10"], "--mark 0x10"),
        (["-m", "comment", "--comment", "two words"], '--comment "two words"'),
        (["-m", "comment", "--comment=it's"], "it\\'s"),
        (["-m", "string", "--string", 'a"b', "--algo", "bm"], '--string "a\\"b"'),
    ],
)
def test_each_word_of_a_condition_reaches_iptables(
    node: EngineNode, here: Engine, blue: Namespace, words: list[str], saved: str
) -> None:
    item = attach(node, here, blue, portmap(backend="iptables", conditionsV4=words))
    rules = [line for line in output("iptables-save", "-t", "nat").splitlines() if "-A CNI-HOSTPORT-DNAT" in line]
    assert len(rules) == 1
    assert saved in rules[0]
    here.delete(item)


@pytest.mark.parametrize("chain", ["_ADMIN", "10-ADMIN", "my+admin", "cni:admin", "é" * 14])
def test_an_admin_chain_may_have_every_name_of_iptables(
    node: EngineNode, here: Engine, blue: Namespace, chain: str
) -> None:
    item = attach(node, here, blue, {"type": "firewall", "backend": "iptables", "iptablesAdminChainName": chain})
    rules = output("iptables-save", "-t", "filter")
    assert f"-j {chain}\n" in rules
    assert rules.count("-j ACCEPT") == 2
    here.delete(item)


@pytest.mark.parametrize("rate", [1_000_000, 10_000_000, 16_000_000])
def test_a_burst_that_the_kernel_cannot_count_becomes_the_largest_one(
    node: EngineNode, here: Engine, blue: Namespace, rate: int
) -> None:
    limits = {"ingressRate": rate, "ingressBurst": 2**32 - 1, "egressRate": rate, "egressBurst": 2**32 - 1}
    item = attach(node, here, blue, {"type": "bandwidth", **limits})
    buckets = output("tc", "qdisc", "show")
    assert buckets.count(f"rate {rate // 1_000_000}Mbit") == 2
    here.delete(item)


@pytest.mark.parametrize(
    ("plugin", "key"),
    [
        ({"type": "tap", "mtu": -1}, "/mtu"),
        ({"type": "tap", "owner": 1 << 32}, "/owner"),
        ({"type": "macvlan", "master": "lo", "bcqueuelen": -1}, "/bcqueuelen"),
        ({"type": "macvlan", "master": "lo", "mtu": 1 << 32}, "/mtu"),
    ],
)
def test_a_number_that_the_kernel_cannot_take_is_refused_with_its_place(
    node: EngineNode, here: Engine, blue: Namespace, plugin: JsonObject, key: str
) -> None:
    node.write(reference_networks.network(plugin))
    with pytest.raises(CniError, match=f"{key}: .* is out of range"):
        here.add(attachment("net", blue))


def test_sbr_keeps_a_route_whose_gateway_is_in_the_network_of_no_address(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    ipam = {
        "type": "static",
        "addresses": [{"address": "fd02::5/64", "gateway": "fe80::1"}, {"address": "fd03::5/64"}],
        "routes": [{"dst": "fd09::/64", "gw": "fe80::1"}],
    }
    node.write(reference_networks.network({"type": "bridge", "ipam": ipam}, {"type": "sbr"}))
    item = attachment("net", blue)
    here.add(item)
    tables = ("100", "101")
    for table in tables:
        assert "fd09::/64 via fe80::1 dev eth0" in _routes(blue, table)
    assert "fd09::/64" not in _routes(blue, "main")
    assert require_success(here.ensure(item, check="always"))[:2] == ("checked", False)
    for table in tables:
        blue.run("ip", "-6", "route", "delete", "fd09::/64", "table", table)
        repaired = here.ensure(item, check="drift")
        assert (repaired.action, repaired.repairs) == (
            "repaired",
            ("repaired: the route to fd09::/64 via fe80::1 is missing",),
        )
        assert "fd09::/64 via fe80::1 dev eth0" in _routes(blue, table)


def test_a_default_route_of_another_table_does_not_replace_that_of_the_main_table(
    node: EngineNode, here: Engine, blue: Namespace
) -> None:
    ipam = {
        "type": "static",
        "addresses": [{"address": "10.8.0.5/24"}],
        "routes": [{"dst": "0.0.0.0/0", "table": 100}],
    }
    node.write(reference_networks.network({"type": "bridge", "isDefaultGateway": True, "ipam": ipam}))
    here.add(attachment("net", blue))
    assert "default via 10.8.0.1" in _routes(blue, "100", "-4")
    assert "default via 10.8.0.1" in _routes(blue, "main", "-4")


@pytest.mark.parametrize(
    ("pattern", "is_allowed"),
    [
        (r"^net\.ipv4\.conf\.[[:alnum:]]+\.arp_[a-z]+$", True),
        (r"^net\.ipv4\.conf\.[[:alpha:]\d]+\.arp_filter\z", True),
        (r"^net\.ipv4\.conf\.[[:alpha:]]+\.arp_filter$", False),
    ],
)
def test_patterns_of_allowed_settings_are_read_as_go_reads_them(
    node: EngineNode, here: Engine, blue: Namespace, pattern: str, is_allowed: bool
) -> None:
    allowed = pathlib.Path(NODE_PATHS.tuning_allowlist)
    allowed.parent.mkdir(parents=True)
    allowed.write_text(f"{pattern}\n", encoding="utf-8")
    tuning = {"type": "tuning", "sysctl": {"net.ipv4.conf.eth0.arp_filter": "1"}}
    node.write(reference_networks.network(reference_networks.bridge(), tuning))
    expected = contextlib.nullcontext() if is_allowed else pytest.raises(CniError, match="is not allowed on this node")
    with expected:
        here.add(attachment("net", blue))


def test_a_gateway_may_be_a_link_local_address(node: EngineNode, here: Engine, blue: Namespace) -> None:
    ipam = {"type": "host-local", "ranges": [[{"subnet": "fd00:1::/64", "gateway": "fe80::1"}]]}
    node.write(reference_networks.network({"type": "bridge", "bridge": "cni0", "isGateway": True, "ipam": ipam}))
    item = attachment("net", blue)
    here.add(item)
    assert require_success(here.ensure(item, check="always"))[:2] == ("checked", False)
    link_local = [
        line.split()[1] for line in output("ip", "-6", "address", "show", "cni0").splitlines() if "fe80" in line
    ]
    assert len(link_local) == 2  # the kernel's own is still there
    assert "fe80::1/64" in link_local


def test_a_node_without_ipv6_is_named_as_the_reason(node: EngineNode, here: Engine, blue: Namespace) -> None:
    ipam = reference_networks.host_local("10.1.0.0/16", "fd00:1::/64")
    node.write(reference_networks.network(reference_networks.bridge(ipam=ipam)))
    settings = [f"net.ipv6.conf.{name}.disable_ipv6" for name in ("all", "default")]
    subprocess.run(["sysctl", "-qw", *(f"{name}=1" for name in settings)], check=True)
    try:
        with pytest.raises(CniError, match="cannot add the address fd00:1::1/64: IPv6 is switched off") as raised:
            here.add(attachment("net", blue))
    finally:
        subprocess.run(["sysctl", "-qw", *(f"{name}=0" for name in settings)], check=True)
    assert all(name in str(raised.value) for name in settings)


def _routes(inside: Namespace, table: str, family: str = "-6") -> str:
    return output(*inside.argv("ip", family, "route", "show", "table", table))
