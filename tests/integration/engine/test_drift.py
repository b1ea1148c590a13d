# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drift is found in the kernel without running a plugin, named, and repaired."""

from __future__ import annotations

import contextlib
import os
import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip, links, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]


def test_the_kernel_view_equals_the_view_of_iproute2(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    node.write(
        reference_networks.network(
            reference_networks.bridge(ipam=reference_networks.host_local("10.2.0.0/16", "fd00:2::/64"))
        )
    )
    engine.add(attachment("net", blue))
    for name, path in ((blue.name, str(blue.path)), (None, "")):
        seen = rtnetlink.snapshot(path)
        names = {link.ifindex: link.name for link in seen.links}
        assert [
            (link.ifindex, link.name, link.mac, link.mtu, link.is_up, names.get(link.master)) for link in seen.links
        ] == [
            (link["ifindex"], link["ifname"], link["address"], link["mtu"], "UP" in link["flags"], link.get("master"))
            for link in ip("link", namespace=name)
        ]
        assert sorted((names[address.link], str(address.interface)) for address in seen.addresses) == sorted(
            (link["ifname"], f"{info['local']}/{info['prefixlen']}")
            for link in ip("address", namespace=name)
            for info in link["addr_info"]
        )
        assert {str(route.destination) for route in seen.routes if route.table == 254} == {
            everything if route["dst"] == "default" else route["dst"]
            for family, everything in (("-4", "0.0.0.0/0"), ("-6", "::/0"))
            for route in ip(family, "route", "show", "table", "main", namespace=name)
            if route.get("type", "unicast") == "unicast"
        }
    assert {link.kind for link in rtnetlink.snapshot("").links if link.name != "lo"} >= {"bridge", "veth"}
    assert rtnetlink.link("cni0") == next(link for link in rtnetlink.snapshot("").links if link.name == "cni0")
    for name in ("nothing", "", "cni0\0x", "cni0" + 12 * "x", 70_000 * "x"):
        assert rtnetlink.link(name) is None


def _host_end(result: JsonObject) -> str:
    return str(result["interfaces"][1]["name"])


# A change inside the namespace or on the node, and the reported drift.
SPOILED = {
    "interface deleted": ("ip link delete eth0", True, "interface eth0 is gone"),
    "interface renamed": ("ip link set eth0 down name other", True, "interface eth0 is called other now"),
    "interface down": ("ip link set eth0 down", True, "interface eth0 is down"),
    "another MAC": ("ip link set eth0 address 02:00:00:00:00:01", True, "the MAC of eth0 is 02:00:00:00:00:01, not "),
    "address lost": ("ip address flush dev eth0", True, "address 10.1.0."),
    "route lost": ("ip route delete default", True, "the route to 0.0.0.0/0 is missing"),
    "host end down": ("ip link set {host} down", False, "interface {host} of the node is down"),
    "host end off its bridge": (
        "ip link set {host} nomaster",
        False,
        "interface {host} of the node is not a port of cni0",
    ),
    "bridge deleted": ("ip link delete cni0", False, "interface cni0 of the node is gone"),
}

INTERFACE_GONE = ("interface deleted", "interface renamed")


def test_drift_is_named_and_repaired_without_running_check(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    bridge = reference_networks.bridge(
        ipam={**reference_networks.host_local("10.1.0.0/16"), "routes": [{"dst": "0.0.0.0/0"}]}
    )
    node.write(reference_networks.network(bridge))
    item = attachment("net", blue)
    require_success(engine.ensure(item, check="drift"))
    for name, (command, inside, drift) in SPOILED.items():
        host = _host_end(engine.result(item))
        assert require_success(engine.ensure(item, check="drift")) == ("checked", False, "")
        argv = command.format(host=host).split()
        blue.run(*argv) if inside else subprocess.run(argv, check=True)
        failed = engine.ensure(item, check="drift", on_drift="fail")
        assert (failed.action, failed.changed) == ("failed", False)
        assert drift.format(host=host) in str(failed.error)
        action, changed, reason = require_success(engine.ensure(item, check="drift"))
        expected = "recreated" if name in INTERFACE_GONE else "repaired"
        assert (action, changed, drift.format(host=host) in reason) == (expected, True, True)


@pytest.mark.other_kernel
def test_the_gateway_link_of_a_vlan_is_not_a_bridge_port(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    """Accept the pair that bridge creates for a VLAN: both ends are on the node."""
    node.write(reference_networks.network({**reference_networks.bridge(), "vlan": 100}))
    item = attachment("net", blue)
    engine.ensure(item)
    assert require_success(engine.ensure(item)) == ("checked", False, "")
    subprocess.run(["ip", "link", "set", links()["cni0.100"]["link"], "nomaster"], check=True)
    failed = engine.ensure(item, check="drift", on_drift="fail")
    assert "the peer of interface cni0.100 of the node is not a port of cni0" in str(failed.error)


def test_a_false_alarm_does_not_hide_drift(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    """Find the drift although bridge's CHECK stops at a changed MAC of the bridge."""
    node.write(reference_networks.network(reference_networks.bridge()))
    item = attachment("net", blue)
    engine.ensure(item)
    subprocess.run(["ip", "link", "set", "cni0", "address", "02:00:00:00:00:01"], check=True)
    assert [alarm.code for alarm in engine.ensure(item).false_alarms] == [999]
    blue.run("ip", "link", "delete", "eth0")
    action, dummy, reason = require_success(engine.ensure(item))
    assert (action, reason.startswith("interface eth0 is gone")) == ("recreated", True)


MASQUERADE_CHAIN, PORTS_CHAIN = "CNI-c6552c4eb66f3dfcaf7de560", "CNI-DN-c6552c4eb66f3dfcaf7de"
MAPPED = "the rule that maps host port 8080/tcp to {address}:80"
# A change of the rules of the container blue, and the reported drift.
UNRULED = {
    "masquerade rule": (
        ["iptables -D POSTROUTING -s {address}/32 -m comment --comment {comment} -j " + MASQUERADE_CHAIN],
        ["the masquerade rule of {address} is gone"],
    ),
    "masquerade chain emptied": (
        [f"iptables -F {MASQUERADE_CHAIN}"],
        [f"the chain {MASQUERADE_CHAIN} lacks rules to masquerade {{address}}"],
    ),
    "masquerade chain removed": (
        ["iptables -F POSTROUTING", f"iptables -F {MASQUERADE_CHAIN}", f"iptables -X {MASQUERADE_CHAIN}"],
        ["the masquerade rule of {address} is gone"],
    ),
    "port's rule": ([f"iptables -D {PORTS_CHAIN} 3"], [f"{MAPPED} is gone"]),
    "port's chain": (
        ["iptables -F CNI-HOSTPORT-DNAT", f"iptables -F {PORTS_CHAIN}", f"iptables -X {PORTS_CHAIN}"],
        [f"{MAPPED} is gone", "the rule that maps host port 10.1.0.1:8081/udp to {address}:81 is gone"],
    ),
    "port's jump": (["iptables -D CNI-HOSTPORT-DNAT 1"], [f"the jump to {MAPPED} is gone"]),
    "ports' hook": (["iptables -F PREROUTING"], ["the jump from PREROUTING to CNI-HOSTPORT-DNAT is gone"]),
    "IPv6": (
        ["ip6tables -F POSTROUTING", f"ip6tables -F {PORTS_CHAIN}"],
        [
            "the masquerade rule of {other} is gone",
            "the rule that maps host port 8080/tcp to [{other}]:80 is gone",
        ],
    ),
    "all of iptables": (
        ["iptables -F", "iptables -X", "ip6tables -F", "ip6tables -X"],
        ["the masquerade rule of {address} is gone", "the masquerade rule of {other} is gone", f"{MAPPED} is gone"],
    ),
}


@pytest.fixture
def mapped(node: EngineNode, engine: Engine, blue: Namespace) -> JsonObject:
    """Yield an attachment of both families with two ports, and its names."""
    bridge = reference_networks.bridge(ipMasq=True, ipam={"type": "host-local", "ranges": RANGES})
    node.write(reference_networks.network(bridge, reference_networks.PORTMAP))
    item = attachment("net", blue, capability_args={"portMappings": PORTS})
    assert require_success(engine.ensure(item, check="drift")) == ("added", True, "")
    return item


RANGES = [[{"subnet": "10.1.0.0/16"}], [{"subnet": "fd00:1::/64"}]]
PORTS = [
    {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
    {"hostPort": 8081, "containerPort": 81, "protocol": "udp", "hostIP": "10.1.0.1"},
]


def _addresses(engine: Engine, item: JsonObject) -> dict[str, str]:
    address, other = (ip["address"].partition("/")[0] for ip in engine.result(item)["ips"])
    return {"address": address, "other": other, "comment": 'name: "net" id: "blue"'}


def _spoil(commands: list[str], **known: str) -> None:
    for command in commands:
        tool, *words = (word.format(**known) for word in command.split())
        subprocess.run([tool, "-w", "-t", "nat", *words], check=True)


@pytest.mark.parametrize(("commands", "missing"), UNRULED.values(), ids=UNRULED)
def test_missing_rules_are_named_and_restored(
    engine: Engine, mapped: JsonObject, commands: list[str], missing: list[str]
) -> None:
    known = _addresses(engine, mapped)
    assert require_success(engine.ensure(mapped, check="drift")) == ("checked", False, "")
    _spoil(commands, **known)
    expected = "; ".join(missing).format(**known)
    failed = engine.ensure(mapped, check="drift", on_drift="fail")
    assert (failed.action, failed.changed) == ("failed", False)
    assert expected in str(failed.error)
    action, changed, reason = require_success(engine.ensure(mapped, check="drift"))
    assert (action, changed, expected in reason) == ("repaired", True, True)
    assert require_success(engine.ensure(mapped, check="drift")) == ("checked", False, "")
    engine.ensure(mapped, present=False)
    rules = subprocess.run("iptables-save; ip6tables-save", shell=True, check=True, capture_output=True, text=True)
    assert "blue" not in rules.stdout


def test_rules_in_the_other_iptables_backend_are_not_drift(engine: Engine, mapped: JsonObject) -> None:
    """Switch the node's default backend after ADD."""
    if not os.path.realpath("/usr/sbin/iptables").endswith("nft-multi"):
        pytest.skip("iptables is not the one of nftables here")
    for tool in ("iptables", "ip6tables"):
        rules = subprocess.run([f"{tool}-save", "-t", "nat"], check=True, capture_output=True).stdout
        if subprocess.run([f"{tool}-legacy-restore"], input=rules, check=False).returncode != 0:
            pytest.skip("the kernel has no tables of the old kind")
    _spoil(["iptables -F", "iptables -X", "ip6tables -F", "ip6tables -X"])
    assert require_success(engine.ensure(mapped, check="drift")) == ("checked", False, "")
    subprocess.run(["iptables-legacy", "-t", "nat", "-F", PORTS_CHAIN], check=True)
    assert require_success(engine.ensure(mapped, check="drift"))[2].startswith(
        "the rule that maps host port 8080/tcp to 10.1.0.2:80"
    )


# Rules as bridge and portmap of release 1.9.1 create them.
PORTS_TABLE = """\
table {family} cni_hostport {{
  chain hostports {{ }}
  chain hostip_hostports {{ }}
  chain hostports_all {{ jump hostip_hostports; jump hostports; }}
  chain prerouting {{
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local jump hostports_all
  }}
  chain output {{
    type nat hook output priority -100; policy accept;
    fib daddr type local jump hostports_all
  }}
  chain masquerading {{ type nat hook postrouting priority srcnat; policy accept; }}
}}
"""
TABLES = """\
table inet cni_plugins_masquerade {{
  chain masq_checks {{
    ip saddr {address} ip daddr != 10.1.0.0/16 masquerade comment "{comment}"
    ip6 saddr {other} ip6 daddr != fd00:1::/64 masquerade comment "{comment}"
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip daddr 224.0.0.0/4 return
    ip6 daddr ff00::/8 return
    goto masq_checks
  }}
}}
table ip cni_hostport {{
  chain hostports {{
    tcp dport 8080 dnat to {address}:80 comment "blue"
    ip daddr 10.1.0.1 udp dport 8081 dnat to {address}:81 comment "blue"
  }}
  chain masquerading {{
    ip saddr {address} ip daddr {address} masquerade comment "blue"
    ip saddr 127.0.0.1 ip daddr {address} masquerade comment "blue"
  }}
}}
table ip6 cni_hostport {{
  chain hostports {{
    tcp dport 8080 dnat to [{other}]:80 comment "blue"
  }}
  chain masquerading {{
    ip6 saddr {other} ip6 daddr {other} masquerade comment "blue"
  }}
}}
"""
# Digests of "net" and "eth0:blue".
INSTANCE = "a4861f4ae9f7d238-d8b4af2ef34b4090, net: net, if: eth0, id: blue"


def _move_to_nftables(engine: Engine, item: JsonObject) -> None:
    """Replace the installed plugins' rules by those of 1.9.1, which the installed plugins do not support."""
    known = {**_addresses(engine, item), "comment": INSTANCE}
    _spoil(["iptables -F", "iptables -X", "ip6tables -F", "ip6tables -X"])
    tables = "".join(PORTS_TABLE.format(family=family) for family in ("ip", "ip6"))
    subprocess.run(["nft", "-f", "-"], check=True, input=tables + TABLES.format(**known), text=True)


def test_rules_of_nftables_are_accepted(engine: Engine, mapped: JsonObject) -> None:
    _move_to_nftables(engine, mapped)
    assert require_success(engine.ensure(mapped, check="drift")) == ("checked", False, "")
    subprocess.run(["nft", "flush", "chain", "ip6", "cni_hostport", "hostports"], check=True)
    reason = require_success(engine.ensure(mapped, check="drift"))[2]
    assert reason.startswith("the rule that maps host port 8080/tcp to [fd00:1::2]:80 is gone")


# A change of the tables of nftables, and the reported drift.
UNHOOKED = {
    "jump": (
        ["flush chain ip cni_hostport prerouting"],
        "the jump from prerouting to the chain hostports of ip cni_hostport is gone",
    ),
    "base chain": (
        ["flush chain ip6 cni_hostport output", "delete chain ip6 cni_hostport output"],
        "the jump from output to the chain hostports of ip6 cni_hostport is gone",
    ),
    "jump between chains": (
        ["flush chain ip cni_hostport hostports_all"],
        "the jump from prerouting to the chain hostports of ip cni_hostport is gone",
    ),
    "masquerading of ports": (
        ["flush chain ip cni_hostport masquerading"],
        "a rule to masquerade connections to the mapped ports of 10.1.0.2 is gone",
    ),
    "base chain of masquerading": (
        ["flush chain inet cni_plugins_masquerade postrouting", "delete chain inet cni_plugins_masquerade postrouting"],
        "the jump from postrouting to the chain masq_checks of inet cni_plugins_masquerade is gone",
    ),
}


@pytest.mark.parametrize(("commands", "drift"), UNHOOKED.values(), ids=UNHOOKED)
def test_unreachable_rules_of_nftables_are_drift(
    node: EngineNode, engine: Engine, blue: Namespace, commands: list[str], drift: str
) -> None:
    bridge = reference_networks.bridge(
        ipMasq=True, ipMasqBackend="nftables", ipam={"type": "host-local", "ranges": RANGES}
    )
    node.write(reference_networks.network(bridge, {**reference_networks.PORTMAP, "backend": "nftables"}))
    item = attachment("net", blue, capability_args={"portMappings": PORTS})
    engine.ensure(item)
    _move_to_nftables(engine, item)
    assert require_success(engine.ensure(item, check="drift", on_drift="fail")) == ("checked", False, "")
    subprocess.run(["nft", "-f", "-"], check=True, input="\n".join(commands), text=True)
    failed = engine.ensure(item, check="drift", on_drift="fail")
    assert str(failed.error) == f"{drift}; looked for in the node's firewall"


CHECK = "cni-br-iface-blue-eth0"
UNCHECKED = {
    "rule that leads there": ("flush chain bridge nat PREROUTING", f"the rule that leads to the chain {CHECK} is gone"),
    "rules for the MAC": (f"flush chain bridge nat {CHECK}-mac", f"the chain {CHECK} lacks rules to check MACs"),
    "table": ("delete table bridge nat", f"the rule that leads to the chain {CHECK} is gone"),
}


def test_a_missing_macspoofchk_rule_is_drift_and_is_restored(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge(macspoofchk=True)))
    item = attachment("net", blue)
    engine.ensure(item)
    for command, drift in UNCHECKED.values():
        assert require_success(engine.ensure(item, check="drift")) == ("checked", False, "")
        subprocess.run(["nft", *command.split()], check=True)
        action, changed, reason = require_success(engine.ensure(item, check="drift"))
        assert (action, changed, reason.startswith(drift)) == ("repaired", True, True)
    assert require_success(engine.ensure(item, check="drift")) == ("checked", False, "")
    engine.ensure(item, present=False)
    ruleset = subprocess.run(["nft", "list", "ruleset"], check=True, capture_output=True, text=True).stdout
    assert "blue" not in ruleset


@pytest.mark.parametrize(("on_drift", "expected"), [("recreate", "recreated"), ("repair", "repaired")])
def test_rules_of_attachments_added_in_parallel_are_not_drift(
    node: EngineNode, engine: Engine, on_drift: str, expected: str
) -> None:
    """Add in parallel: rules read by one thread are older than those that other threads have created."""
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True), reference_networks.PORTMAP))
    with contextlib.ExitStack() as made:
        items = []
        for number in range(8):
            port = {"hostPort": 8000 + number, "containerPort": 80, "protocol": "tcp"}
            spaces = made.enter_context(namespace(f"c{number}"))
            items.append(attachment("net", spaces, capability_args={"portMappings": [port]}))
        engine.ensure_all(items[:6], check="drift")
        _spoil(["iptables -F"])
        outcomes = [
            require_success(outcome)[:2]
            for outcome in engine.ensure_all(items, check="drift", on_drift=on_drift, workers=4)
        ]
        assert outcomes == [(expected, True)] * 6 + [("added", True)] * 2
        assert {require_success(outcome) for outcome in engine.ensure_all(items, check="drift")} == {
            ("checked", False, "")
        }
        for item in items:
            engine.delete(item)
