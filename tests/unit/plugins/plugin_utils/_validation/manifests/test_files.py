# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import time
import typing as t

import pytest

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.filter.conflist_findings import conflist_findings
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests import files
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import validate
from ansible_collections.cni.node.plugins.test.valid_conflist import valid_conflist
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._validation import corpus

VERSION = "k8s.cni.cncf.io/v1"
KIND = "NetworkAttachmentDefinition"
LOOPBACK: t.Final[JsonObject] = {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "loopback"}]}
KEYS = ("apiVersion", "kind", "metadata", "name", "namespace", "spec", "config", "items")
TEXTS = [path.read_bytes() for path in corpus.MANIFESTS]

values: st.SearchStrategy[t.Any] = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
)
splices = st.binary(max_size=6) | st.sampled_from([b"*a", b"&a ", b"- ", b"? ", b"\\", b"'", b"---\n"])


def manifest(config: t.Any, name: str = "net", namespace: str = "lab") -> str:
    """Return a manifest in YAML, with a configuration as text or as data."""
    text = config if isinstance(config, str) else json.dumps(config, indent=2)
    block = text.replace("\n", "\n    ")
    metadata = f"metadata: {{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: {VERSION}\nkind: {KIND}\n{metadata}\nspec:\n  config: |\n    {block}\n"


def bridge(subnet: str, name: str) -> JsonObject:
    ipam = {"type": "host-local", "subnet": subnet}
    return {
        "cniVersion": "1.0.0",
        "name": name,
        "plugins": [{"type": "bridge", "bridge": name, "isGateway": True, "ipam": ipam}],
    }


def find(text: str | bytes, name: str = "net.yaml", **options: t.Any) -> list[JsonObject]:
    sources, findings = files.split(name, text.encode() if isinstance(text, str) else text)
    return [finding.as_dict() for finding in (*findings, *validate(sources, **options))]


def codes(text: str | bytes, name: str = "net.yaml", **options: t.Any) -> list[str]:
    return [finding["code"] for finding in find(text, name, **options)]


def test_a_finding_names_the_manifest_and_has_the_line_of_the_file() -> None:
    (finding,) = find(manifest({**LOOPBACK, "plugins": [{"type": "bridge", "isGatway": True}]}))
    assert (finding["manifest"], finding["line"], finding["path"]) == ("lab/net", 12, "/plugins/0/isGatway")
    assert finding["plugin"] == {"index": 0, "type": "bridge"}


def test_a_finding_outside_a_manifest_has_no_such_key() -> None:
    assert "manifest" not in conflist_findings({**LOOPBACK, "plugins": []})[0]


def test_a_network_without_a_name_gets_the_name_of_the_manifest() -> None:
    items = [{"network": "net", "netns": "a", "capability_args": {"mac": "02:00:00:00:00:01"}}]
    for name in ({"name": ""}, {}):
        network = {"cniVersion": "1.0.0", "plugins": [{"type": "loopback"}], **name}
        assert codes(manifest(network), attachments=items) == ["undeclared-capability"]
    assert codes(manifest(LOOPBACK), attachments=items) == []


def test_a_name_that_is_null_is_not_replaced() -> None:
    assert codes(manifest({**LOOPBACK, "name": None})) == ["null-value", "missing-key"]


def test_multus_runs_a_single_plugin_of_any_version() -> None:
    assert codes(manifest({"cniVersion": "1.0.0", "type": "loopback"})) == []
    nameless = manifest({"cniVersion": "1.0.0", "type": "loopback"}).replace("name: net,", "")
    assert codes(nameless) == ["missing-key"]


def test_several_manifests_may_contain_networks_of_one_name(tmp_path: pathlib.Path) -> None:
    names = [("net", "lab"), ("other", "lab"), ("net", "b")]
    (tmp_path / "a.yaml").write_text("---\n".join(manifest(LOOPBACK, *name) for name in names), encoding="utf-8")
    assert conflist_findings(str(tmp_path / "a.yaml"), files=True) == []


