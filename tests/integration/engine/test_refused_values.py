# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A mistyped value does not block an attachment: it is refused, or the half-made attachment can be deleted."""

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

MALFORMED: dict[str, tuple[JsonObject, str]] = {
    "an object for a list": (
        {"portMappings": {"hostPort": 8080, "containerPort": 80}},
        "/portMappings: found an object",
    ),
    "a word for a port": (
        {"portMappings": [{"hostPort": "http", "containerPort": 80}]},
        "/portMappings/0/hostPort: found 'http'; expected: an integer from 1 to 65535",
    ),
    "a number for a MAC": ({"mac": 5}, "/mac: found 5; expected: a string"),
}


@pytest.mark.parametrize(("values", "fragment"), MALFORMED.values(), ids=MALFORMED)
def test_an_undecodable_value_is_refused_before_any_plugin_runs(
    node: EngineNode, blue: Namespace, values: JsonObject, fragment: str
) -> None:
    node.write(reference_networks.full())
    for options in ({}, {"_ansible_check_mode": True}):
        node.refusal(attachment("net", blue, capability_args=values), fragment, **options)
    assert node.intents() == []


REFUSED_BY_BUILTIN: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "keys that exclude each other": (
        {"hairpinMode": True, "promiscMode": True},
        {},
        "built-in plugin bridge failed (ADD): /hairpinMode and /promiscMode are mutually exclusive; set one",
    ),
    "a subnet": (
        {"ipam": reference_networks.host_local("10.1.0.0/32")},
        {},
        "built-in plugin host-local failed (ADD): ",
    ),
    "an address": (
        {},
        {"config_args": {"ips": ["10.9.0.5"]}},
        "built-in plugin host-local failed (ADD): no range set has the requested addresses 10.9.0.5",
    ),
    "an argument": ({}, {"args": {"NO_SUCH": "1"}}, "CNI_ARGS has unknown keys: NO_SUCH; add IgnoreUnknown=1"),
}


@pytest.mark.parametrize("node", ["always"], indirect=True)
@pytest.mark.parametrize(("keys", "values", "fragment"), REFUSED_BY_BUILTIN.values(), ids=REFUSED_BY_BUILTIN)
def test_an_attachment_is_kept_when_a_built_in_plugin_refuses_the_new_request(
    node: EngineNode, blue: Namespace, keys: JsonObject, values: JsonObject, fragment: str
) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    item = attachment("net", blue)
    node.attach(item)
    before = blue.links()
    node.write(reference_networks.network(reference_networks.bridge(**keys)))
    for options in ({"_ansible_check_mode": True}, {}):
        node.refusal({**item, **values}, fragment, **options)
    assert blue.links() == before


# Values that only their plugin can refuse, at ADD and at every DEL.
REFUSED: dict[str, JsonObject] = {
    "a capability value": {"capability_args": {"ips": ["10.1.0.999"]}},
    "a value for args.cni": {"config_args": {"ips": ["10.1.0.999"]}},
    "an argument": {"args": {"NO_SUCH": "1"}},
}


@pytest.mark.parametrize("wrong", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("way", ["corrected", "absent", "collected"])
def test_a_half_made_attachment_of_a_refused_value_can_be_deleted(
    node: EngineNode, blue: Namespace, wrong: JsonObject, way: str
) -> None:
    node.write(
        reference_networks.network(reference_networks.bridge(capabilities={"ips": True}), reference_networks.TUNING)
    )
    item = attachment("net", blue)
    before = node.attach_and_detach(item)
    spoiled = node.run("attachments", attachments=[{**item, **wrong}])
    spoiled.require_failure("the DEL that followed failed too and will be repeated by the next run")
    assert len(node.intents()) == 1
    if way == "corrected":
        assert [entry["action"] for entry in node.attach(item)] == ["recreated"]
        node.detach(item)
    elif way == "absent":
        assert [entry["action"] for entry in node.detach({**item, **wrong})] == ["removed"]
    else:
        node.run("gc", min_age=0).succeeded()
    assert node.intents() == []
    assert before.difference(node.state()) == ""


def test_a_half_made_attachment_of_a_refused_configuration_ends_with_the_corrected_one(
    node: EngineNode, blue: Namespace
) -> None:
    wrong = reference_networks.network(reference_networks.bridge(isGateway="yes"), reference_networks.TUNING)
    path = node.write(wrong)
    item = attachment("net", blue)
    node.run("attachments", attachments=[item]).require_failure("the DEL that followed failed too")
    path.write_text(
        json.dumps(reference_networks.network(reference_networks.bridge(), reference_networks.TUNING)), encoding="utf-8"
    )
    assert [entry["action"] for entry in node.attach(item)] == ["recreated"]
    node.detach(item)
    assert node.intents() == []


SETTINGS: JsonObject = {"sysctl": {"net.core.somaxconn": "500"}}
PANICS: dict[str, tuple[JsonObject, JsonObject]] = {
    "in the file": ({"args": {"cni": SETTINGS}}, {}),
    "of the attachment": ({}, {"config_args": SETTINGS}),
}


def network_with_tuning(keys: JsonObject, **more: JsonObject) -> JsonObject:
    return reference_networks.network(reference_networks.bridge(), {"type": "tuning", **keys, **more})


@pytest.mark.parametrize(("keys", "values"), PANICS.values(), ids=PANICS)
def test_settings_that_make_tuning_panic_are_refused_before_any_plugin_runs(
    node: EngineNode, blue: Namespace, keys: JsonObject, values: JsonObject
) -> None:
    node.write(network_with_tuning(keys))
    item = attachment("net", blue, **values)
    for options in ({}, {"_ansible_check_mode": True}):
        node.refusal(
            item,
            "plugin 1 (tuning) of network net: args.cni has sysctl, but the plugin configuration has none",
            **options,
        )
    assert node.intents() == []
    node.write(network_with_tuning(keys, sysctl={}))
    node.attach(item)
    assert blue.run("sysctl", "-n", "net.core.somaxconn").stdout.strip() == "500"
    node.detach(item)


def test_a_half_made_attachment_of_a_tuning_panic_ends_with_the_corrected_configuration(
    node: EngineNode, engine: Engine, blue: Namespace
) -> None:
    wrong = {"args": {"cni": SETTINGS}}
    node.write(network_with_tuning(wrong))
    item = attachment("net", blue)
    with pytest.raises(CniError, match="the DEL that followed failed too"):
        engine.add(item)
    node.write(network_with_tuning(wrong, sysctl={}))
    assert [entry["action"] for entry in node.attach(item)] == ["recreated"]
    node.detach(item)
    assert node.intents() == []
