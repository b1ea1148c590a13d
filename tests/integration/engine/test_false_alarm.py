# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Known wrong CHECK errors of released plugins are ignored; all other errors count."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

COMPLAINT = "could not check ipv6 dnat"


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    """Return an added attachment to the full network. portmap before 1.3.0 expects IPv4's rules in ip6tables too."""
    node.write(reference_networks.full())
    made = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
    (entry,) = node.attach(made)
    if not entry["false_alarms"]:
        pytest.skip("no false alarm here: portmap is 1.3.0 or newer, or ip6tables does not work")
    return made


@pytest.mark.interop
def test_libcni_reports_the_false_alarm(libcni: Libcni, item: JsonObject) -> None:
    (error,) = libcni.run("CHECK", [item]).errors
    assert error is not None
    assert error["msg"].startswith(COMPLAINT)


def test_the_module_lists_the_false_alarm_and_changes_nothing(node: EngineNode, item: JsonObject) -> None:
    before = node.state()
    (entry,) = node.attach(item)
    assert (entry["action"], entry["changed"], entry["error"]) == ("checked", False, None)
    (alarm,) = entry["false_alarms"]
    assert COMPLAINT in alarm
    assert before.difference(node.state()) == ""


def test_a_missing_rule_is_found_despite_the_false_alarm(node: EngineNode, item: JsonObject) -> None:
    subprocess.run(["iptables", "-t", "nat", "-F", "CNI-HOSTPORT-DNAT"], check=True)
    (entry,) = node.attach(item, on_drift="report")
    assert "the jump to the rule that maps host port 8080/tcp to 10.1.0." in entry["error"]["msg"]
    assert node.attach(item)[0]["action"] == "repaired"
    assert node.attach(item)[0]["action"] == "checked"


def test_a_dual_stack_attachment_is_not_recreated_in_every_run(node: EngineNode, item: JsonObject) -> None:
    """Ignore the error about IPv4's rule, which portmap expects in ip6tables."""
    node.detach(item)
    both = reference_networks.bridge(ipam=reference_networks.host_local("10.2.0.0/16", "fd00:2::/64"), bridge="cni1")
    node.write(reference_networks.network(both, reference_networks.PORTMAP, name="both"))
    dual = {
        **item,
        "network": "both",
        "capability_args": {"portMappings": reference_networks.CAPABILITY_ARGS["portMappings"]},
    }
    (added,) = node.attach(dual)
    assert (added["action"], len(added["result"]["ips"])) == ("added", 2)
    (entry,) = node.attach(dual)
    assert (entry["action"], entry["changed"], entry["error"]) == ("checked", False, None)


BRIDGE: JsonObject = {"type": "bridge", "isGateway": True}
PTP: JsonObject = {"type": "ptp"}
MACVLAN: JsonObject = {"type": "macvlan", "master": reference_networks.UPLINK}
HOST_DEVICE: JsonObject = {"type": "host-device", "device": reference_networks.UPLINK}
SBR: JsonObject = {"type": "sbr"}
WAYS = {
    "moved by sbr": ([SBR], reference_networks.host_local("10.1.0.0/16", "fd00:1::/64")),
    "without gw": ([], reference_networks.host_local("10.1.0.0/16", "fd00:1::/64", routes=[{"dst": "10.9.0.0/16"}])),
}


@pytest.mark.parametrize("plugin", [BRIDGE, PTP, MACVLAN, HOST_DEVICE], ids=lambda plugin: str(plugin["type"]))
@pytest.mark.parametrize(("behind", "ipam"), WAYS.values(), ids=WAYS)
def test_only_lost_routes_are_drift_and_not_those_that_plugins_cannot_find(
    node: EngineNode, engine: Engine, blue: Namespace, plugin: JsonObject, behind: list[JsonObject], ipam: JsonObject
) -> None:
    """Ignore errors of plugins that read the main table only, or, before 1.3.0, expect a route without a gateway."""
    reference_networks.make_uplink()
    missing = reference_networks.missing_kind([plugin])
    if missing:
        pytest.skip(f"this kernel has no {missing}")
    node.write(reference_networks.network({**plugin, "ipam": ipam}, *behind))
    item = attachment("net", blue)
    assert require_success(engine.ensure(item)) == ("added", True, "")
    before = engine.result(item)["ips"]
    again = engine.ensure(item)
    assert (require_success(again), engine.result(item)["ips"]) == (("checked", False, ""), before)
    (alarm,) = again.false_alarms or [None]
    if alarm is None:
        pytest.skip("no false alarm here: the plugins are newer")
    assert f"plugin {plugin['type']} failed (CHECK)" in alarm.msg
    lost = "10.9.0.0/16" if ipam.get("routes") else "10.1.0.0/16"
    table = "100" if behind else "main"
    blue.run("ip", "route", "delete", lost, "table", table)
    failed = engine.ensure(item, on_drift="fail")
    via = " via 10.1.0.1" if behind and plugin is PTP else ""
    assert f"the route to {lost}{via} is missing" in str(failed.error)


@pytest.mark.parametrize("plugin", [BRIDGE, MACVLAN], ids=lambda plugin: str(plugin["type"]))
def test_an_ipv4_address_with_a_host_prefix_requires_no_connected_route(
    node: EngineNode, engine: Engine, blue: Namespace, plugin: JsonObject
) -> None:
    reference_networks.make_uplink()
    missing = reference_networks.missing_kind([plugin])
    if missing:
        pytest.skip(f"this kernel has no {missing}")
    ipam = {"type": "static", "addresses": [{"address": "10.1.0.2/32"}]}
    node.write(reference_networks.network({**plugin, "isGateway": False, "ipam": ipam}))
    item = attachment("net", blue)
    assert require_success(engine.ensure(item)) == ("added", True, "")
    assert require_success(engine.ensure(item)) == ("checked", False, "")


def test_a_missing_address_is_drift_behind_sbr(node: EngineNode, engine: Engine, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), SBR))
    moved = attachment("net", blue)
    assert require_success(engine.ensure(moved)) == ("added", True, "")
    blue.run("ip", "address", "flush", "dev", "eth0")
    assert require_success(engine.ensure(moved))[0] == "repaired"