def test_a_manifest_and_a_network_of_a_file_may_have_one_name(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.yaml").write_text(manifest(LOOPBACK, "n").replace("namespace: lab", ""), encoding="utf-8")
    (tmp_path / "n.conflist").write_text(json.dumps(LOOPBACK), encoding="utf-8")
    assert conflist_findings(sorted(map(str, tmp_path.iterdir())), files=True) == []


def test_networks_of_two_manifests_are_compared() -> None:
    both = f"{manifest(bridge('10.1.0.0/16', 'a'), 'a')}---\n{manifest(bridge('10.1.2.0/24', 'b'), 'b')}"
    (finding,) = find(both)
    assert (finding["code"], finding["manifest"]) == ("networks-overlap", "lab/b")


def test_a_json_file_with_a_kind_is_a_manifest_whatever_its_name() -> None:
    whole = {"apiVersion": VERSION, "kind": KIND, "metadata": {"name": "net"}, "spec": {"config": "{\n\n"}}
    for name in ("net.json", "net.yaml", "net"):
        (finding,) = find(json.dumps(whole, indent=1), name)
        assert (finding["code"], finding["line"], finding["manifest"]) == ("not-json", 8, "net")


def test_a_large_file_without_a_network_is_skipped() -> None:
    definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    assert codes(f"{definition}# {'x' * 2_000_000}\n", "crds.yaml") == ["skipped-documents"]
    assert codes(f"{definition}# {'x' * 2_000_000} {KIND}\n", "crds.yaml") == ["too-large"]


def test_json_without_a_kind_is_a_network_configuration_whatever_its_name() -> None:
    for name, of_name in (("net.json", ["wrong-file-name"]), ("net.yaml", ["wrong-file-name"]), ("net.conflist", [])):
        assert codes(json.dumps({**LOOPBACK, "plugins": []}), name) == [*of_name, "out-of-range"]
    inner = {"type": "loopback", "args": {"apiVersion": VERSION, "kind": KIND}}
    assert codes(json.dumps({**LOOPBACK, "plugins": [inner]}), "net.conflist") == ["reserved-key"]
    assert codes('{"apiVersion": "v1", "kind": ', "net.json") == ["not-json"]
    assert codes('"apiVersion" "kind"', "net.conflist") == ["not-json"]


def test_a_byte_order_mark_before_a_manifest_is_ignored() -> None:
    assert codes(f"\ufeff{manifest(LOOPBACK)}") == []
    # YAML has no tabs for indentation, but JSON has.
    whole = {"apiVersion": VERSION, "kind": KIND, "metadata": {"name": "net"}}
    assert codes(f"\ufeff{json.dumps(whole, indent=chr(9))}") == ["config-on-node"]


def test_a_large_json_file_is_not_a_manifest() -> None:
    assert codes(json.dumps({"apiVersion": VERSION, "kind": KIND}).ljust(5_000_000), "net.json") == ["too-large"]


def test_documents_before_an_error_of_yaml_are_validated() -> None:
    broken = find(f"{manifest({**LOOPBACK, 'plugins': []})}---\na: [\n")
    assert [finding["code"] for finding in broken] == ["not-yaml", "out-of-range"]
    assert "from there on" in broken[0]["hint"]


def test_a_document_that_contains_itself_is_skipped() -> None:
    assert codes("kind: List\nitems: &a [*a]\n") == ["skipped-documents"]
    assert codes("kind: List\nitems: &a\n- {kind: List, items: *a}\n") == ["skipped-documents"]


def test_aliases_do_not_multiply() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    begin = time.monotonic()
    assert codes(f"kind: List\n{bomb}items: [*a29, *a29]\n") == ["skipped-documents"]
    assert time.monotonic() - begin < 5


def test_values_of_other_types_are_named() -> None:
    for value, kind in (("2026-01-01", "a date"), ("true", "a boolean"), ("!vault x", "a value with the tag !vault")):
        (finding,) = find(f"apiVersion: {VERSION}\nkind: {KIND}\nmetadata: {{name: a}}\nspec: {{config: {value}}}\n")
        assert (finding["code"], finding["message"]) == ("wrong-type", f"found {kind}")


def test_manifest_info_raises_no_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(f"{manifest('')}---\nkind: Pod\n")
    findings = conflist_findings(str(path), files=True)
    assert [(finding["code"], finding["severity"]) for finding in findings] == [
        ("config-on-node", "info"),
        ("skipped-documents", "info"),
    ]
    assert valid_conflist(str(path), files=True, strict=True)


@given(st.sampled_from(TEXTS), st.integers(0), st.integers(0, 9), splices)
def test_any_change_of_a_manifest_has_findings_and_causes_no_traceback(
    text: bytes, place: int, length: int, new: bytes
) -> None:
    place %= len(text)
    changed = text[:place] + new + text[place + length :]
    for name in ("net.yaml", "net.json"):
        for finding in find(changed, name):
            json.dumps(finding)
            assert finding["line"] is None or 1 <= finding["line"] <= changed.count(b"\n") + 1


@given(values)
def test_any_value_in_a_manifest_has_findings_and_causes_no_traceback(value: t.Any) -> None:
    for kind in (KIND, "List"):
        keys = value if isinstance(value, dict) else {"spec": value, "items": value}
        for finding in find(json.dumps({**keys, "apiVersion": VERSION, "kind": kind}), "net.json"):
            json.dumps(finding)
