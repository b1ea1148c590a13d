# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleError, AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.conflist_findings import conflist_findings
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.test.valid_conflist import valid_conflist

GOOD: t.Final[JsonObject] = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "loopback"}]}
TYPO: t.Final[JsonObject] = {**GOOD, "name": "typo", "plugins": [{"type": "bridge", "isGatway": True}]}
ODD: t.Final[JsonObject] = {**GOOD, "name": "odd", "plugins": [{"type": "loopback", "colour": "red"}]}


def codes(*arguments: t.Any, **keywords: t.Any) -> list[tuple[str, str]]:
    return [(finding["file"], finding["code"]) for finding in conflist_findings(*arguments, **keywords)]


def test_a_finding_has_all_documented_keys() -> None:
    assert conflist_findings(json.dumps(TYPO, indent=2)) == [
        {
            "level": "schema",
            "severity": "error",
            "code": "misspelled-key",
            "file": "conflists[0]",
            "line": 7,
            "plugin": {"index": 0, "type": "bridge"},
            "path": "/plugins/0/isGatway",
            "value": True,
            "message": "the key 'isGatway' is unknown to bridge of release 1.9.1",
            "hint": "did you mean isGateway?",
        }
    ]


def test_findings_in_data_have_no_lines() -> None:
    assert conflist_findings(TYPO)[0]["line"] is None


def test_one_or_several_networks_of_any_form_are_validated() -> None:
    assert codes(GOOD) == codes([GOOD]) == codes(json.dumps(GOOD)) == codes([]) == []
    assert codes([GOOD, json.dumps(TYPO), ODD]) == [("conflists[1]", "misspelled-key"), ("conflists[2]", "unknown-key")]


def test_files_are_read_and_those_of_one_directory_belong_together(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / place for place in ("a/10-x.conflist", "a/20-y.conflist", "b/10-x.conflist")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(GOOD), encoding="utf-8")
    assert codes([str(path) for path in paths], files=True) == [(str(paths[1]), "duplicate-network")]


def test_only_the_chosen_levels_are_checked() -> None:
    assert codes(TYPO, ["specification", "consistency"]) == []
    assert codes(TYPO, levels=["schema"]) == [("conflists[0]", "misspelled-key")]


def test_attachments_are_validated_with_their_network() -> None:
    items = [{"network": "net", "netns": "a", "capability_args": {"mac": "02:00:00:00:00:01"}}]
    assert codes(GOOD, attachments=items) == [("attachments[0]", "undeclared-capability")]
    elsewhere = {"cniVersion": "1.0.0", "name": "net"}
    assert codes(elsewhere, attachments=items) == [("conflists[0]", "no-inlined-plugins")]


def test_a_finding_of_an_attachment_is_reported_once_for_all_directories(tmp_path: pathlib.Path) -> None:
    files = [tmp_path / place / "10-net.conflist" for place in ("a", "b")]
    for path in files:
        path.parent.mkdir()
        path.write_text(json.dumps(GOOD), encoding="utf-8")
    items = [{"network": "other", "netns": "a", "capability_args": {"mac": 5}}]
    found_codes = codes([str(path) for path in files], files=True, attachments=items)
    assert found_codes == [("attachments[0]", "wrong-type")]


def test_long_values_are_cut() -> None:
    broken = {**GOOD, "plugins": [{"type": "bridge", "mtu": "9" * 10_000, "vlan": list(range(10_000))}]}
    assert max(len(str(finding["value"])) for finding in conflist_findings(broken)) < 250


@pytest.mark.parametrize("nonsense", [5, None, [GOOD, 5], [[GOOD]]])
def test_a_value_of_another_type_is_refused_with_a_message(nonsense: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"conflist_findings: conflists\[.\]: found "):
        conflist_findings(nonsense)
    with pytest.raises(AnsibleFilterError, match=r"valid_conflist: conflists\[.\]: found "):
        valid_conflist(nonsense)


