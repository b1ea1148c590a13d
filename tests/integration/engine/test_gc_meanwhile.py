# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Namespaces and links come and go, as on any node with containers, while they are searched for leaks."""

from __future__ import annotations

import concurrent.futures
import os
import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces
from ansible_collections.cni.node.plugins.module_utils._linux.links import ifb, rtnetlink, veth
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import UNKNOWN_NETNS
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = pytest.mark.requires_root

CONTAINERS = """
for number in $(seq 60); do
    ip netns add c$number
    ip link add c$number type veth peer name eth0 netns c$number
    tc qdisc add dev c$number ingress
    ip netns delete c$number
done
"""


def test_gc_tolerates_namespaces_and_links_that_disappear(node: EngineNode) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        ended = executor.submit(subprocess.run, ["sh", "-c", CONTAINERS], stderr=subprocess.DEVNULL)
        while not ended.done():
            assert "127.0.0.1" in live_namespaces.addresses().netns_by_address
            veth.find_veth_ends()
            ifb.targets()


@pytest.mark.parametrize("qdisc", ["ingress", "clsact"])
def test_links_to_which_others_redirect_traffic_are_found(node: EngineNode, qdisc: str) -> None:
    for name, target in (("it's", "bwp0"), ('quo"te\\', "bwp1"), ("c\xc2\x85d", "bwp0")):
        subprocess.run(["ip", "link", "add", name, "type", "veth"], check=True)
        subprocess.run(["ip", "link", "add", target, "type", "ifb"], check=False)
        subprocess.run(["tc", "qdisc", "add", "dev", name, qdisc], check=True)
        redirect = ["u32", "match", "u32", "0", "0", "action", "mirred", "egress", "redirect", "dev", target]
        subprocess.run(["tc", "filter", "add", "dev", name, "ingress", *redirect], check=True)
    subprocess.run(["ip", "link", "add", "bwp2", "type", "ifb"], check=True)
    assert ifb.targets() == {"bwp0", "bwp1"}


def test_a_namespace_may_get_its_number_from_another_process(
    node: EngineNode, blue: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = rtnetlink.assign_netns_id(str(blue.path))
    read, before = rtnetlink.netns_id, iter([UNKNOWN_NETNS])
    monkeypatch.setattr(rtnetlink, "netns_id", lambda path: next(before, None) or read(path))
    assert rtnetlink.assign_netns_id(str(blue.path)) == number


def test_a_namespace_under_a_covered_mount_is_reached_by_its_process(node: EngineNode, blue: Namespace) -> None:
    number = os.stat(blue.path).st_ino
    with subprocess.Popen(blue.argv("sleep", "60")) as process:
        own = f"/proc/{process.pid}/ns/net"
        until(lambda: os.stat(own).st_ino == number or None)
        subprocess.run(["mount", "--bind", "/dev/null", str(blue.path)], check=True)
        try:
            assert live_namespaces.reachable_paths()[number] == own
        finally:
            subprocess.run(["umount", str(blue.path)], check=True)
            process.kill()
        assert live_namespaces.reachable_paths()[number] == str(blue.path)
