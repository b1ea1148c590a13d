# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""libcni checks and deletes the engine's attachments and the other way round, with the same results."""

from __future__ import annotations

import re
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._reference.quirks import is_false_alarm
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins, pytest.mark.interop]

RANDOM = re.compile(r"veth|([0-9a-f]{2}:){5}")
FIXED_ADDRESS = {"IgnoreUnknown": "1", "IP": "10.1.7.7"}


class InteropCase(t.NamedTuple):
    configuration: JsonObject
    keys: JsonObject = {}
    address: str = ""

    @property
    def has_check(self) -> bool:
        return self.configuration["cniVersion"] in ("0.4.0", "1.0.0")


CAPABILITIES: JsonObject = {"capability_args": reference_networks.CAPABILITY_ARGS}
CASES = {
    "bridge": InteropCase(reference_networks.network(reference_networks.bridge())),
    "bridge, masquerading": InteropCase(reference_networks.network(reference_networks.bridge(ipMasq=True))),
    "bridge, tuning and portmap at 1.0.0": InteropCase(reference_networks.full(), CAPABILITIES),
    "bridge, tuning and portmap at 0.4.0": InteropCase(reference_networks.full("0.4.0"), CAPABILITIES),
    "bridge, tuning and portmap at 0.3.1": InteropCase(reference_networks.full("0.3.1"), CAPABILITIES),
    "ptp with both families": InteropCase(reference_networks.network(reference_networks.PTP)),
    "macvlan": InteropCase(reference_networks.network(reference_networks.MACVLAN)),
    "a single plugin at 0.2.0": InteropCase(reference_networks.single(reference_networks.bridge(), "0.2.0")),
    "a single plugin at 0.3.1": InteropCase(reference_networks.single(reference_networks.bridge(), "0.3.1")),
    "a single plugin at 0.4.0": InteropCase(reference_networks.single(reference_networks.bridge(), "0.4.0")),
    "CNI_ARGS": InteropCase(
        reference_networks.network(reference_networks.bridge()), {"args": FIXED_ADDRESS}, "10.1.7.7/16"
    ),
}


@pytest.fixture(params=list(CASES.values()), ids=list(CASES))
def case(
    request: pytest.FixtureRequest, node: EngineNode, monkeypatch: pytest.MonkeyPatch, path_without_ip6tables: str
) -> InteropCase:
    """Return a node with its network; without ip6tables, portmap's CHECK gives libcni no false alarm."""
    chosen: InteropCase = request.param
    reference_networks.make_uplink()
    if kind := reference_networks.missing_kind(chosen.configuration.get("plugins", ())):
        pytest.skip(f"this kernel has no {kind}")
    node.write(chosen.configuration)
    if chosen.keys == CAPABILITIES:
        monkeypatch.setenv("PATH", path_without_ip6tables)
    return chosen


def test_libcni_checks_and_deletes_attachments_of_the_engine(
    node: EngineNode, engine: Engine, libcni: Libcni, blue: Namespace, case: InteropCase
) -> None:
    item = attachment("net", blue, **case.keys)
    before = node.attach_and_detach(item)
    result = engine.add(item)
    assert case.address in str(result)
    (cached,) = libcni.run("RECORDS", [item]).results
    assert _without_empty_dns(cached["result"]) == _without_empty_dns(result)
    assert cached["capability_args"] == (case.keys.get("capability_args") or None)
    assert dict(cached["args"] or ()) == case.keys.get("args", {})
    if case.has_check:
        assert libcni.run("CHECK", [item]).results == [None]
        assert libcni.run("CHECK", [item], from_cache=True).results == [None]
    assert libcni.run("DEL", [item], from_cache=True).results == [None]
    assert before.difference(node.state()) == ""


def test_the_engine_checks_and_deletes_attachments_of_libcni(
    node: EngineNode, engine: Engine, libcni: Libcni, blue: Namespace, case: InteropCase
) -> None:
    item = attachment("net", blue, **case.keys)
    before = node.attach_and_detach(item)
    (result,) = libcni.run("ADD", [item]).results
    record = engine.record(item)
    assert _without_empty_dns(engine.result(item)) == _without_empty_dns(result)
    assert record.attachment.capability_args == item["capability_args"]
    assert record.attachment.args == item["args"]
    assert engine.runtime.check(record, is_false_alarm).was_run == case.has_check
    engine.delete(item)
    assert before.difference(node.state()) == ""


def test_engine_and_libcni_create_the_same_attachment(
    node: EngineNode, engine: Engine, libcni: Libcni, blue: Namespace, case: InteropCase
) -> None:
    """Compare the attachments of both, whose plugins got equivalent requests."""
    item = attachment("net", blue, **case.keys)
    seen = []
    for add in (engine.add, lambda item: libcni.run("ADD", [item]).results[0]):
        result = add(item)
        seen.append(
            (_shape(_without_empty_dns(result)), sorted(blue.links()), [route["dst"] for route in blue.routes()])
        )
        engine.delete(item)
    assert seen[0] == seen[1]


def _without_empty_dns(result: JsonObject) -> JsonObject:
    """Return a result without ``"dns": {}``, which libcni writes and newer plugins leave out."""
    return {key: value for key, value in result.items() if (key, value) != ("dns", {})}


def _shape(value: t.Any) -> t.Any:
    """Return a result without random values: addresses, and unrequested names and MACs."""
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items() if key not in ("address", "ip")}
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return "random" if isinstance(value, str) and value != reference_networks.MAC and RANDOM.match(value) else value


def test_the_module_accepts_an_attachment_of_libcni(node: EngineNode, libcni: Libcni, blue: Namespace) -> None:
    node.write(reference_networks.full())
    item = attachment("net", blue, **CAPABILITIES)
    before = node.attach_and_detach(item)
    (result,) = libcni.run("ADD", [item]).results
    (entry,) = node.attach(item)
    assert (entry["action"], entry["changed"]) == ("checked", False)
    assert _without_empty_dns(entry["result"]) == _without_empty_dns(result)
    assert node.detach(item)[0]["action"] == "removed"
    assert before.difference(node.state()) == ""


def test_an_attachment_that_libcni_deleted_is_added_again(node: EngineNode, libcni: Libcni, blue: Namespace) -> None:
    node.write(reference_networks.full())
    item = attachment("net", blue, **CAPABILITIES)
    node.attach(item)
    assert libcni.run("DEL", [item]).results == [None]
    (entry,) = node.attach(item)
    assert entry["action"] == "added"
    assert len(node.leases("net")) == 1


def test_engine_and_libcni_find_the_same_drift(
    node: EngineNode, engine: Engine, libcni: Libcni, blue: Namespace
) -> None:
    node.write(reference_networks.full())
    item = attachment("net", blue, **CAPABILITIES)
    engine.add(item)
    blue.run("ip", "link", "delete", "eth0")
    (error,) = libcni.run("CHECK", [item]).errors
    (entry,) = node.attach(item, on_drift="report")
    assert error is not None
    assert error["msg"] == "Interface name eth0 not found"
    assert entry["error"]["msg"].startswith("interface eth0 is gone; interface veth")
