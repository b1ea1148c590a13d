# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module conflists compares networks with a node that has links, addresses, routes, plugins and files."""

from __future__ import annotations

import subprocess
import typing as t

from ansible_collections.cni.node.plugins.filter.result_findings import result_findings
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.test_conflists import CONFLISTS, network_named
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

SETUP = """
link add lan0 mtu 1400 type veth peer name lan0-peer
link set lan0 up
link set lan0-peer up
address add 192.168.7.9/24 dev lan0
address add fd00:7::9/64 dev lan0
route add 10.8.0.0/16 via 192.168.7.1 dev lan0
route add fd00:8::/64 via fd00:7::1 dev lan0
route add default via 192.168.7.1 dev lan0
link add docker0 type bridge
address add 172.17.0.1/16 dev docker0
link add idle0 type bridge
address add 172.18.0.1/16 dev idle0
link add old0 type bridge
link set old0 up
address add 172.19.0.1/16 dev old0
link add port0 master docker0 type veth peer name port0-peer
"""


def prepare() -> None:
    subprocess.run(["ip", "-batch", "-"], input=SETUP, text=True, check=True)


def routed(name: str, subnet: str, bridge: str = "") -> JsonObject:
    return network_named(
        name, reference_networks.bridge(bridge=bridge or f"br-{name}", ipam=reference_networks.host_local(subnet))
    )


def on_lan(name: str, plugin_type: str = "macvlan", **keys: t.Any) -> JsonObject:
    return network_named(name, {"type": plugin_type, "master": "lan0", **keys})


def codes(result: JsonObject, level: str = "node") -> dict[str, str]:
    """Return the severity of each finding by file, code and place."""
    return {
        f"{finding['file'].rpartition('/')[2]} {finding['code']} {finding['path']}".strip(): finding["severity"]
        for finding in result["findings"]
        if finding["level"] == level
    }


WRONG: t.Final[dict[str, JsonObject]] = {
    "missing-plugin /plugins/0/type": network_named("a", {"type": "acme"}),
    "incompatible-plugin /plugins/0/type": network_named("b", {"type": "old"}),
    "missing-link /plugins/0/master": on_lan("c", master="lan7"),
    "mtu-above-master /plugins/0/mtu": on_lan("d", "ipvlan", mtu=1500),
    "address-taken /plugins/0/ipam/ranges/0/0": on_lan("e", ipam=reference_networks.host_local("192.168.7.0/24")),
    "overlaps-route /plugins/0/ipam/ranges/0/0": routed("f", "172.17.0.0/16"),
    "overlaps-route /plugins/0/ipam/ranges/0/0 ": routed("g", "10.8.0.0/16"),
    "overlaps-network /plugins/0/ipam/ranges/0/0": routed("h", "10.50.0.0/16"),
    "overlaps-route /plugins/0/ipam/ranges/0/0  ": routed("i", "fd00:8::/64"),
    "idle-bridge /plugins/0/ipam/ranges/0/0": routed("m", "172.19.0.0/16"),
}
SUSPICIOUS: t.Final[dict[str, JsonObject]] = {
    "missing-device /plugins/0/device": network_named("j", {"type": "host-device", "device": "lan7"}),
    "inside-route /plugins/0/ipam/ranges/0/0": routed("k", "192.168.7.128/25"),
    "idle-bridge /plugins/0/ipam/ranges/0/0": routed("l", "172.18.0.0/16"),
}
LYING_ABOUT = {
    "05-first.conflist other-file-first /name",
    "40-broken.conf broken-file",
    "10-j.conflist shadowed-network /name",
    ".ansible_tmpx1y2z3-net.conflist leftover-file",
}


def write_files_with_findings(node: EngineNode) -> None:
    node.plugins.write("old", versions=["0.4.0"])
    node.write(network_named("first"), "05-first.conflist")
    node.write(network_named("j"), "90-j.conflist")
    node.write(routed("there", "10.50.0.0/24"), "50-there.conflist")
    (node.conf_dir / "40-broken.conf").write_text("{", encoding="utf-8")
    (node.conf_dir / ".ansible_tmpx1y2z3-net.conflist").write_text("", encoding="utf-8")


def test_all_findings_of_a_node_are_reported_in_one_run_and_nothing_is_written(node: EngineNode) -> None:
    prepare()
    write_files_with_findings(node)
    items = [{"config": config} for config in (*WRONG.values(), *SUSPICIOUS.values())]
    before = node.state()
    done = node.run("conflists", conflists=items)
    assert done.require_failure("10 errors in network configurations", "(overlaps-route)")
    assert not before.difference(node.state())
    expected = {f"10-{config['name']}.conflist {code.strip()}": "error" for code, config in WRONG.items()}
    expected |= {f"10-{config['name']}.conflist {code}": "warning" for code, config in SUSPICIOUS.items()}
    assert codes(done.result) == {**expected, **dict.fromkeys(LYING_ABOUT, "warning")}
    predicted = node.run("conflists", conflists=items, _ansible_check_mode=True)
    may_be_missing = {key for key in expected if "missing-plugin" in key or "missing-link" in key}
    assert predicted.require_failure("8 errors")
    assert codes(predicted.result) == {**codes(done.result), **dict.fromkeys(may_be_missing, "warning")}


