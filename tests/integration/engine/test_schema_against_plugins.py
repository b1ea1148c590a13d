# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each schema against its plugin: the plugin accepts every value that validation accepts.

Every key of a schema gets values on both sides of its limits; each network is validated and then attached.
Keys that the distribution's plugins do not support, and values that depend on the node, are left out.
"""

from __future__ import annotations

import copy
import json
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import errors
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import validate
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

Place = tuple[t.Any, ...]

RELEASE = (1, 1, 1)
IPAM: t.Final[JsonObject] = {"type": "host-local", "subnet": "10.1.0.0/16"}
DEFAULT: t.Final[JsonObject] = {"dst": "0.0.0.0/0"}
PTP: t.Final[JsonObject] = {"type": "ptp", "ipam": IPAM}
ROUTE: t.Final[JsonObject] = {"dst": "192.0.2.0/24", "gw": "10.1.0.1"}
ON_MASTER: t.Final[JsonObject] = {"master": reference_networks.UPLINK, "ipam": IPAM}

# By plugin: its network, and the path of the schema's object in it.
BASES: t.Final[dict[str, tuple[list[JsonObject], Place]]] = {
    "bridge": ([{"type": "bridge", "ipam": IPAM}], (0,)),
    "ptp": ([PTP], (0,)),
    "macvlan": ([{"type": "macvlan", **ON_MASTER}], (0,)),
    "ipvlan": ([{"type": "ipvlan", **ON_MASTER}], (0,)),
    "vlan": ([{"type": "vlan", "vlanId": 5, **ON_MASTER}], (0,)),
    "host-device": ([{"type": "host-device", "device": reference_networks.UPLINK}], (0,)),
    "loopback": ([{"type": "loopback"}], (0,)),
    "host-local": ([{"type": "bridge", "ipam": {**IPAM, "routes": [ROUTE]}}], (0, "ipam")),
    "static": (
        [{"type": "bridge", "ipam": {"type": "static", "addresses": [{"address": "10.1.0.5/16"}], "routes": [ROUTE]}}],
        (0, "ipam"),
    ),
    "tuning": ([PTP, {"type": "tuning", "sysctl": {"net.core.somaxconn": "500"}}], (1,)),
    "portmap": ([PTP, {"type": "portmap", "capabilities": {"portMappings": True}}], (1,)),
    "bandwidth": ([PTP, reference_networks.BANDWIDTH], (1,)),
    "firewall": ([PTP, {"type": "firewall", "backend": "iptables"}], (1,)),
    "sbr": ([PTP, {"type": "sbr"}], (1,)),
    "vrf": ([PTP, {"type": "vrf", "vrfname": "blue"}], (1,)),
}
SAMPLES: t.Final[dict[str, list[t.Any]]] = {
    "ip": ["10.1.0.5", "10.2.0.5", "fd00::5", "10.1.0.256", "10.1.0.5/16", "x", 5],
    "cidr": ["10.1.0.0/16", "10.1.0.5/16", "10.1.0.0/30", "10.1.0.0/31", "fd00::/64", "10.1.0.0", "10.1.0.0/33", 5],
    "subnet": [
        "10.1.0.0/16",
        "10.1.0.0/30",
        "10.1.0.0/31",
        "fd00::/64",
        "::ffff:10.1.0.0/112",
        "10.1.0.0",
        "10.1.0.0/33",
        5,
    ],
    "mac": [
        "02:00:00:00:00:05",
        "02-00-00-00-00-05",
        "0200.0000.0005",
        "02:00-00:00:00:05",
        "01:00:5e:00:00:05",
        "02:00:00:00:00",
        "x",
        5,
    ],
    "chain": ["SITE", "x" * 28, "x" * 29, "A B", 5],
    "admin-chain": ["SITE", "x" * 28, "x" * 29, "CNI-FORWARD", "FORWARD", "DROP", "A B", 5],
    "ifname": ["spare0", "a-name-too-long-", "a/b", 5],
}
# Errors that depend on the node's links, chains and daemons.
OF_THE_NODE = {
    *(("macvlan", "master"), ("ipvlan", "master"), ("vlan", "master"), ("host-device", "device")),
    *(("host-device", "hwaddr"), ("host-device", "kernelpath"), ("host-device", "pciBusID")),
    *(("portmap", "externalSetMarkChain"), ("portmap", "conditionsV4"), ("portmap", "conditionsV6")),
    *(
        ("firewall", "firewalldZone"),
        ("bridge", "macspoofchk"),
        ("bridge", "vlan"),
        ("static", "dns"),
        ("tuning", "dataDir"),
    ),
    *(("host-local", "dataDir"), ("host-local", "resolvConf"), ("vrf", "table")),
    # Errors that depend on CNI_ARGS.
    ("static", "addresses"),
}
# Each of these replaces the plugin's whole configuration.
COMMON = ("cniVersion", "name", "type", "ipam", "args", "runtimeConfig", "prevResult")


def samples(schema: JsonObject) -> list[t.Any]:
    """Return values on both sides of a schema's limits."""
    if "enum" in schema:
        younger = schema.get("x-values-since", {})
        return [*(value for value in schema["enum"] if value not in younger and value != "firewalld"), "nonsense", 5]
    if "format" in schema:
        return SAMPLES[schema["format"]]
    if schema.get("type") == "boolean":
        return [True, False, "true", 1]
    if schema.get("type") == "integer":
        bounds = [
            schema[end] + step
            for end, step in (("minimum", 0), ("minimum", -1), ("maximum", 0), ("maximum", 1))
            if end in schema
        ]
        return [*bounds, 67, 68, 1500, 65535, 65536, "5", 1.5]
    return {"string": ["x", 5], "array": [[], 5, {}], "object": [{}, 5, []]}.get(str(schema.get("type")), [])


