# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import itertools
import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import LIST
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import json_values, spoiled_texts


def decode(text: str) -> t.Any:
    return json_text.decode(text.encode(), "x")


@given(json_values)
def test_written_values_are_read_back_unchanged(value: object) -> None:
    assert json_text.decode(json_text.encode(value), "x", unique_keys=True) == value


@given(st.integers())
def test_integers_keep_every_digit(number: int) -> None:
    assert json_text.encode(decode(str(number))) == str(number).encode()


@pytest.mark.parametrize("text", ["9007199254740993", "-9223372036854775809", "18446744073709551616", "1" + "0" * 300])
def test_integers_beyond_the_reach_of_a_float_keep_every_digit(text: str) -> None:
    assert json_text.encode(decode(text)) == text.encode()


@given(spoiled_texts(LIST))
def test_no_bytes_raise_anything_but_cni_error(content: bytes) -> None:
    try:
        value = json_text.decode(content, "x", unique_keys=True)
    except CniError:
        return
    assert json_text.decode(json_text.encode(value), "x") == value


@pytest.mark.parametrize(
    "text", ["{}", " [1]\n", '"a"', "null", "true", "1E2", "-0", '"\\ud83d\\ude00"', '{"a":{"a":1}}']
)
def test_valid_json_is_read(text: str) -> None:
    decode(text)


LENIENT = (
    *("", " ", "{", "[1,]", '{"a":1,}', "{'a':1}", "{a:1}", "{}{}", "{} x", "nul", '"a', '"\t"', '"\\x"'),
    *("NaN", "[Infinity]", "-Infinity", "01", "+1", ".5", "1.", "0x1", "1e999", "-1e999"),
    *("/**/{}", "# a\n{}", "{} // a", "\ufeff{}", '"\\ud800"', '{"\\udc00": 1}'),
)


@pytest.mark.parametrize("text", LENIENT)
def test_extensions_of_json_are_refused(text: str) -> None:
    assert error_of(decode, text).code == Code.DECODE_FAILURE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "x is not valid JSON: it is empty"),
        ("\n ", "it is empty"),
        ('{"a": 1,\n  b}', "line 2, column 3"),
        ('{"a": [1, 2', "the text ends there"),
        ('{"a": "b', "may be truncated"),
        ("{} // note", "JSON has no comments"),
        ("\ufeff{}", "without a byte order mark"),
        ("[NaN]", "NaN is not a JSON number"),
        ("1e999", "the number 1e999 is out of range"),
        ('"\\ud800"', "unpaired surrogate escape"),
    ],
)
def test_the_error_names_the_fault_and_its_place(text: str, words: str) -> None:
    assert words in str(error_of(decode, text))


def test_the_error_names_the_byte_that_is_not_text() -> None:
    assert "byte 2 is not UTF-8" in error_of(json_text.decode, b'{"\xff"', "x").msg


def test_a_duplicate_key_in_a_users_file_is_refused() -> None:
    content = b'{"a": 1, "b": {"a": 1, "c": 1, "c": 1}}'
    assert "the key 'c' is given twice" in error_of(json_text.decode, content, "x", unique_keys=True).msg


def test_a_duplicate_key_in_a_plugins_output_has_its_last_value() -> None:
    assert decode('{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.parametrize(("depth", "taken"), [(190, True), (191, False)])
@pytest.mark.parametrize("brackets", ["[]", '{"a":}'])
def test_the_nesting_limit_leaves_room_for_enclosing_objects(depth: int, taken: bool, brackets: str) -> None:
    text = brackets[:-1] * depth + ("0" if taken or "a" in brackets else "") + brackets[-1] * depth
    if taken:
        assert decode(json_text.encode({"prevResult": decode(text)}).decode()[len('{"prevResult":') : -1]) == decode(
            text
        )
    else:
        assert "more than 190 levels" in error_of(decode, text).msg


@pytest.mark.parametrize("value", [{"a": "\udcff"}, ["\ud800"]])
def test_unreadable_values_are_not_written(value: object) -> None:
    text = json.dumps(value)
    for error in (error_of(json_text.encode, value), error_of(decode, text)):
        assert "unpaired surrogate escape" in error.msg
        assert error.details == "write the character itself, or both surrogates"


@pytest.mark.parametrize("container", [lambda inner: {"a": inner}, lambda inner: [inner], lambda inner: (inner,)])
def test_every_written_value_can_be_read(container: t.Callable[[object], object]) -> None:
    value: object = 0
    for dummy in range(200):
        value = container(value)
    assert "0" in json.dumps(json_text.decode(json_text.encode(value), "x", recorded=True))
    assert "more than 200 levels" in error_of(json_text.encode, container(value)).msg


VALUES = [0, 0.0, False, 1, 1.0, True, "1", "", None, [], {}, [1], [True], {"a": 1}, {"a": True}, {"b": 1}, [1, 1]]


def test_values_are_equal_if_their_texts_are_equal() -> None:
    for first, second in itertools.product(VALUES, repeat=2):
        assert json_text.is_same(first, second) is (json_text.encode(first) == json_text.encode(second))


def test_infinite_nesting_is_an_error() -> None:
    assert "nested too deeply" in error_of(decode, "[" * 200_000).msg


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", object()])
def test_values_without_a_json_form_are_an_error(value: object) -> None:
    assert isinstance(error_of(json_text.encode, {"key": value}), CniError)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({}, "an object"),
        ([], "a list"),
        ("", "a string"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        (None, "null"),
    ],
)
def test_kind_returns_the_name_of_the_json_type(value: object, name: str) -> None:
    assert json_text.kind(value) == name


def test_as_object_accepts_only_an_object() -> None:
    assert json_text.as_object({}, "x") == {}
    assert "expected an object, found a list" in error_of(json_text.as_object, [], "x").msg


def test_a_key_is_found_in_any_case_and_the_exact_one_comes_first() -> None:
    keys = json_text.any_case({"IPMASQ": 1, "ipMasq": 2, "BRIDGE": "old", "Bridge": "new", "mtu": None, "MTU": 9000})
    assert (keys["ipMasq"], keys.get("ipmasq"), keys["bridge"], keys.get("mtu")) == (2, 2, "new", 9000)
    assert ("bridge" in keys, "ipam" in keys, keys.get("ipam", 0)) == (True, False, 0)
    assert (keys.find_key("bridge"), keys.find_key("ipam")) == ("Bridge", "ipam")
    with pytest.raises(KeyError):
        keys["ipam"]


def test_objects_in_lists_and_objects_are_read_in_any_case() -> None:
    written = {"IPAM": {"Ranges": [[{"SUBNET": "10.1.0.0/24"}]]}}
    keys = json_text.any_case(written)
    assert keys["ipam"]["ranges"][0][0]["subnet"] == "10.1.0.0/24"
    assert json_text.any_case(keys) is keys
    assert json_text.encode(keys) == json_text.encode(written)


@pytest.mark.parametrize(
    ("content", "repeated"),
    [
        (b'{"a":{"b":{"x":1,"y":2,"x":1}}}', "x"),
        (b'{"A":{"b":{"x":1,"X":2}}}', ""),
        (b'{"x":1,"x":2,"a":{"b":{"c":{"x":1,"x":2}}}}', ""),
        (b'{"a":{"B":{"x":1,"x":1}}}', "x"),
        (b'{"a":[{"b":1}]}', ""),
        (b"[1]", ""),
        (b"{}", ""),
    ],
)
def test_a_repeated_key_is_found_in_the_object_at_a_path_only(content: bytes, repeated: str) -> None:
    assert json_text.find_repeated_key(content, "a", "b") == repeated
