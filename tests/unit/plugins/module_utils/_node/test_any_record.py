# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cached records with any JSON: every reader of records either succeeds or names the file in its error."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._node.boot import main as boot_main
from ansible_collections.cni.node.plugins.module_utils._node.boot import restore as boot_restore
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Leak
from ansible_collections.cni.node.plugins.module_utils._node.info import inventory
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.plugins.module_utils._node.trial.network_trial import Trial, Verification
from ansible_collections.cni.node.tests.support.listed_links import ListedLinks
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import RESULTS, encode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryAnswer,
    MemoryCall,
    succeeds,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import (
    changed_documents,
    json_objects,
    json_values,
    versions,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.gc_fixture import GcFixture
from ansible_collections.cni.node.tests.unit.plugins.module_utils._reference.test_attachment_drift_links import (
    CNI0,
    INSIDE,
)

PLUGINS: list[JsonObject] = [
    {"type": "bridge", "ipMasq": True, "ipam": {"type": "host-local", "subnet": "10.1.0.0/16"}},
    {"type": "portmap", "capabilities": {"portMappings": True}},
]
NETWORK: JsonObject = {"cniVersion": "1.0.0", "name": "net", "plugins": PLUGINS}
PORTS: JsonObject = {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}
FAMILY: JsonObject = {"ip": "10.1.0.2/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0"}]}
INTERFACE: JsonObject = {"name": "eth0", "mac": "02:00:00:00:00:01", "sandbox": "/run/netns/blue", "mtu": 1500}
# What each form of a result names, whatever the version of this one is.
KEYS: JsonObject = {
    "ip4": FAMILY,
    "interfaces": [{"name": "veth00000001"}, INTERFACE],
    "ips": [{"address": "10.1.0.2/16", "gateway": "10.1.0.1", "interface": 1}],
    "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}],
    "dns": {"nameservers": ["10.1.0.1"]},
}


@st.composite
def cached_results(draw: st.DrawFn) -> t.Any:
    """Return a strategy for results of every version, changed results and any JSON values."""
    document = {**draw(st.sampled_from([*RESULTS, KEYS])), "cniVersion": draw(versions)}
    for key in draw(st.sets(st.sampled_from(sorted(KEYS)), max_size=2)):
        document[key] = draw(json_values | st.lists(json_objects, min_size=1, max_size=2))
    kind = draw(st.sampled_from(["document", "changed", "any"]))
    if kind == "changed":
        return json.loads(draw(changed_documents(document)))
    return document if kind == "document" else draw(json_values)


@st.composite
def cached_records(draw: st.DrawFn) -> JsonObject:
    """Return a strategy for records in which a part is any JSON value, the recorded configuration included."""
    config = draw(st.just(encode(NETWORK)) | changed_documents(NETWORK))
    document = record(draw(cached_results()), config, is_own=draw(st.booleans()))
    return t.cast(JsonObject, json.loads(draw(changed_documents(document))))


def makes_an_interface(call: MemoryCall) -> JsonObject | None:
    return {"cniVersion": call.request["cniVersion"], **KEYS} if call.command == "ADD" else None


