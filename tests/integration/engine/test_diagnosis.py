# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A diagnosis names the step at which a packet is lost, and finds nothing broken on a way that works."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import pathlib
import socket
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._linux import syscall
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.diagnosis import Diagnosis, diagnose
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.examination import SentPacket
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import Check, State
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.connections import NEIGHBOUR, NODE, listen, neighbour
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import (
    inside,
    spare_duplicate_address_detection,
)
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespaces

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

WEB_PORT, HOST_PORT, NODE_PORT, OUTSIDE_PORT = 80, 8080, 7000, 9000
TIMEOUT = 0.4  # seconds
SUBNETS = ("10.1.0.0/16", "fd00:1::/64")
PORTS = [{"hostPort": HOST_PORT, "containerPort": WEB_PORT, "protocol": "tcp"}]
NODE_ADDRESS = f"{NODE[4]}:{NODE_PORT}"
MAPPED = f"{NODE[4]}:{HOST_PORT}"
OUTSIDE = f"{NEIGHBOUR[4]}:{OUTSIDE_PORT}"


class Site:
    """A node with two containers, web and client, which are attached to one network, and a machine outside."""

    def __init__(self, node: EngineNode, web: Namespace, client: Namespace, *plugins: JsonObject) -> None:
        node.write(reference_networks.network(*plugins))
        items = [
            attachment("net", web, capability_args={"portMappings": PORTS} if len(plugins) > 1 else {}),
            attachment("net", client),
        ]
        entries = node.attach(*items, builtin="always")
        self.node, self.web, self.client = node, web, client
        self.addresses = {
            name: [ip["address"].partition("/")[0] for ip in entry["result"]["ips"]]
            for name, entry in zip(("web", "client"), entries)
        }
        self.host_ends = {
            name: next(each["name"] for each in entry["result"]["interfaces"] if each["name"].startswith("veth"))
            for name, entry in zip(("web", "client"), entries)
            if plugins[0]["type"] in ("bridge", "ptp")
        }

    def run(self, commands: str) -> None:
        """Run commands on the node; words in braces are replaced."""
        words: dict[str, str] = {f"{name}_end": end for name, end in self.host_ends.items()}
        words.update({name: addresses[0] for name, addresses in self.addresses.items()})
        words.update({f"{name}6": addresses[1] for name, addresses in self.addresses.items() if len(addresses) > 1})
        for name, value in words.items():
            commands = commands.replace(f"{{{name}}}", value)
        subprocess.run(["sh", "-ec", commands], check=True, capture_output=True)

    def diagnose(
        self,
        source: str,
        destination: str,
        *,
        dry_run: bool = False,
        sent: SentPacket | None = None,
        elsewhere: bool = False,
    ) -> Diagnosis:
        return diagnose(
            NODE_PATHS,
            str(self.node.cache_dir),
            source,
            destination,
            TIMEOUT,
            dry_run=dry_run,
            sent=sent,
            elsewhere=elsewhere,
        )


@contextlib.contextmanager
def site(node: EngineNode, *plugins: JsonObject) -> t.Iterator[Site]:
    with contextlib.ExitStack() as stack:
        outside = stack.enter_context(neighbour())
        web, client = stack.enter_context(namespaces("web", "client"))
        for each in (web, client):
            with inside(each.path):
                spare_duplicate_address_detection()
        made = Site(node, web, client, *plugins)
        for family in (4, 6):
            stack.enter_context(listen(web.path, family, WEB_PORT))
        stack.enter_context(listen(outside.path, 4, OUTSIDE_PORT))
        stack.enter_context(listen(pathlib.Path("/proc/thread-self/ns/net"), 4, NODE_PORT))
        yield made


