# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import scan
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests import tree, yaml_trees
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import json_values

# By style: what stands before the text, what replaces its characters, and what stands after it.
STYLES: t.Final[dict[str, tuple[str, dict[str, str], str]]] = {
    "literal": ("|-\n", {}, ""),
    "literal with a tag and a comment": ("!!str |  # a network\n", {}, ""),
    "folded": (">\n", {}, ""),
    "single-quoted": ("'", {"'": "''"}, "'"),
    "single-quoted with an anchor": ("&config\n   '", {"'": "''"}, "'"),
    "double-quoted": ('"', {'"': '\\"', "\\": "\\\\"}, '"'),
    "double-quoted with escapes": ('"', {'"': "\\x22", "\\": "\\u005c", "\n": "\\n\n"}, '"'),
    "double-quoted with continued lines": ('"', {'"': '\\"', "\\": "\\\\", "\n": " \\\n"}, '"'),
}
styles = st.sampled_from(sorted(STYLES))


def embed(text: str, style: str, before: str = "# first\nspec:\n") -> tuple[str, int]:
    """Return a YAML text that has a text of JSON as the value of /spec/config, and the line before the first of JSON."""
    opening, replaced, closing = STYLES[style]
    escaped = "".join(replaced.get(character, character) for character in text).replace("\n", "\n    ")
    opening = f"{before}  config: {opening}" + "    " * opening.endswith("\n")
    return f"{opening}{escaped}{closing}\n---\nkind: Pod\n", opening.count("\n")


def locate(text: str) -> dict[str, int]:
    """Return the lines of the JSON in /spec/config."""
    trees, broken = yaml_trees.read(text)
    assert broken is None
    first = trees[0]
    return scan(first.written("/spec/config", first.value["spec"]["config"])).lines


@given(json_values, styles, st.sampled_from([1, 3, None]))
@example({"it's": {"a": 1}}, "single-quoted", 1)
def test_every_place_has_the_line_on_which_it_stands_in_the_file(value: t.Any, style: str, indent: int | None) -> None:
    text = json.dumps(value, indent=indent).replace("\x7f", "")
    whole, offset = embed(text, style)
    assert json.loads(next(yaml.safe_load_all(whole))["spec"]["config"]) == json.loads(text)
    assert locate(whole) == {path: line + offset for path, line in scan(text).lines.items()}


@pytest.mark.parametrize("text", ['{"a" 2}', '{\n"a": 1,\n"b" 2}'])
@pytest.mark.parametrize("style", STYLES)
def test_an_error_has_the_line_and_the_column_of_the_file(style: str, text: str) -> None:
    whole, offset = embed(text, style)
    first = yaml_trees.read(whole)[0][0]
    written = first.written("/spec/config", first.value["spec"]["config"])
    with pytest.raises(json.JSONDecodeError) as refused:
        json.loads(written)
    line, escapes = refused.value.lineno, STYLES[style][1].get('"', '"')
    assert line == offset + 1 + text.count("\n")
    # Each quote before the error has been one character or an escape.
    assert whole.split("\n")[line - 1][refused.value.colno - 1 + 2 * (len(escapes) - 1)] == "2"


def test_line_breaks_in_escapes_do_not_count_as_lines_of_the_file() -> None:
    whole = 'spec:\n  config: "{\\x0a\\u000A\\n\n    \\"a\\": 1}"\n---\n{}\n'
    assert locate(whole) == {"": 2, "/a": 3}


def test_lines_are_counted_as_editors_count_them() -> None:
    before = "# \u2028# This is another line for YAML only.\r\nspec:\r\n"
    whole, offset = embed('{"a":\r\n 1,\r\n"b": 2}', "literal", before)
    assert locate(whole)["/b"] == offset + 3
    first = yaml_trees.read(whole)[0][0]
    assert first.positions.lines["/spec/config"] == offset
    broken = yaml_trees.read(f"{whole}a: [")[1]
    assert broken is not None
    assert broken.line == whole.count("\n") + 1


def test_a_key_that_is_folded_has_the_line_of_its_object() -> None:
    whole = "spec:\n  config: '{\n    \"a\n    b\": 1}'\n---\n{}\n"
    assert set(locate(whole)) >= {""}
    first = yaml_trees.read(whole)[0][0]
    assert scan(first.written("/spec/config", "")).line("/a b") == 2


def test_json_within_json_is_on_one_line() -> None:
    text = json.dumps({"x": 1, "spec": {"config": '{\n"a": 1,\n"b": [1]}'}}, indent=1)
    document = tree.from_json(text)
    assert document is not None
    lines = scan(document.written("/spec/config", document.value["spec"]["config"])).lines
    assert set(lines.values()) == {4}