class TaggedNumber(int):
    """A value of a class of its own, as ansible-core 2.19 and later pass them."""


def test_an_error_names_the_type_in_plain_words() -> None:
    with pytest.raises(AnsibleFilterError, match=r"found a number; "):
        conflist_findings(TaggedNumber(5))


@pytest.mark.parametrize("levels", ["schema", ["scheme"], [5], 5, [["schema"]]])
def test_invalid_levels_are_refused(levels: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match="expected: a list of schema, specification, consistency"):
        conflist_findings(GOOD, levels)


def test_data_without_a_json_form_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="cannot be written as JSON"):
        conflist_findings({**GOOD, "x": {1, 2}})


def test_an_error_without_jsonschema_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for cached in (schemas.validator, schemas._validator_class, schemas._require_library):
        cached.cache_clear()
    monkeypatch.setitem(t.cast("JsonObject", __import__("sys").modules), "jsonschema", None)
    with pytest.raises(AnsibleError, match=r"pip install 'jsonschema>=4\.17'"):
        conflist_findings(GOOD)
    assert conflist_findings(GOOD, ["specification", "consistency"]) == []


def test_a_jsonschema_that_is_too_old_is_an_error_as_one_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "jsonschema.py").write_text("class Draft7Validator: pass\n", encoding="utf-8")
    for cached in (schemas.validator, schemas._validator_class, schemas._require_library):
        cached.cache_clear()
    monkeypatch.delitem(sys.modules, "jsonschema", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(AnsibleError, match=r"pip install 'jsonschema>=4\.17'"):
        conflist_findings({**GOOD, "plugins": [{"type": "bridge", "mtu": "x"}]})


def test_errors_make_a_network_invalid_and_warnings_only_if_strict() -> None:
    assert valid_conflist(GOOD, strict=True)
    assert valid_conflist(ODD)
    assert not valid_conflist(ODD, strict=True)
    assert not valid_conflist(TYPO)
    assert valid_conflist(TYPO, levels=["consistency"])


def test_the_jinja_test_accepts_a_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "10-net.conflist"
    assert not valid_conflist(str(path), files=True)
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    assert valid_conflist(str(path), files=True)


def test_equal_findings_of_several_hosts_are_reported_once_with_their_hosts() -> None:
    by_host = {"a": [GOOD, TYPO], "b": TYPO, "c": [GOOD], "d": []}
    findings = conflist_findings(by_host, by_host=True)
    assert [(finding["code"], finding["file"], finding["hosts"]) for finding in findings] == [
        ("misspelled-key", "conflists[1]", ["a"]),
        ("misspelled-key", "conflists[0]", ["b"]),
    ]
    (same,) = conflist_findings({"a": [TYPO], "b": [TYPO]}, by_host=True)
    assert same == {**conflist_findings([TYPO])[0], "hosts": ["a", "b"]}
    items = [{"network": "net", "netns": "a", "capability_args": {"mac": 5}}]
    (malformed, undeclared) = conflist_findings({"a": GOOD, "b": GOOD}, attachments={"b": items}, by_host=True)
    assert (malformed["hosts"], undeclared["code"]) == (["b"], "undeclared-capability")


@pytest.mark.parametrize(
    ("networks", "attachments"), [([GOOD], None), ({"a": GOOD}, [])], ids=["networks", "attachments"]
)
def test_networks_that_are_not_grouped_by_host_are_refused_with_a_message(networks: t.Any, attachments: t.Any) -> None:
    with pytest.raises(
        AnsibleFilterError, match="by_host: found a list; expected: a dictionary of host names to lists"
    ):
        conflist_findings(networks, attachments=attachments, by_host=True)
    with pytest.raises(AnsibleFilterError, match=r"conflist_findings: a: conflists\[0\]: found a number"):
        conflist_findings({"a": 5}, by_host=True)