BRIDGE = (
    reference_networks.bridge(
        ipMasq=True, ipam=reference_networks.host_local(*SUBNETS, routes=reference_networks.DEFAULT_ROUTES)
    ),
    reference_networks.PORTMAP,
)
PTP = (
    {
        **reference_networks.PTP,
        "ipam": reference_networks.host_local(*SUBNETS, routes=reference_networks.DEFAULT_ROUTES),
    },
    reference_networks.PORTMAP,
)
# The result names the links that bandwidth makes on the node, too.
LIMITED = (*PTP, reference_networks.BANDWIDTH)
_BARE = reference_networks.host_local(*SUBNETS, routes=reference_networks.DEFAULT_ROUTES)
NO_SNAT = (reference_networks.bridge(ipam=_BARE), {**reference_networks.PORTMAP, "snat": False})
PLAIN = (reference_networks.bridge(ipam=_BARE), reference_networks.PORTMAP)
SPOOF_CHECKED = (reference_networks.bridge(ipam=_BARE, macspoofchk=True), reference_networks.PORTMAP)
ISOLATED = (reference_networks.bridge(ipam=_BARE, portIsolation=True), reference_networks.PORTMAP)
MACVLAN = ({"type": "macvlan", "master": "lan0", "ipam": reference_networks.host_local(*SUBNETS)},)
PRIVATE = ({**MACVLAN[0], "mode": "private"},)
WAYS = {
    "to a container": ("client", "web:80"),
    "ping": ("client", "web"),
    "to the node": ("client", NODE_ADDRESS),
    "to a host port": ("client", MAPPED),
    "outside": ("client", OUTSIDE),
    "from the node": ("node", "web:80"),
    "to the node from its container": ("web", NODE_ADDRESS),
    "from the node to outside": ("node", OUTSIDE),
    "by IPv6": ("client", "[{web6}]:80"),
}


def rule(hook: str, text: str, *, family: str = "ip", inside: str = "") -> str:
    """Return the commands that add a rule of nftables in a chain of its own, on the node or in a network namespace."""
    chain = f"{{ type filter hook {hook} priority 10; }}"
    run = f"ip netns exec {inside} nft" if inside else "nft"
    return f"{run} 'add table {family} zz; add chain {family} zz c {chain}; add rule {family} zz c {text}'"


# What is broken, the way on which it is met, and what is named.
class Break(t.NamedTuple):
    """A way to break the network, and the step that is broken then.

    Attributes:
        commands: They break it; empty if it is missing from the start.
        way: A key of `WAYS`.
        check, place: What a diagnosis has to name.
        plugins: Those of the network.
    """

    commands: str
    way: str
    check: Check
    place: str
    plugins: tuple[JsonObject, ...] = BRIDGE


