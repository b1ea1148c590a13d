# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values for args.cni are normalized and checked; errors do not show them."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment_values import (
    check_config_args,
    normalize_config_args,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules.config_args import schema_findings

LABEL = {"key": "app", "value": "orders"}

REFUSED: dict[str, tuple[JsonObject, str, str]] = {
    "text for a list": ({"ips": "10.1.0.77"}, "/ips: found a string", "a list"),
    "a number for an address": ({"ips": ["10.1.0.5", 77]}, "/ips/1: found a number", "a string"),
    "a number for a MAC": ({"mac": 77}, "/mac: found a number", "a string"),
    "an object for labels": ({"labels": {"app": "77"}}, "/labels: found an object", "a list"),
    "text for a label": ({"labels": ["app=77"]}, "/labels/0: found a string", "an object"),
    "a label without a value": ({"labels": [{"key": "77"}]}, "/labels/0: there is no value", "the keys key and value"),
    "a number for a label": ({"labels": [{**LABEL, "value": 77}]}, "/labels/0/value: found a number", "a string"),
    "a key in another case": ({"MAC": 77}, "/MAC: found a number", "a string"),
}
TAKEN: dict[str, JsonObject] = {
    "nothing": {},
    "all of the conventions": {"ips": ["10.1.0.5", "fd00::5/64"], "mac": "02:00:00:00:00:01", "labels": [LABEL]},
    "null": {"mac": None},
    "what is not well known": {"vendor": 5, "mtu": 1400},
}


@pytest.mark.parametrize(("values", "what", "expected"), REFUSED.values(), ids=REFUSED)
def test_values_that_no_plugin_can_decode_are_refused_and_not_shown(
    values: JsonObject, what: str, expected: str
) -> None:
    with pytest.raises(CniError) as caught:
        check_config_args(values)
    assert caught.value.code == Code.INVALID_CONFIG
    assert str(caught.value) == f"config_args: {what}; expected: {expected}"
    assert "77" not in str(caught.value)


@pytest.mark.parametrize("values", TAKEN.values(), ids=TAKEN)
def test_values_that_plugins_accept_pass(values: JsonObject) -> None:
    check_config_args(values)
    assert schema_findings([{"config_args": normalize_config_args(values)}]) == []


COMPLETED: dict[str, tuple[JsonObject, JsonObject]] = {
    "JSON as text": (
        {"ips": ' ["10.1.0.5"]', "labels": '[{"key": "a", "value": "b"}]'},
        {"ips": ["10.1.0.5"], "labels": [{"key": "a", "value": "b"}]},
    ),
    "a survey without answers": ({"ips": "", "labels": " ", "mac": ""}, {"mac": ""}),
    "null": ({"mac": None, "vendor": None}, {}),
    "what cannot be understood": ({"ips": "[", "vendor": "[1]"}, {"ips": "[", "vendor": "[1]"}),
}


@pytest.mark.parametrize(("written", "completed"), COMPLETED.values(), ids=COMPLETED)
def test_written_values_are_normalized(written: JsonObject, completed: JsonObject) -> None:
    assert normalize_config_args(written) == completed
    assert normalize_config_args(completed) == completed


@pytest.mark.parametrize(("values", "what", "dummy"), REFUSED.values(), ids=REFUSED)
def test_validation_finds_the_same_on_the_controller_and_shows_no_value(
    values: JsonObject, what: str, dummy: str
) -> None:
    findings = [finding for finding in schema_findings([{"config_args": values}]) if finding.code != "key-case"]
    assert len(findings) == 1
    assert findings[0].path.lower().startswith(f"/config_args{what.partition(':')[0]}".lower())
    assert "77" not in str(findings[0].as_dict())


def test_an_invalid_address_is_found_on_the_controller_and_not_shown() -> None:
    (finding,) = schema_findings([{"config_args": {"ips": ["10.1.0.777"]}}])
    assert (finding.code, finding.path) == ("malformed-value", "/config_args/ips/0")
    assert "777" not in str(finding.as_dict())
    assert schema_findings([{"state": "absent", "config_args": {"ips": 5}}, 5, {"config_args": 5}]) == []
