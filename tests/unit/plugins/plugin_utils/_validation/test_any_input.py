# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Any input results in findings and never in a traceback."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import ERROR, Finding
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.violation import violation
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import schema_level
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import validate
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import LIST
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import (
    json_values,
    results,
    spoiled_texts,
)
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._validation import corpus

GOOD: t.Final[list[JsonObject]] = [json.loads(path.read_bytes()) for path in corpus.GOOD]

addresses = st.sampled_from(
    ["10.1.0.1", "10.1.0.0/24", "10.1.0.0/31", "fd00::/64", "fd00::1", "::/0", "0.0.0.0/0", "x"]
)
values = json_values | addresses | st.integers(-1, 70000) | st.sampled_from(["host-local", "static", "dhcp", "auto"])


def words(schema: t.Any) -> list[str]:
    """Return every key that a schema names, at any depth."""
    if isinstance(schema, list):
        return [word for part in schema for word in words(part)]
    if not isinstance(schema, dict):
        return []
    named = list(schema["properties"]) if isinstance(schema.get("properties"), dict) else []
    return named + [word for part in schema.values() for word in words(part)]


@st.composite
def plugins(draw: st.DrawFn) -> JsonObject:
    """Return a strategy for plugin configurations with the plugin's own keys and any values."""
    name = draw(st.sampled_from(sorted(schemas.plugin_types())))
    keys = st.sampled_from(sorted(set(words(schemas.load(f"plugins/{name}"))))) | st.text(max_size=3)
    inner = st.recursive(
        values, lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=4), max_leaves=12
    )
    return {"type": name, **draw(st.dictionaries(keys, inner, max_size=6))}


networks = st.builds(
    lambda version, listed, extra: {**extra, "cniVersion": version, "name": "n", "plugins": listed},
    st.sampled_from(["1.0.0", "0.3.1", "9"]),
    st.lists(plugins(), max_size=3),
    st.dictionaries(st.sampled_from(["disableCheck", "cniVersions", "Name", "x"]), json_values, max_size=2),
)
attachments = st.lists(
    json_values
    | st.fixed_dictionaries(
        {
            "network": st.just("n"),
            "capability_args": st.dictionaries(
                st.sampled_from(["portMappings", "bandwidth", "x"]),
                json_values
                | st.lists(
                    st.dictionaries(st.sampled_from(["hostPort", "protocol", "hostIP"]), values, max_size=3), max_size=3
                )
                | st.dictionaries(st.sampled_from(["ingressRate", "ingressBurst"]), values, max_size=2),
                max_size=3,
            ),
        }
    ),
    max_size=3,
)


def text(network: t.Any) -> bytes:
    return json.dumps(network, indent=1).encode()


def is_refused(content: bytes) -> bool:
    try:
        config.parse(content, "x")
    except CniError:
        return True
    return False


def check(findings: list[Finding], content: bytes) -> None:
    """Assert that the findings are serializable, and that each refers to an existing place or a missing key."""
    lines = content.decode("utf-8", "replace").count("\n") + 1
    for finding in findings:
        json.dumps(finding.as_dict())
        assert str(finding).endswith(f"({finding.code})")
        assert finding.line is None or 1 <= finding.line <= lines


@given(spoiled_texts(LIST, *GOOD))
def test_any_bytes_that_the_engine_refuses_have_a_finding_without_a_traceback(content: bytes) -> None:
    findings = validate([Source("x", content)])
    check(findings, content)
    assert not is_refused(content) or any(
        finding.severity == ERROR or finding.code == "no-inlined-plugins" for finding in findings
    )


@given(st.lists(networks, min_size=1, max_size=3), attachments)
def test_any_values_that_the_engine_refuses_have_a_finding_without_a_traceback(
    several: list[JsonObject], items: list[t.Any]
) -> None:
    contents = [text(network) for network in several]
    findings = validate([Source(f"{number}", content) for number, content in enumerate(contents)], attachments=items)
    check(findings, max(contents, key=lambda content: content.count(b"\n")))
    for number, content in enumerate(contents):
        assert not is_refused(content) or any(
            finding.severity == ERROR for finding in findings if finding.file == f"{number}"
        )


@given(st.sampled_from(GOOD), st.permutations(["schema", "specification", "consistency"]))
def test_each_level_can_be_checked_alone(network: JsonObject, levels: list[str]) -> None:
    source = Source("x", text(network))
    whole = validate([source], levels)
    apart = [finding for level in ("schema", "specification", "consistency") for finding in validate([source], [level])]
    assert whole == apart
    assert {finding.level for finding in validate([source], levels[:1])} <= {levels[0]}


@given(plugins())
def test_violations_equal_the_findings_of_the_plain_library(plugin: JsonObject) -> None:
    name = schemas.name_for_plugin(plugin["type"])
    own: t.Any = schemas.validator(name)
    plain = type(own)(schemas.load(name), format_checker=own.format_checker)
    actual, expected = (
        sorted(map(str, map(violation, errors)))
        for errors in (schemas.violations(name, plugin), plain.iter_errors(plugin))
    )
    assert actual == expected


def test_valid_networks_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    decide = schemas.validator
    monkeypatch.setattr(schemas, "validator", lambda name: asked.append(name) or decide(name))  # type: ignore[func-returns-value]
    needing = set()
    for path in corpus.GOOD:
        asked.clear()
        validate([Source(path.name, path.read_bytes())], ["schema"])
        needing |= {path.name} if asked else set()
    # Calico's placeholders are no subnets.
    assert needing == {f"10-calico-{name}.conflist" for name in ("dual-stack", "pod-cidr", "word-and-subnet")}


@given(json_values)
def test_any_value_can_be_validated_as_a_result(value: t.Any) -> None:
    for finding in schema_level.result_findings(value, "x"):
        json.dumps(finding.as_dict())


@given(results())
def test_results_of_every_version_pass(result: t.Any) -> None:
    findings = schema_level.result_findings(dict(result.keys), "x")
    # The strategy knows no bound of a routing table's number.
    assert [finding for finding in findings if not finding.path.endswith("/table")] == []
