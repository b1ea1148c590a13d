# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from hypothesis import given

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join, scan
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import json_values

TEXT = """{
  "name": "a",
  "a/b~c": [1,
    {"x": "}],{\\" // no end"},
    []],
  "plugins": [
    {
      "type": "t", "mtu":
        5
    }
  ]
}"""


def pointers(value: t.Any, path: str = "") -> t.Iterator[str]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inside:
        yield from pointers(child, join(path, key))


@given(json_values)
def test_every_place_of_a_text_has_a_line(value: t.Any) -> None:
    for indent in (None, 1):
        positions = scan(json.dumps(value, indent=indent))
        assert set(positions.lines) == set(pointers(value))
        assert positions.repeated_keys == []


def test_keys_and_entries_have_the_line_in_which_they_begin() -> None:
    lines = scan(TEXT).lines
    assert (lines[""], lines["/name"], lines["/a~1b~0c"], lines["/a~1b~0c/1/x"], lines["/a~1b~0c/2"]) == (1, 2, 3, 4, 5)
    assert (lines["/plugins"], lines["/plugins/0"], lines["/plugins/0/mtu"]) == (6, 7, 8)


def test_a_missing_key_has_the_line_of_its_parent() -> None:
    positions = scan(TEXT)
    assert positions.line("/plugins/0/ipam/subnet") == 7
    assert positions.line("/nowhere") == 1


def test_a_duplicate_key_has_both_places() -> None:
    (repeated,) = scan('{"a": {"b": 1,\n"c": 2,\n"b": 3}}').repeated_keys
    assert (repeated.path, repeated.first, repeated.second) == ("/a/b", 1, 3)
