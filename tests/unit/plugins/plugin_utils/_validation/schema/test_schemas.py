# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import version
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.versions import list_versions

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

import jsonschema

from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import formats, schemas

DIRECTORY = pathlib.Path(schemas.__file__).parents[2] / "schemas"
NAMES = sorted(str(path.relative_to(DIRECTORY).with_suffix("")) for path in DIRECTORY.rglob("*.json"))
REFERENCE = (
    *("bridge", "ptp", "macvlan", "ipvlan", "vlan", "host-device", "dummy", "tap", "loopback"),
    *("host-local", "static", "dhcp"),
    *("tuning", "portmap", "bandwidth", "firewall", "sbr", "vrf"),
)


def parts(value: t.Any) -> t.Iterator[JsonObject]:
    """Yield every object inside a schema."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(inner)


@pytest.mark.parametrize("name", NAMES)
def test_each_schema_is_valid_in_draft_2020_12(name: str) -> None:
    schema = json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", NAMES)
def test_no_reference_stays_unresolved(name: str) -> None:
    assert not [part for part in parts(schemas.load(name)) if {"$ref", "$dynamicRef", "$id"} & part.keys()]


def test_every_reference_plugin_has_a_schema_with_all_its_keys() -> None:
    assert sorted(REFERENCE) == sorted(catalogue.types_where(lambda plugin: plugin.is_reference))
    for name in REFERENCE:
        schema = schemas.load(f"plugins/{name}")
        assert (schema["additionalProperties"], schema["x-release"]) == (False, "1.9.1")


def test_x_since_is_a_release() -> None:
    releases = [part["x-since"] for name in NAMES for part in parts(schemas.load(name)) if "x-since" in part]
    assert releases
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", release) for release in releases)


def test_x_oldest_version_is_the_first_version_of_the_built_in_plugin() -> None:
    oldest = {name: schemas.annotation(name, "x-oldest-version") or version.KNOWN[0] for name in REFERENCE}
    assert oldest == {name: list_versions(name)[0] for name in REFERENCE}


@pytest.mark.parametrize(
    "name", ["common", "plugin", "result", "../plugin", "/etc/passwd", "", "unknown", None, ["bridge"]]
)
def test_an_unknown_or_crafted_type_gets_only_the_general_schema(name: object) -> None:
    assert (schemas.name_for_plugin(name), schemas.name_for_ipam(name), schemas.role(name)) == ("plugin", None, "any")


def test_an_ipam_plugin_has_a_schema_only_as_ipam() -> None:
    assert (schemas.name_for_plugin("host-local"), schemas.name_for_ipam("host-local")) == (
        "plugin",
        "plugins/host-local",
    )
    assert (schemas.name_for_plugin("bridge"), schemas.name_for_ipam("bridge")) == ("plugins/bridge", None)


@pytest.mark.parametrize("text", ["10.0.0.0/8", "10.1.2.3/32", "::/0", "fd00::1/128", "10.0.0.0/08"])
def test_an_address_with_a_prefix_length_is_a_cidr(text: str) -> None:
    assert formats.is_cidr(text)


@pytest.mark.parametrize(
    "text",
    ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/255.0.0.0", "10.0.0.0/-1", "::/129", "/8", "fe80::1%a/64"],
)
def test_any_other_text_is_not_a_cidr(text: str) -> None:
    assert not formats.is_cidr(text)
