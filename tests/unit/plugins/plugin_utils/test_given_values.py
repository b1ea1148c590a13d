# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values of variables as people give them."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.plugin_utils._given_values import flag, objects, or_default, settings, words

ROLES = pathlib.Path(__file__).parents[4] / "roles"
# It turns null into the text None, which is neither empty nor a value.
CONVERTED = re.compile(r"\| string \| (?:ansible\.builtin\.)?default\(")


@pytest.mark.parametrize("given", [None, "", " ", "\n"], ids=repr)
def test_null_and_empty_text_are_replaced_by_the_default(given: object) -> None:
    assert or_default(given, True) is True


@pytest.mark.parametrize("given", [True, 1, "yes", "Y", "t", "on", " true "], ids=repr)
def test_a_flag_is_true_for_what_modules_take_for_true(given: object) -> None:
    assert flag(given) is True


@pytest.mark.parametrize("given", [False, 0, "no", "N", "f", "off", "False"], ids=repr)
def test_a_flag_is_false_for_what_modules_take_for_false(given: object) -> None:
    assert flag(given, True) is False


def test_a_flag_without_a_value_is_its_default() -> None:
    assert (flag(None), flag(" ", True)) == (False, True)


@pytest.mark.parametrize("given", ["perhaps", "2", 2, ["yes"], {}], ids=repr)
def test_a_flag_that_modules_would_refuse_is_an_error(given: object) -> None:
    with pytest.raises(AnsibleFilterError, match="is neither true nor false; expected: true, yes"):
        flag(given)


@pytest.mark.parametrize("given", [False, 0, "no", "0", [], {}], ids=repr)
def test_every_other_value_is_returned_unchanged(given: object) -> None:
    assert or_default(given, "default") is given


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        ("a\nb\n", ["a", "b"]),
        ("a b", ["a", "b"]),
        ('["a b", c]', ["a b", "c"]),
        (7, 7),
    ],
    ids=repr,
)
def test_a_list_of_names_may_be_text(given: object, expected: object) -> None:
    assert words(given, ["default"]) == expected


@pytest.mark.parametrize("given", [None, "", " \n", [], "[]"], ids=repr)
def test_a_list_without_names_is_replaced_by_the_default(given: object) -> None:
    default = ["default"]
    assert words(given, default) is default
    assert words(given) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([{"name": "a"}], [{"name": "a"}]),
        ("- name: a", [{"name": "a"}]),
        ('[{"name": "a"}]', [{"name": "a"}]),
        (None, []),
        (" \n", []),
        ("name: a", {"name": "a"}),
    ],
    ids=repr,
)
def test_a_list_of_objects_may_be_yaml_or_json(given: object, expected: object) -> None:
    assert objects(given) == expected


@pytest.mark.parametrize("read", [words, objects])
def test_text_that_is_not_yaml_is_one_short_error(read: t.Callable[[object], object]) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^'\[a, x{56}\.\.\.' is not YAML: line 1, column 105: [^\n]+$"):
        read("[a, " + 100 * "x")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[2026-13-01]", "month must be in 1..12"),
        ("[" * 5000, "maximum recursion depth exceeded"),
    ],
    ids=["date", "brackets"],
)
@pytest.mark.parametrize("read", [words, objects])
def test_text_from_which_yaml_makes_no_value_is_one_short_error(
    read: t.Callable[[object], object], text: str, reason: str
) -> None:
    with pytest.raises(AnsibleFilterError, match=f" is not YAML: {reason}"):
        read(text)


@pytest.mark.parametrize("file", sorted(ROLES.glob("*/tasks/*.yml")), ids=lambda file: str(file.relative_to(ROLES)))
def test_no_role_converts_null_to_text_before_it_looks_for_a_value(file: pathlib.Path) -> None:
    assert CONVERTED.findall(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        (None, {}),
        (" \n# nothing\n", {}),
        ("a = 1\n\n  # b=2\nc=4 5\n", {"a": "1", "c": "4 5"}),
        ("# more = less\na=4 5", {"a": "4 5"}),
        ("# text\na: 1\n", {"a": 1}),
        ('{"a": "b=c"}', {"a": "b=c"}),
        ("net.a=1, net/b=2", "net.a=1, net/b=2"),
        ("kernel.a=|/bin/dump --pid=%p e=%e", {"kernel.a": "|/bin/dump --pid=%p e=%e"}),
        ([], {}),
        ("[]", {}),
        (7, 7),
        (False, False),
    ],
    ids=repr,
)
def test_settings_may_be_lines_or_yaml(given: object, expected: object) -> None:
    assert settings(given) == expected


@pytest.mark.parametrize("given", ["false", "0"])
def test_text_that_is_another_value_is_refused(given: str) -> None:
    with pytest.raises(AnsibleFilterError, match=f"^'{given}' is not a setting; expected: key=value$"):
        settings(given)


@pytest.mark.parametrize("given", ["a 1", "b=2\na 1", "# more = less\na 1"])
def test_a_line_without_a_setting_is_named(given: str) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^'a 1' is not a setting; expected: key=value$"):
        settings(given)