def test_warnings_of_the_node_are_shown_once_beside_those_of_the_controller(node: EngineNode, project: Project) -> None:
    prepare()
    write_files_with_findings(node)
    odd = network_named("j", {"type": "loopback", "colour": "red"})
    items: JsonObject = {"conflists": [{"config": odd}]}
    strict = {**items, "validate": {"strict": True, "levels": ["node"]}}
    played = project.play(
        [
            *thrice("lax", CONFLISTS, items),
            task("strict", CONFLISTS, strict),
            task("elsewhere", CONFLISTS, {**items, "validate": {"levels": ["specification"]}}),
            task("missing", CONFLISTS, {"conflists": [{"config": WRONG["missing-plugin /plugins/0/type"]}]}),
            task(
                "to come",
                CONFLISTS,
                {"conflists": [{"config": on_lan("z", master="lan7")}], "validate": {"levels": ["node"]}},
                check_mode=True,
            ),
        ]
    )
    done = played.require_converged("lax")
    assert codes(done.result, "schema") == {"conflists[0] unknown-key /plugins/0/colour": "warning"}
    assert set(codes(done.result)) == LYING_ABOUT
    assert _count_warnings(done) == 5
    assert codes(played["elsewhere"].result, "schema") == codes(played["elsewhere"].result) == {}
    played["strict"].require_no_change().require_failure("4 errors in network configurations")
    missing = played["missing"]
    missing.require_no_change().require_failure("/plugins/0/type: plugin 'acme' is not installed")
    assert (_count_warnings(missing), codes(missing.result)["10-a.conflist missing-plugin /plugins/0/type"]) == (
        3,
        "error",
    )
    assert codes(played["to come"].ok().result)["10-z.conflist missing-link /plugins/0/master"] == "warning"


def _count_warnings(done: TaskRun) -> int:
    assert len(set(done.warnings)) == len(done.warnings)
    return len(done.warnings)


def test_a_networks_own_interfaces_and_routes_cause_no_finding(node: EngineNode) -> None:
    prepare()
    ptp = network_named("ptp", {**reference_networks.PTP, "ipMasq": False})
    device = network_named("device", {"type": "host-device", "device": "spare0"})
    subprocess.run(["ip", "link", "add", "spare0", "type", "veth", "peer", "name", "other"], check=True)
    configs = [routed("bridge", "10.1.0.0/16"), ptp, device]
    items = [{"config": config} for config in configs]
    assert node.run("conflists", conflists=items).succeeded().result["findings"] == []
    node.run("netns", names=["blue"]).succeeded()
    attached = node.attach(
        *({"network": config["name"], "netns": "blue", "ifname": f"eth{n}"} for n, config in enumerate(configs))
    )
    assert result_findings(attached) == []
    done = node.run("conflists", conflists=items).succeeded()
    assert (done.result["changed"], done.result["findings"]) == (False, [])
    moved = [{"config": routed("bridge", "10.1.0.0/16", "br9")}]
    left = {"10-bridge.conflist idle-bridge /plugins/0/ipam/ranges/0/0": "warning"}
    assert codes(node.run("conflists", conflists=moved).succeeded().result) == left
    node.attach({"network": "bridge", "netns": "blue"})
    assert codes(node.run("conflists", conflists=moved).succeeded().result) == left


def test_ipv6_that_is_switched_off_on_the_node_is_reported_before_add_fails(node: EngineNode) -> None:
    settings = [f"net.ipv6.conf.{name}.disable_ipv6=1" for name in ("all", "default")]
    subprocess.run(["sysctl", "-w", *settings], check=True, stdout=subprocess.DEVNULL)
    items = [{"config": routed("six", "fd00:9::/64")}, {"config": routed("four", "10.9.0.0/16")}]
    done = node.run("conflists", conflists=items)
    done.require_failure("net.ipv6.conf.default.disable_ipv6 is 1")
    found = "10-six.conflist family-switched-off /plugins/0/ipam/ranges/0/0"
    assert codes(done.result) == {found: "error"}
    predicted = node.run("conflists", conflists=items, _ansible_check_mode=True)
    assert (codes(predicted.result), predicted.result.get("failed")) == ({found: "warning"}, None)