def is_there(schema: JsonObject) -> bool:
    since = tuple(int(part) for part in str(schema.get("x-since", "0")).split("."))
    return since <= RELEASE


def variants(plugin: str) -> t.Iterator[tuple[Place, t.Any]]:
    """Yield each key with each of its values and without it, list entries and nested objects included."""
    plugins, place = BASES[plugin]
    schema = schemas.load(f"plugins/{plugin}")
    yield from _object_values(schema, place, plugin)
    for key, property_schema in schema["properties"].items():
        present = key in _at(plugins, place)
        if property_schema.get("type") == "array" and present and property_schema["items"].get("type") == "object":
            yield from _object_values(property_schema["items"], (*place, key, 0), plugin)


def _object_values(schema: JsonObject, place: Place, plugin: str) -> t.Iterator[tuple[Place, t.Any]]:
    for key, property_schema in schema["properties"].items():
        if key not in COMMON and (plugin, key) not in OF_THE_NODE and is_there(property_schema):
            yield from (((*place, key), value) for value in samples(property_schema))
            yield (*place, key), None


def _at(value: t.Any, place: Place) -> t.Any:
    for part in place:
        value = value[part]
    return value


def network(plugin: str, place: Place, value: t.Any) -> JsonObject:
    """Return the plugin's network with one value replaced, or removed for None."""
    plugins = copy.deepcopy(BASES[plugin][0])
    inner = _at(plugins, place[:-1])
    if value is None:
        inner.pop(place[-1], None)
    else:
        inner[place[-1]] = value
    return reference_networks.network(*plugins)


def attach(engine: Engine, content: bytes, item: JsonObject) -> str:
    """Add and delete an attachment; return the plugins' error, or an empty string."""
    try:
        engine.runtime.add(config.parse(content, "test"), Attachment(**item))
    except CniError as exc:
        return str(exc)
    engine.delete(item)
    # A bridge without ports has no stable MAC, which this release of the plugin does not expect.
    subprocess.run(["ip", "link", "delete", "cni0"], check=False, stderr=subprocess.DEVNULL)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "plugin",
    [
        pytest.param(plugin, marks=reference_networks.other_kernel_marks(plugins))
        for plugin, (plugins, dummy) in BASES.items()
    ],
)
def test_plugins_accept_what_validation_accepts(engine: Engine, blue: Namespace, plugin: str) -> None:
    reference_networks.make_uplink()
    subprocess.run(["ip", "link", "set", reference_networks.UPLINK, "mtu", "65535"], check=True)
    if missing := reference_networks.missing_kind(BASES[plugin][0]):
        pytest.skip(f"this kernel has no {missing}")
    # All is slow in a machine of User Mode Linux: there, the inner ring takes every second value.
    inner = 2 if reference_networks.other_kernel_marks(BASES[plugin][0]) else 1
    values = ring.sample(list(variants(plugin)), inner, key=lambda variant: variant[0])
    taken = require_agreement(engine, blue, plugin, values)
    assert taken or plugin == "loopback"


@pytest.mark.other_kernel
def test_bridge_accepts_the_vlans_that_validation_accepts(engine: Engine, blue: Namespace) -> None:
    if missing := reference_networks.missing_kind([{"type": "bridge", "vlan": 5}]):
        pytest.skip(f"this kernel has no {missing}")
    values = samples(schemas.load("plugins/bridge")["properties"]["vlan"])
    assert require_agreement(engine, blue, "bridge", (((0, "vlan"), value) for value in values))


def require_agreement(
    engine: Engine, namespace: Namespace, plugin: str, values: t.Iterable[tuple[Place, t.Any]]
) -> int:
    """Attach each network that validation accepts; fail if a plugin refuses it, and return their number."""
    item = attachment("net", namespace)
    base = attach(engine, json.dumps(reference_networks.network(*BASES[plugin][0])).encode(), item)
    assert base == ""
    taken, contradictions = 0, []
    for place, value in values:
        content = json.dumps(network(plugin, place, value)).encode()
        if errors(validate([Source("test", content)], runs_builtin=False)):
            continue
        problem = attach(engine, content, item)
        taken += 1
        if problem:
            contradictions.append(f"{place} = {value!r}: {problem}")
    assert "\n".join(contradictions) == ""
    return taken