def arrange(make_node: t.Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """Return a node on which the network of the records works."""
    plugins: dict[str, MemoryAnswer] = {"bridge": makes_an_interface, "portmap": succeeds, "host-local": succeeds}
    made = make_node(**plugins)
    made.write(plugins=PLUGINS)

    def ensure(dummy: NodePaths, names: t.Sequence[str], *, present: bool, dry_run: bool) -> list[str]:
        for name in names:
            (made.make_namespace if present else made.drop_namespace)(name)
        return list(names)

    monkeypatch.setattr(trial_netns, "ensure", ensure)
    monkeypatch.setattr(NetnsDirectory, "create", lambda dummy, name: made.make_namespace(name))
    monkeypatch.setattr(rtnetlink, "snapshot", lambda path, **dummy: INSIDE)
    monkeypatch.setattr(rtnetlink, "link_table", lambda: ListedLinks([CNI0]))
    monkeypatch.setattr(boot_restore, "make_executor", lambda *dummy, **options: made.executor)
    return made


@pytest.fixture
def node(make_node: t.Callable[..., FakeNode], monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    return arrange(make_node, monkeypatch)


def put(gc: GcFixture, document: JsonObject, name: str) -> None:
    """Write a record of a container."""
    path = gc.node.cache_dir / "results" / f"net-{name}-eth0"
    path.parent.mkdir(parents=True, exist_ok=True)
    own = {"containerId": name, "netns": str(gc.node.netns / name)}
    path.write_text(json.dumps({**document, **own}), encoding="utf-8")


def record(result: t.Any, config: bytes, *, is_own: bool) -> JsonObject:
    """Return a record with this result, of this collection or of another runtime."""
    means = {"pluginDirs": ["/opt/cni/bin"], "timeout": 60.0}
    own = {"cni.node": {"cniVersion": "1.0.0", "netns": "", "command": "", "restore": means}} if is_own else {}
    return {
        "kind": "cniCacheV1",
        "config": base64.b64encode(config).decode("ascii"),
        "ifName": "eth0",
        "networkName": "net",
        "capabilityArgs": PORTS,
        "result": result,
        **own,
    }


def errors(*outcomes: Leak | AttachmentResult | Trial | CniError) -> list[CniError]:
    return [
        error
        for error in (each if isinstance(each, CniError) else each.error for each in outcomes)
        if error is not None
    ]


def everything(gc: GcFixture) -> t.Iterator[CniError]:
    """Run everything that reads records and yield the errors; an exception fails the test."""
    node = gc.node
    inventory.list_attachments(str(node.cache_dir), str(node.conf_dir), node.paths.lease_dir)
    for dry_run in (True, False):
        yield from errors(*gc.collect(min_age=0, dry_run=dry_run))
    policies: tuple[JsonObject, ...] = ({"on_drift": "fail"}, {"check": "drift"}, {})
    for policy in policies:
        yield from errors(node.ensure(node.attachment(capability_args=PORTS), **policy))
    trials = [Trial("net")]
    Verification(node.runtime(), conf_dir.load(str(node.conf_dir)), 0).carry_out(trials)
    yield from errors(*trials)
    outcomes, broken = boot_restore.restore(str(node.cache_dir), 1, node.paths)
    yield from errors(*outcomes, *broken)
    assert boot_main.main([str(node.cache_dir)], node.paths) in (0, 1)
    repair_node(node.paths, str(node.cache_dir), 60, Selection(), dry_run=True)
    yield from errors(node.ensure(node.attachment(), present=False))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(cached_results(), st.booleans())
def test_any_cached_result_is_read_or_is_an_error_with_its_path(gc: GcFixture, result: t.Any, is_own: bool) -> None:
    gc.node.make_namespace("blue")
    for name in ("blue", "gone", Trial("net").netns):
        put(gc, record(result, encode(NETWORK), is_own=is_own), name)
    for error in everything(gc):
        assert error.code != Code.INTERNAL, str(error)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(cached_records())
@example({**record(KEYS, encode(NETWORK), is_own=False), "capabilityArgs": {"portMappings": ""}})
def test_any_record_is_read_or_is_an_error_with_its_path(gc: GcFixture, document: JsonObject) -> None:
    gc.node.make_namespace("blue")
    for name in ("blue", "gone", Trial("net").netns):
        put(gc, document, name)
    for error in everything(gc):
        assert error.code != Code.INTERNAL, str(error)


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_interfaces_of_a_result_without_names_are_ignored(gc: GcFixture, version: str) -> None:
    gc.node.make_namespace("blue")
    result = {"cniVersion": version, "ip4": FAMILY, "interfaces": 5, "ips": "x", "routes": {}}
    put(gc, record(result, encode(NETWORK), is_own=False), "blue")
    assert gc.collect(min_age=0) == []
    for action in ("repaired", "checked"):  # the lease was missing
        assert gc.node.ensure(gc.node.attachment(capability_args=PORTS), check="drift").action == action