BREAKS: dict[str, tuple[t.Any, ...]] = {
    "interface down": ("ip -n client link set eth0 down", "to a container", Check.LINK, "client"),
    "no address": ("ip -n client address flush dev eth0", "to a container", Check.ADDRESS, "client"),
    "no default route": ("ip -n client route delete default", "outside", Check.ROUTE, "client"),
    "no connected route": (
        "ip -n client route delete 10.1.0.0/16; ip -n client route delete default",
        "to a container",
        Check.ROUTE,
        "client",
    ),
    "blackhole route": ("ip -n client route add blackhole 192.0.2.0/24", "outside", Check.ROUTE, "client"),
    "sender's end down": ("ip link set {client_end} down", "to a container", Check.PAIR, "node"),
    "sender's port": ("ip link set {client_end} nomaster", "to a container", Check.PORT, "node"),
    "bridge down": ("ip link set cni0 down", "to a container", Check.BRIDGE, "node"),
    "bridge down for the node": ("ip link set cni0 down", "from the node", Check.LINK, "node"),
    "no route of the node": ("ip route flush dev cni0", "from the node", Check.ROUTE, "node"),
    "receiver's end down": ("ip link set {web_end} down", "to a container", Check.PAIR, "node"),
    "receiver's port": ("ip link set {web_end} nomaster", "to a container", Check.PORT, "node"),
    "receiver down": ("ip -n web link set eth0 down", "to a container", Check.LINK, "web"),
    "receiver without address": ("ip -n web address flush dev eth0", "to a container", Check.ADDRESS, "web"),
    "receiver without interface": ("ip -n web link delete eth0", "to a container", Check.LINK, "web"),
    "receiver's way back": ("ip -n web route flush table main", "to a container", Check.ROUTE, "web"),
    "isolated ports": (
        "bridge link set dev {client_end} isolated on; bridge link set dev {web_end} isolated on",
        "to a container",
        Check.ISOLATION,
        "node",
    ),
    "port blocked": (
        "ip link set cni0 type bridge stp_state 1; ip link set {client_end} nomaster; ip link set {client_end} master cni0",
        "to a container",
        Check.PORT,
        "node",
    ),
    "gateway's address": ("ip address flush dev cni0", "outside", Check.GATEWAY, "node"),
    "forwarding off": ("sysctl -qw net.ipv4.ip_forward=0", "outside", Check.FORWARDING, "node"),
    "forwarding off on the bridge": ("sysctl -qw net.ipv4.conf.cni0.forwarding=0", "outside", Check.FORWARDING, "node"),
    "rp_filter": (
        "sysctl -qw net.ipv4.conf.all.rp_filter=1; ip route add 10.1.0.0/17 via 192.0.2.2",
        "outside",
        Check.REVERSE_PATH,
        "node",
    ),
    "node without route": ("ip route flush 192.0.2.0/24", "outside", Check.ROUTE, "node"),
    "uplink down": (
        "ip link set lan0 down; ip route add 192.0.2.0/24 via 10.1.255.1 dev cni0 onlink",
        "outside",
        Check.NEIGHBOUR,
        "node",
    ),
    "neighbour silent": (
        "ip -n neighbour address delete 192.0.2.2/24 dev eth0",
        "outside",
        Check.NEIGHBOUR,
        "node",
    ),
    "outside closed": ("true", "outside closed", Check.LISTENER, "neighbour"),
    "no masquerade": ("iptables -t nat -F POSTROUTING", "outside", Check.MASQUERADE, "node"),
    "FORWARD policy": ("iptables -P FORWARD DROP", "outside", Check.FIREWALL, "node"),
    "FORWARD rule": ("iptables -I FORWARD -s {client} -j REJECT", "outside", Check.FIREWALL, "node"),
    "FORWARD rule for bridges": (
        "sysctl -qw net.bridge.bridge-nf-call-iptables=1; iptables -I FORWARD -j DROP",
        "to a container",
        Check.FIREWALL,
        "node",
    ),
    "FORWARD in nftables": (rule("forward", "tcp dport 9000 drop"), "outside", Check.FIREWALL, "node"),
    "answers dropped": (rule("forward", "tcp sport 9000 drop"), "outside", Check.FIREWALL, "node"),
    "prerouting in nftables": (rule("prerouting", "tcp dport 9000 drop"), "outside", Check.FIREWALL, "node"),
    "legacy rule": ("iptables-legacy -I FORWARD -s {client} -j DROP", "outside", Check.FIREWALL, "node"),
    "legacy policy": ("iptables-legacy -P FORWARD DROP", "outside", Check.FIREWALL, "node"),
    "rule in the container": (
        rule("input", "tcp dport 80 drop", inside="web"),
        "to a container",
        Check.FIREWALL,
        "web",
    ),
    "rule of the sender": (
        rule("output", "tcp dport 80 drop", inside="client"),
        "to a container",
        Check.FIREWALL,
        "client",
    ),
    "bridge rule": (
        rule("forward", "ip saddr {client} drop", family="bridge"),
        "to a container",
        Check.SPOOF_CHECK,
        "node",
    ),
    "INPUT": ("iptables -A INPUT -p tcp --dport 7000 -j DROP", "to the node", Check.FIREWALL, "node"),
    "nothing listens": ("true", "closed", Check.LISTENER, "web"),
    "nothing listens on the node": ("true", "closed on the node", Check.LISTENER, "node"),
    "port mapping": ("iptables -t nat -F PREROUTING", "to a host port", Check.HOST_PORT, "node"),
    "port mapping flushed": ("nft flush ruleset", "to a host port", Check.HOST_PORT, "node"),
    "answer past the node": (
        "sysctl -qw net.bridge.bridge-nf-call-iptables=0",
        "to a host port",
        Check.WAY_BACK,
        "node",
        NO_SNAT,
    ),
    "no way back from outside": ("true", "outside", Check.ROUTE, "neighbour", PLAIN),
    "own host port without hairpin": ("true", "own host port", Check.PORT, "node", PLAIN),
    "another MAC than macspoofchk expects": (
        "ip -n client link set eth0 address 02:00:00:00:00:77",
        "to a container",
        Check.SPOOF_CHECK,
        "node",
        SPOOF_CHECKED,
    ),
    "ports isolated by the network": ("true", "to a container", Check.ISOLATION, "node", ISOLATED),
    "node's route to a ptp": ("ip route delete {web}", "to a container", Check.ROUTE, "node", PTP),
    "node's end of a ptp down": ("ip link set {web_end} down", "from the node", Check.LINK, "node", PTP),
    "ptp's rp_filter": (
        "sysctl -qw net.ipv4.conf.all.rp_filter=1; ip route replace {client} via 192.0.2.2",
        "to a container",
        Check.REVERSE_PATH,
        "node",
        PTP,
    ),
    "node and macvlan": ("true", "from the node", Check.MODE, "node", MACVLAN),
    "private macvlans": ("true", "to a container", Check.MODE, "node", PRIVATE),
    "macvlan's parent down": ("ip link set lan0 down", "to a container", Check.PAIR, "node", MACVLAN),
    "macvlan without address": ("ip -n web address flush dev eth0", "to a container", Check.ADDRESS, "web", MACVLAN),
    "MTU": ("ip link set {web_end} mtu 1200; ip link set cni0 mtu 1500", "to a container", Check.MTU, "node"),
    "wrong neighbour": (
        "ip -n client neighbour replace {web} lladdr 02:00:00:00:00:99 dev eth0 nud permanent",
        "to a container",
        Check.NEIGHBOUR,
        "client",
    ),
    "ICMP ignored": ("ip netns exec web sysctl -qw net.ipv4.icmp_echo_ignore_all=1", "ping", Check.LISTENER, "web"),
    "netns gone": ("ip netns delete client", "to a container", Check.NETNS, "client"),
    "IPv6 forwarding": (
        "sysctl -qw net.ipv6.conf.all.forwarding=0; ip -n neighbour -6 route add default via 2001:db8::1",
        "outside by IPv6",
        Check.FORWARDING,
        "node",
    ),
    "IPv6 address": ("ip -n web -6 address flush dev eth0 scope global", "by IPv6", Check.ADDRESS, "web"),
    "FORWARD from outside": ("iptables -I FORWARD -s 192.0.2.2 -j DROP", "arrives", Check.FIREWALL, "node"),
    "answers to outside": (rule("forward", "tcp sport 80 drop"), "arrives", Check.FIREWALL, "node"),
    "FORWARD from outside, IPv6": (rule("forward", "drop", family="ip6"), "arrives by IPv6", Check.FIREWALL, "node"),
    "pings from outside": (rule("prerouting", "ip protocol icmp drop"), "ping arrives", Check.FIREWALL, "node"),
    "datagrams from outside": (rule("input", "udp dport 53 drop"), "datagram arrives", Check.FIREWALL, "node"),
    "legacy rule for outside": (
        "iptables-legacy -A INPUT -p tcp --dport 7000 -j DROP",
        "arrives at the node",
        Check.FIREWALL,
        "node",
    ),
    "port mapping for outside": ("iptables -t nat -F PREROUTING", "arrives", Check.HOST_PORT, "node"),
    "rule of the receiver": (
        rule("input", "tcp dport 80 drop", inside="web"),
        "arrives",
        Check.FIREWALL,
        "web",
    ),
}
WAYS.update(
    {
        "closed": ("client", "web:81"),
        "closed on the node": ("client", f"{NODE[4]}:7001"),
        "outside closed": ("client", f"{NEIGHBOUR[4]}:9999"),
        "own host port": ("web", MAPPED),
        "outside by IPv6": ("client", f"[{NEIGHBOUR[6]}]:{OUTSIDE_PORT}"),
        "arrives": (NEIGHBOUR[4], MAPPED),
        "arrives by IPv6": (NEIGHBOUR[6], "[{web6}]:80"),
        "arrives at the node": (NEIGHBOUR[4], NODE_ADDRESS),
        "ping arrives": (NEIGHBOUR[4], NODE[4]),
        "datagram arrives": (NEIGHBOUR[4], f"{NODE[4]}:53/udp"),
    }
)