def test_validation_refuses_what_plugins_refuse(engine: Engine, blue: Namespace, node: EngineNode) -> None:
    """Check the corpus' faults of ranges and chains against the plugins."""
    for plugins in REFUSED:
        content = json.dumps(reference_networks.network(*plugins)).encode()
        assert attach(engine, content, attachment("net", blue)) != "", plugins
        assert errors(validate([Source("test", content)], runs_builtin=False)), plugins


def bridge(**ipam: t.Any) -> list[JsonObject]:
    return [{"type": "bridge", "ipam": {"type": "host-local", **ipam}}]


def bridge_gateway(**ipam: t.Any) -> list[JsonObject]:
    return [{**plugin, "isGateway": True} for plugin in bridge(**ipam)]


REFUSED: t.Final[list[list[JsonObject]]] = [
    bridge(),
    bridge(subnet="10.1.0.1/16"),
    bridge(subnet="10.1.0.0/31"),
    bridge(subnet="10.1.0.0/24", rangeStart="10.1.0.20", rangeEnd="10.1.0.10"),
    bridge(subnet="10.1.0.0/24", rangeStart="10.1.1.20"),
    bridge(subnet="10.1.0.0/24", rangeEnd="fd00::5"),
    bridge(subnet="10.1.0.0/24", rangeStart="10.1.0.1", rangeEnd="10.1.0.1"),
    bridge(ranges=[[{"subnet": "10.1.0.0/24"}, {"subnet": "fd00::/64"}]]),
    bridge(ranges=[[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.1.0.0/16"}]]),
    bridge(ranges=[[]]),
    bridge(subnet="10.1.0.0/24", routes=[{"dst": "0.0.0.0/0", "gw": "10.9.0.1"}]),
    [{"type": "bridge", "isDefaultGateway": True, "ipam": {**IPAM, "routes": [DEFAULT]}}],
    bridge(subnet="10.1.0.0/24", routes=[DEFAULT, {**DEFAULT, "gw": "10.1.0.1"}]),
    bridge_gateway(ranges=[[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/24"}]]),
    [
        {
            "type": "ptp",
            "ipam": {"type": "static", "addresses": [{"address": "10.1.0.5/24"}, {"address": "10.1.0.5/24"}]},
        }
    ],
    [{"type": "ptp", "ipam": {"type": "static", "addresses": [{"address": "ff02::5/64"}]}}],
    [PTP, {"type": "tuning", "mac": "01:00:5e:00:00:05"}],
    [PTP, {"type": "firewall", "backend": "iptables", "iptablesAdminChainName": "CNI-FORWARD"}],
    [PTP, {"type": "firewall", "backend": "iptables", "iptablesAdminChainName": "FORWARD"}],
    [PTP, {"type": "firewall", "backend": "iptables", "iptablesAdminChainName": "DROP"}],
    [PTP, {"type": "firewall", "backend": "iptables", "iptablesAdminChainName": "x" * 29}],
    [{"type": "bridge", "hairpinMode": True, "promiscMode": True}],
    [{"type": "bridge", "ipam": IPAM, "args": {"cni": {"mac": 5}}}],
    [{"type": "bridge", "ipam": IPAM, "args": {"cni": {"mac": "x"}}}],
    [{"type": "bridge", "ipam": IPAM, "args": {"cni": 5}}],
    [{"type": "bridge", "ipam": IPAM, "args": {"cni": {"ips": "10.1.0.5"}}}],
    [{"type": "bridge", "ipam": IPAM, "args": {"cni": {"ips": ["x"]}}}],
    [PTP, {"type": "tuning", "sysctl": {}, "args": {"cni": {"sysctl": {"net.core.somaxconn": 500}}}}],
    [PTP, {"type": "tuning", "args": {"cni": {"promisc": "true"}}}],
    [PTP, {"type": "tuning", "args": {"cni": {"mtu": "1400"}}}],
    [PTP, {"type": "tuning", "args": {"cni": {"mtu": 67}}}],
    [PTP, {"type": "tuning", "args": {"cni": {"allmulti": 1}}}],
    [{"type": "ptp", "ipam": {"type": "", "subnet": "10.1.0.0/24"}}],
    [{"type": "host-device"}],
    [{"type": "ptp"}],
    [{"type": "tuning"}],
    [{"type": "portmap"}],
    [{"type": "firewall"}],
    [PTP, {"type": "bridge"}],
    [PTP, {"type": "portmap", "markMasqBit": 5, "externalSetMarkChain": "X"}],
    [PTP, {"type": "bandwidth", "ingressRate": 5}],
    [PTP, {"type": "tuning", "sysctl": {"kernel.shmmax": "5"}}],
    [PTP, {"type": "tuning", "mtu": 67}],
]
