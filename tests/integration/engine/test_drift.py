# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drift is found in the kernel without running a plugin, named, and mended."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import rtnetlink
from ansible_collections.cni.node.tests.integration.engine import networks
from ansible_collections.cni.node.tests.integration.engine.node import Engine, Json, Node, attachment, told
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]


def test_a_look_sees_what_iproute2_sees(node: Node, engine: Engine, blue: Namespace) -> None:
    node.write(networks.network(networks.bridge(ipam=networks.host_local("10.2.0.0/16", "fd00:2::/64"))))
    engine.add(attachment("net", blue))
    for name, path in ((blue.name, str(blue.path)), (None, "")):
        seen = rtnetlink.look(path)
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
    assert {link.kind for link in rtnetlink.look("").links if link.name != "lo"} >= {"bridge", "veth"}
    assert rtnetlink.link("cni0") == next(link for link in rtnetlink.look("").links if link.name == "cni0")
    assert rtnetlink.link("nothing") is None


def _host_end(result: Json) -> str:
    return str(result["interfaces"][1]["name"])


# What somebody does, inside the namespace or else on the node, and what is said of it.
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
        "interface {host} of the node is no port of cni0",
    ),
    "bridge deleted": ("ip link delete cni0", False, "interface cni0 of the node is gone"),
}


def test_what_has_drifted_is_named_and_mended_without_a_plugin_being_asked(
    node: Node, engine: Engine, blue: Namespace
) -> None:
    bridge = networks.bridge(ipam={**networks.host_local("10.1.0.0/16"), "routes": [{"dst": "0.0.0.0/0"}]})
    node.write(networks.network(bridge))
    item = attachment("net", blue)
    told(engine.ensure(item, check="drift"))
    for command, inside, said in SPOILED.values():
        host = _host_end(engine.result(item))
        assert told(engine.ensure(item, check="drift")) == ("checked", False, "")
        argv = command.format(host=host).split()
        blue.run(*argv) if inside else subprocess.run(argv, check=True)
        failed = engine.ensure(item, check="drift", on_drift="fail")
        assert (failed.action, failed.changed) == ("failed", False)
        assert said.format(host=host) in str(failed.error)
        action, changed, reason = told(engine.ensure(item, check="drift"))
        assert (action, changed, said.format(host=host) in reason) == ("recreated", True, True)


def test_a_false_alarm_does_not_hide_what_is_gone(node: Node, engine: Engine, blue: Namespace) -> None:
    """bridge looks at the bridge's MAC first, and no further where that is another one."""
    node.write(networks.network(networks.bridge()))
    item = attachment("net", blue)
    engine.ensure(item)
    subprocess.run(["ip", "link", "set", "cni0", "address", "02:00:00:00:00:01"], check=True)
    assert [alarm.code for alarm in engine.ensure(item).false_alarms] == [999]
    blue.run("ip", "link", "delete", "eth0")
    action, dummy, reason = told(engine.ensure(item))
    assert (action, reason.startswith("interface eth0 is gone")) == ("recreated", True)