def follow(made: Site, way: str, *, dry_run: bool = False) -> Diagnosis:
    source, destination = WAYS[way]
    return made.diagnose(source, destination.replace("{web6}", made.addresses["web"][1]), dry_run=dry_run)


@pytest.mark.parametrize("plugins", [BRIDGE, PTP, LIMITED], ids=["bridge", "ptp", "ptp with bandwidth"])
@pytest.mark.parametrize("dry_run", [False, True], ids=["run", "check mode"])
def test_nothing_is_broken_on_a_way_that_works(
    node: EngineNode,
    plugins: t.Sequence[JsonObject],
    dry_run: bool,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with site(node, *plugins) as made:
        for way in list(WAYS)[:9]:
            done = follow(made, way, dry_run=dry_run)
            assert done.broken is None, (way, "\n".join(done.lines))
            assert done.is_reached is (None if dry_run else True), (way, "\n".join(done.lines))
            assert (
                subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout.count(
                    "trace"
                )
                == 0
            )
    # nft, when it reads commands, keeps a history.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", BREAKS)
def test_the_broken_step_is_named(node: EngineNode, name: str) -> None:
    expected = Break(*BREAKS[name])
    with site(node, *expected.plugins) as made:
        made.run(expected.commands)
        done = follow(made, expected.way)
        text = "\n".join(done.lines)
        assert done.broken is not None, text
        assert (done.broken.check, done.broken.place) == (expected.check, expected.place), text
        assert done.broken is done.steps[-1]


def test_the_address_that_is_missing_is_added_with_its_prefix_length(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        for name, source, destination in (("web", "client", "web:80"), ("client", "client", "web:80")):
            made.run(f"ip -n {name} -4 address flush dev eth0")
            step = made.diagnose(source, destination).broken
            assert step is not None
            assert step.command == f"ip -n {name} address add {made.addresses[name][0]}/16 dev eth0"
            made.run(f"{step.command}; ip -n {name} route replace default via 10.1.0.1")


MASQUERADED = (reference_networks.bridge(ipam=_BARE, ipMasq=True),)
IDLE_BRIDGE = """
link add old0 type bridge
link set old0 up
address add 10.1.0.1/16 dev old0
address add fd00:1::1/64 dev old0
"""
REMOVAL = "ip link delete old0"


@pytest.mark.parametrize("rp_filter", [0, 1])
@pytest.mark.parametrize("way", ["outside", "to the node", "from the node", "arrives by IPv6"])
def test_a_bridge_that_an_earlier_network_has_left_is_named_and_its_removal_mends_the_way(
    node: EngineNode, way: str, rp_filter: int
) -> None:
    subprocess.run(["ip", "-batch", "-"], input=IDLE_BRIDGE, text=True, check=True)
    with site(node, *MASQUERADED) as made:
        made.run(f"sysctl -qw net.ipv4.conf.all.rp_filter={rp_filter}")
        for dry_run in (True, False):
            done = follow(made, way, dry_run=dry_run)
            text = "\n".join(done.lines)
            assert done.broken is not None, text
            assert (done.broken.place, done.broken.command) == ("node", REMOVAL), text
            assert "old0, a bridge without ports that has 10.1.0.1, fd00:1::1" in done.broken.found
        # The kernel asks for a gateway that has not answered again only after a second.
        made.run(f"{REMOVAL}; ip -n client neighbour flush all")
        assert follow(made, way).broken is None


def test_a_packet_that_arrives_from_elsewhere_is_followed_through_the_rules(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        for way in ("arrives", "arrives by IPv6", "arrives at the node", "ping arrives"):
            done = follow(made, way)
            text = "\n".join(done.lines)
            assert (done.broken, done.is_reached) == (None, None), text
            assert f"no rule of the node drops a packet from there for {WAYS[way][1]}".partition("{")[0] in text
            assert "packet" not in follow(made, way, dry_run=True).lines[-1]


def test_a_kernel_that_takes_no_packet_leaves_the_rules_unknown(
    node: EngineNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*dummy: object) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(syscall, "bpf", refuse)
    with site(node, *BRIDGE) as made:
        made.run("iptables -I FORWARD -s 192.0.2.2 -j DROP")
        reason = (
            "no packet could be made to arrive on lan0: the kernel does not take a packet (Function not implemented)"
        )
        for sent in (None, SentPacket(4444, "silent")):
            done = made.diagnose(NEIGHBOUR[4], MAPPED, sent=sent)
            assert (done.broken, done.is_reached) == (None, None)
            unknown = [step.found for step in done.steps if step.state is State.UNKNOWN]
            assert [each for each in unknown if each.startswith(reason)], unknown
            assert any("connection tracking does not have" in each for each in unknown) == (sent is not None)


def test_connection_tracking_shows_whether_a_packet_of_another_node_has_arrived(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        with inside(pathlib.Path("/run/netns/neighbour")):
            client = socket.create_connection((NODE[4], HOST_PORT), timeout=5)
        with client:
            port = client.getsockname()[1]
            arrived = made.diagnose(NEIGHBOUR[4], MAPPED, sent=SentPacket(port, "silent"))
            assert (
                arrived.steps[-1].found
                == f"the packet for {MAPPED}/tcp has arrived, and no rule of the node has dropped it"
            )
            assert f"{MAPPED}/tcp is forwarded to {made.addresses['web'][0]}:80/tcp" in [
                each.found for each in arrived.steps
            ]
            # No connection of another test, which the node may still track, has this port.
            other = made.diagnose(NEIGHBOUR[4], MAPPED, sent=SentPacket(1, "silent"))
            assert other.steps[-1].state is State.UNKNOWN
            assert f"connection tracking does not have the packet for {MAPPED}/tcp" in other.steps[-1].found
            assert made.diagnose(NEIGHBOUR[4], MAPPED, sent=SentPacket(port, "answered")).is_reached
            made.run(rule("forward", "tcp sport 80 drop"))
            lost = made.diagnose(NEIGHBOUR[4], MAPPED, sent=SentPacket(port, "silent")).steps[-1]
            assert (lost.check, lost.place, lost.is_back) == (Check.FIREWALL, "node", True)


def test_a_packet_that_leaves_is_described_as_the_next_node_sees_it(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        made.run("ip link add wan0 up link lan0 type macvlan; ip address add 203.0.113.1/24 dev wan0")
        left = made.diagnose("client", "203.0.113.9:53/udp", dry_run=True)
        assert left.as_dict()["leaves"] == {"from": "203.0.113.1", "to": "203.0.113.9:53/udp", "source_port": 0}
        assert left.as_dict()["ends"] == {"from": made.addresses["client"], "to": []}
        inside_only = made.diagnose("client", "web:80", dry_run=True).as_dict()
        assert "leaves" not in inside_only
        assert inside_only["ends"]["to"] == [
            f"{made.addresses['web'][0]}:80/tcp",
            f"[{made.addresses['web'][1]}]:80/tcp",
        ]


def test_an_end_that_another_node_may_have_is_not_an_error(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        for source, destination in (("client", "elsewhere:80"), ("elsewhere", "web:80")):
            with pytest.raises(CniError, match="'elsewhere' is neither") as caught:
                made.diagnose(source, destination)
            done = made.diagnose(source, destination, elsewhere=True)
            assert (done.steps, done.summary) == ((), str(caught.value))
            assert bool(done.own_sources) == (source == "client")
            assert bool(done.own_targets) == (destination == "web:80")


def test_a_legacy_rule_is_removed_in_its_namespace_and_its_text_runs_no_command(
    node: EngineNode, tmp_path: pathlib.Path
) -> None:
    """A container may write the rules of its own network namespace, and the operator pastes the command into a shell."""
    with site(node, *BRIDGE) as made:
        comment = f'-m comment --comment "\\$(touch {tmp_path}/ran) it\'s"'
        made.run(f"ip netns exec client iptables-legacy -A OUTPUT -d {{web}} {comment} -j DROP")
        step = made.diagnose("client", "web:80").broken
        assert step is not None
        assert (step.check, step.place) == (Check.FIREWALL, "client")
        made.run(step.command)
        assert list(tmp_path.iterdir()) == []
        assert made.diagnose("client", "web:80").broken is None


def list_pairs() -> list[tuple[str, str]]:
    """Return pairs of breaks that are met on the same way through the same network."""
    breaks = {name: Break(*values) for name, values in BREAKS.items()}
    return [
        (first, second)
        for first, second in itertools.combinations(breaks, 2)
        if (breaks[first].way, breaks[first].plugins) == (breaks[second].way, breaks[second].plugins)
        and "netns delete" not in breaks[first].commands + breaks[second].commands
    ]


@pytest.mark.parametrize("pair", list_pairs()[:: ring.repetitions(outer=1, inner=40)], ids=" and ".join)
def test_one_of_two_broken_steps_is_named(node: EngineNode, pair: tuple[str, str]) -> None:
    first, second = (Break(*BREAKS[name]) for name in pair)
    with site(node, *first.plugins) as made:
        for each in (first, second):
            with contextlib.suppress(subprocess.CalledProcessError):  # the first has removed what the second changes
                made.run(each.commands)
        done = follow(made, first.way)
        text = "\n".join(done.lines)
        assert done.broken is not None, text
        assert (done.broken.check, done.broken.place) in [(each.check, each.place) for each in (first, second)], text


IN_VLANS = (reference_networks.bridge(ipam=_BARE, vlan=97),)


@pytest.mark.parametrize(
    ("commands", "place"),
    [
        ("bridge vlan delete dev {web_end} vid 97; bridge vlan add dev {web_end} vid 98 pvid untagged", "node"),
        ("bridge vlan delete dev {client_end} vid 97", "node"),
    ],
    ids=["another VLAN", "no VLAN"],
)
@pytest.mark.parametrize("dry_run", [False, True], ids=["run", "check mode"])
@pytest.mark.other_kernel
def test_the_vlan_that_separates_containers_is_named(
    node: EngineNode, commands: str, place: str, dry_run: bool
) -> None:
    with site(node, *IN_VLANS) as made:
        assert follow(made, "to a container", dry_run=dry_run).broken is None
        made.run(commands)
        done = follow(made, "to a container", dry_run=dry_run)
        assert done.broken is not None
        assert (done.broken.check, done.broken.place) == (Check.VLAN, place)


def test_a_port_that_is_mapped_for_one_family_is_not_mapped_for_the_other(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        ports = [{**PORTS[0], "hostIP": "::"}]
        node.attach(attachment("net", made.web, capability_args={"portMappings": ports}), builtin="always")
        steps = {step.check: step for step in made.diagnose("client", MAPPED, dry_run=True).steps}
        assert Check.HOST_PORT not in steps
        assert steps[Check.LISTENER].place == "node"


@pytest.mark.parametrize(
    ("plugins", "source", "address"),
    [
        (BRIDGE, "node", NODE[4]),
        (BRIDGE, "node", "127.0.0.1"),
        (PTP, "node", NODE[4]),
        (PTP, "node", "127.0.0.1"),
        (PTP, "web", NODE[4]),
    ],
)
def test_the_node_and_a_container_reach_its_mapped_port(
    node: EngineNode, plugins: t.Sequence[JsonObject], source: str, address: str
) -> None:
    with site(node, *plugins) as made:
        for dry_run in (True, False):
            done = made.diagnose(source, f"{address}:{HOST_PORT}", dry_run=dry_run)
            assert done.broken is None, "\n".join(done.lines)
            assert done.is_reached is (None if dry_run else True)
            assert not [step.found for step in done.steps if "the answer came anyway" in step.found]


@pytest.mark.parametrize(
    ("commands", "found", "needed"),
    [
        ("ip -n web link set eth0 down", "eth0 is down", "eth0 is up"),
        ("iptables -t nat -F POSTROUTING; ip -n web link set eth0 down", "eth0 is down", "eth0 is up"),
        (
            "iptables -t nat -F PREROUTING",
            "the jump from PREROUTING to CNI-HOSTPORT-DNAT is gone",
            "the rules of portmap",
        ),
    ],
)
def test_only_rules_of_portmap_keep_a_port_from_being_forwarded(
    node: EngineNode, commands: str, found: str, needed: str
) -> None:
    with site(node, *PTP) as made:
        made.run(commands)
        step = made.diagnose("client", MAPPED, dry_run=True).broken
        assert step is not None
        assert (step.found.endswith(found), step.needed) == (True, needed), step


def test_a_rule_that_drops_a_packet_is_not_explained_by_a_lost_address(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        made.run("iptables -I FORWARD -s {client} -j DROP; ip -n client -6 address flush dev eth0 scope global")
        step = made.diagnose("client", OUTSIDE).broken
        assert step is not None
        assert (step.check, step.needed) == (Check.FIREWALL, "a rule that accepts the packet before it")


IN_NFTABLES = (BRIDGE[0], {**reference_networks.PORTMAP, "backend": "nftables"})
_JUMP, _NFT_JUMP = "CNI-HOSTPORT-DNAT", "the chain hostports of ip cni_hostport"


@pytest.mark.parametrize(("hook", "source", "other"), [("PREROUTING", "client", "node"), ("OUTPUT", "node", "client")])
@pytest.mark.parametrize("plugins", [BRIDGE, IN_NFTABLES], ids=["iptables", "nftables"])
def test_a_port_is_forwarded_without_the_rules_for_other_packets(
    node: EngineNode, plugins: t.Sequence[JsonObject], hook: str, source: str, other: str
) -> None:
    with site(node, *plugins) as made:
        is_nftables = plugins is IN_NFTABLES
        made.run(f"nft flush chain ip cni_hostport {hook.lower()}" if is_nftables else f"iptables -t nat -F {hook}")
        jump = f"{hook.lower()} to {_NFT_JUMP}" if is_nftables else f"{hook} to {_JUMP}"
        for dry_run in (True, False):
            lost = made.diagnose(source, MAPPED, dry_run=dry_run).broken
            assert lost is not None
            assert lost.found.endswith(f"the jump from {jump} is gone"), lost
            assert made.diagnose(other, MAPPED, dry_run=dry_run).broken is None


WITHOUT_ROUTES = reference_networks.host_local(*SUBNETS)
MASQUERADES_ALL = (
    reference_networks.bridge(ipam=WITHOUT_ROUTES, isGateway=True),
    {**reference_networks.PORTMAP, "masqAll": True},
)
LOSE_PORT_MASQUERADING = (
    "iptables -t nat -S POSTROUTING | grep portfwd | sed -n 's/^-A/iptables -t nat -D/p' | sh; "
    "nft flush chain ip cni_hostport masquerading || true"
)


@pytest.mark.parametrize(
    ("plugins", "source", "is_bridge_filtered", "loss", "expected"),
    [
        (BRIDGE, "client", False, LOSE_PORT_MASQUERADING, Check.MASQUERADE),
        (BRIDGE, "client", True, LOSE_PORT_MASQUERADING, None),
        (BRIDGE, "node", False, LOSE_PORT_MASQUERADING, None),
        (BRIDGE, "web", False, LOSE_PORT_MASQUERADING, Check.MASQUERADE),
        (PTP, "client", False, LOSE_PORT_MASQUERADING, None),
        (MASQUERADES_ALL, NEIGHBOUR[4], False, LOSE_PORT_MASQUERADING, Check.MASQUERADE),
        (MASQUERADES_ALL, NEIGHBOUR[4], False, "true", None),
        # portmap masquerades only what a container sends to itself there.
        (IN_NFTABLES, "client", False, "true", Check.WAY_BACK),
        (IN_NFTABLES, "client", True, LOSE_PORT_MASQUERADING, None),
        (IN_NFTABLES, "web", False, LOSE_PORT_MASQUERADING, Check.MASQUERADE),
    ],
)
def test_a_lost_masquerade_rule_of_a_mapped_port_is_named_exactly_where_the_answer_needs_it(
    node: EngineNode,
    plugins: t.Sequence[JsonObject],
    source: str,
    is_bridge_filtered: bool,
    loss: str,
    expected: Check | None,
) -> None:
    with site(node, *plugins) as made:
        made.run(f"sysctl -qw net.bridge.bridge-nf-call-iptables={int(is_bridge_filtered)}; {loss}")
        netns = {"node": "/proc/thread-self/ns/net", NEIGHBOUR[4]: "/run/netns/neighbour"}
        assert connects(pathlib.Path(netns.get(source, f"/run/netns/{source}"))) is (expected is None)
        for dry_run in (True, False):
            step = made.diagnose(source, MAPPED, dry_run=dry_run).broken
            assert (step.check if step is not None else None) is expected, step
            assert expected is not Check.MASQUERADE or (step is not None and step.command == "run cni.node.repair")


def connects(at: pathlib.Path) -> bool:
    """Return whether a connection from a network namespace to the mapped port is accepted."""
    with inside(at):
        try:
            socket.create_connection((NODE[4], HOST_PORT), timeout=TIMEOUT).close()
        except OSError:
            return False
        return True


@pytest.mark.parametrize(
    ("commands", "needed"),
    [
        (
            "iptables -t nat -F POSTROUTING; iptables -I FORWARD -s {client} -j DROP",
            "a rule that accepts the packet before it",
        ),
        (
            "iptables -t nat -F POSTROUTING; iptables -P FORWARD DROP; iptables -F FORWARD",
            "what the attachment has lost: the jump from FORWARD to CNI-FORWARD is gone",
        ),
    ],
    ids=["masquerade rule", "accepting rule"],
)
def test_only_a_lost_rule_that_lets_packets_pass_explains_one_that_drops_them(
    node: EngineNode, commands: str, needed: str
) -> None:
    with site(node, *BRIDGE, reference_networks.FIREWALL) as made:
        made.run(commands)
        step = made.diagnose("client", OUTSIDE).broken
        assert step is not None
        assert (step.check, step.needed) == (Check.FIREWALL, needed)
