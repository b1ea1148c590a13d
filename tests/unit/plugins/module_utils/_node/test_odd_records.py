# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A record with a value that no reader expects stops nothing that is done for other attachments."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment
from ansible_collections.cni.node.plugins.module_utils._node.boot import restore as boot_restore
from ansible_collections.cni.node.plugins.module_utils._node.info import inventory
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.tests.support.check_each import check_each
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import encode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc_fixture import GcFixture
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.test_any_record import (
    KEYS,
    NETWORK,
    PORTS,
    arrange,
    put,
    record,
)

HEALTHY = "red"
ODD = "blue"
CASES: dict[str, JsonObject] = {
    "priority of a route": {"routes": [{"dst": "10.50.0.0/16", "priority": 4294967296}]},
    "priority as a text": {"routes": [{"dst": "10.50.0.0/16", "priority": "x"}]},
    "table as a list": {"routes": [{"dst": "10.50.0.0/16", "table": [1]}]},
    "scope": {"routes": [{"dst": "10.50.0.0/16", "scope": 300}]},
    "destination as a number": {"routes": [{"dst": 5}]},
    "route without destination": {"routes": [{}]},
    "routes as a number": {"routes": 5},
    "address as a number": {"ips": [{"address": 5, "interface": 1}]},
    "address without a key": {"ips": [{}]},
    "interface of an address": {"ips": [{"address": "10.1.0.2/16", "interface": [1]}]},
    "MTU": {"interfaces": [{"name": "eth0", "mtu": 2**40, "sandbox": "x"}]},
    "MTU as a text": {"interfaces": [{"name": "eth0", "mtu": "x", "sandbox": "x"}]},
    "MAC as a number": {"interfaces": [{"name": "eth0", "mac": 5, "sandbox": "x"}]},
    "name as a list": {"interfaces": [{"name": ["eth0"], "sandbox": "x"}]},
    "vlanTrunk": {"plugin": {"vlanTrunk": [{"minID": "a", "maxID": 5}]}},
    "vlanTrunk as a number": {"plugin": {"vlanTrunk": 5}},
    "vlan as a text": {"plugin": {"vlan": "x"}},
    "bridge as a number": {"plugin": {"bridge": 5}},
    "mtu as a text": {"plugin": {"mtu": "x"}},
    "ipam as a text": {"plugin": {"ipam": "x"}},
    "dataDir as a number": {"plugin": {"ipam": {"type": "host-local", "dataDir": 5}}},
    "ranges as a number": {"plugin": {"ipam": {"type": "host-local", "ranges": 5}}},
    "bandwidth as a text": {"chained": {"type": "bandwidth", "ingressRate": "x"}},
    "sysctl as a number": {"chained": {"type": "tuning", "sysctl": {"net.a": [1]}}},
    "mac of tuning": {"chained": {"type": "tuning", "mac": 5}},
    "table of sbr": {"chained": {"type": "sbr", "table": "x"}},
    "gateways of sbr": {"chained": {"type": "sbr", "gateways": 5}},
    "table of vrf": {"chained": {"type": "vrf", "vrfname": "v", "table": "x"}},
    "chain of firewall": {"chained": {"type": "firewall", "iptablesAdminChainName": 5}},
    "ports as a number": {"capabilityArgs": {"portMappings": 5}},
    "port as a list": {"capabilityArgs": {"portMappings": [{"hostPort": [1], "containerPort": {}}]}},
}


@pytest.fixture
def node(make_node: t.Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    return arrange(make_node, monkeypatch)


def make(change: JsonObject) -> JsonObject:
    """Return a record with a change of its result, its configuration or its arguments."""
    network, result = copy.deepcopy(NETWORK), {"cniVersion": "1.0.0", **copy.deepcopy(KEYS)}
    for key, value in change.items():
        if key == "plugin":
            network["plugins"][0].update(value)
        elif key == "chained":
            network["plugins"].append(value)
        elif key != "capabilityArgs":
            result[key] = value
    args = {key: value for key, value in change.items() if key == "capabilityArgs"}
    return {**record(result, encode(network), is_own=True), **args}


def put_both(gc: GcFixture, change: JsonObject) -> FakeNode:
    """Write a record with a change beside one without."""
    for name in (HEALTHY, ODD):
        gc.node.make_namespace(name)
    put(gc, make({}), HEALTHY)
    put(gc, make(change), ODD)
    return gc.node


def test_an_odd_record_does_not_stop_a_repair(gc: GcFixture) -> None:
    def check(change: JsonObject) -> None:
        fake = put_both(gc, change)
        repairs, broken = repair_node(fake.paths, str(fake.cache_dir), 60, Selection(), dry_run=True)
        drift = {repair.record.attachment.container_id: repair.drift for repair in repairs}
        assert drift[HEALTHY]
        assert ODD in drift or broken

    check_each(CASES, check)


def test_an_odd_record_does_not_stop_an_inventory(gc: GcFixture) -> None:
    def check(change: JsonObject) -> None:
        fake = put_both(gc, change)
        facts = inventory.list_attachments(str(fake.cache_dir), str(fake.conf_dir), fake.paths.lease_dir, drift=True)
        assert len(facts) == 2
        assert [attachment["drift"] for attachment in facts if attachment.get("container_id") == HEALTHY] != [None]

    check_each(CASES, check)


def test_an_odd_record_does_not_stop_a_batch(gc: GcFixture) -> None:
    def check(change: JsonObject) -> None:
        fake = put_both(gc, change)
        desired = [DesiredAttachment(fake.attachment(name, capability_args=PORTS)) for name in (ODD, HEALTHY)]
        for policy in ("drift", "always"):
            dummy, healthy = fake.converge(*desired, check=policy, on_drift="report")
            assert healthy.error is not None
            assert healthy.error.code == Code.LIMITED_CONNECTIVITY

    check_each(CASES, check)


def test_an_odd_record_stops_neither_a_collection_nor_a_restoration(gc: GcFixture) -> None:
    def check(change: JsonObject) -> None:
        fake = put_both(gc, change)
        names = {leak.subject for leak in gc.collect(min_age=0)}
        assert names <= {str(fake.cache_dir / "results" / f"net-{ODD}-eth0")}
        results, dummy = boot_restore.restore(str(fake.cache_dir), 1, fake.paths)
        assert [result.error for result in results if result.attachment.container_id == HEALTHY] == [None]

    check_each(CASES, check)
