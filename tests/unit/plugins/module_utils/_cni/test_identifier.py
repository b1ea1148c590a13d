# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import string
import typing as t

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import identifier
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import names

ALPHANUMERIC = frozenset(string.ascii_letters + string.digits)
NOT_TEXT: tuple[object, ...] = (None, 5, True, b"blue", ["blue"], {})
NOT_NAMES = (
    "",
    ".",
    "..",
    "-a",
    "_a",
    ".a",
    "a b",
    "a/b",
    "../a",
    "a\\b",
    "a\n",
    "\na",
    "a\0",
    "ä",
    "aä",
    "\uff11",
    "a:b",
    "a;b",
    "a\udc80",
)

Check = t.Callable[[object], str]
CHECKS: tuple[Check, ...] = (identifier.check_network_name, identifier.check_container_id)


def write_json(value: object) -> str:
    """Return a value as JSON writes it, which has no None."""
    return {"None": "null", "True": "true"}.get(repr(value), repr(value))


def accepts(check: Check, value: object) -> bool:
    try:
        return check(value) == value
    except CniError:
        return False


def is_name(text: str) -> bool:
    """Return whether a text matches the grammar as the specification words it."""
    return text != "" and text[0] in ALPHANUMERIC and set(text) <= ALPHANUMERIC | set("_.-")


def is_ifname(text: str) -> bool:
    """Return whether the kernel accepts a name of a link without control characters."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False
    forbidden = any(letter in "/:%\x7f" or letter.isspace() or letter < " " for letter in text)
    return 0 < size <= 15 and text not in (".", "..", "all", "default") and not forbidden


@pytest.mark.parametrize("check", CHECKS)
class TestNames:
    @given(text=st.text(st.sampled_from("aZ09_.-/ \n:") | st.characters(), max_size=6))
    def test_exactly_the_grammar_of_the_specification_is_accepted(self, check: Check, text: str) -> None:
        assert accepts(check, text) == is_name(text)

    @given(name=names)
    def test_every_word_of_the_grammar_is_accepted(self, check: Check, name: str) -> None:
        assert check(name) == name

    @pytest.mark.parametrize("value", [*NOT_NAMES, *NOT_TEXT])
    def test_the_error_for_an_invalid_identifier_has_the_value_and_the_rule(self, check: Check, value: object) -> None:
        error = error_of(check, value)
        assert write_json(value) in error.msg
        assert "letters, digits" in error.details


def test_an_invalid_network_name_is_a_configuration_error() -> None:
    error = error_of(identifier.check_network_name, "a b", "10-net.conflist: /name")
    assert (error.code, error.msg) == (Code.INVALID_CONFIG, "10-net.conflist: /name: 'a b' is not a network name")


def test_an_invalid_container_id_is_an_environment_error() -> None:
    error = error_of(identifier.check_container_id, "")
    assert (error.code, error.msg) == (Code.INVALID_ENVIRONMENT, "CNI_CONTAINERID: '' is not a container id")


@given(st.text(max_size=18))
@example("a" * 15)
@example("a" * 16)
@example("é" * 7)
@example("é" * 8)
@example("eth\udc80")
@example("eth%d")
def test_exactly_the_kernels_interface_names_are_accepted(text: str) -> None:
    assert accepts(identifier.check_ifname, text) == is_ifname(text)


@pytest.mark.parametrize("value", ["eth0", "eth0.100", "eth0@if3", "...", "é", "-"])
def test_unusual_interface_names_are_accepted(value: str) -> None:
    assert identifier.check_ifname(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        ".",
        "..",
        "a/b",
        "a:b",
        "a b",
        "a\tb",
        "a\u00a0b",
        "eth0\n",
        "a\0b",
        "a" * 16,
        "eth%d",
        "all",
        "default",
        *NOT_TEXT,
    ],
)
def test_other_interface_names_are_refused_with_the_value_and_the_rule(value: object) -> None:
    error = error_of(identifier.check_ifname, value)
    assert error.code == Code.INVALID_ENVIRONMENT
    assert error.msg == f"CNI_IFNAME: {write_json(value)} is not an interface name"
    assert "1 to 15 bytes" in error.details


@pytest.mark.parametrize("value", ["bridge", "host-local", "my.plugin_2", "..."])
def test_a_plugin_type_is_a_file_name(value: str) -> None:
    assert identifier.check_plugin_type(value, "x") == value


@pytest.mark.parametrize(
    "value",
    ["", ".", "..", "../bridge", "/bin/sh", "a/b", "a\\b", "a\0", "a\n", "a\x7f", "a\u202eb", "a\udc80", *NOT_TEXT],
)
def test_a_plugin_type_never_leaves_its_directory(value: object) -> None:
    error = error_of(identifier.check_plugin_type, value, "10-net.conflist: /plugins/0/type")
    assert error.code == Code.INVALID_CONFIG
    assert error.msg == f"10-net.conflist: /plugins/0/type: {write_json(value)} is not a plugin type"


@pytest.mark.parametrize("args", [{}, {"K": ""}, {"IP": "10.1.0.9/24"}, {"a": "ä"}])
def test_arguments_without_separators_are_accepted(args: dict[str, str]) -> None:
    identifier.check_args(args)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("", "v"),
        ("a;b", "v"),
        ("a=b", "v"),
        ("a", "v;w"),
        ("a", "v\0"),
        ("a\0", "v"),
        ("a", 5),
        ("a", None),
        ("a", "\ud800"),
    ],
)
def test_arguments_that_the_variable_cannot_carry_are_refused(key: str, value: object) -> None:
    error = error_of(identifier.check_args, {key: value})
    assert error.code == Code.INVALID_ENVIRONMENT
    invalid_key = f"CNI_ARGS: {key!r} is not a valid key"
    assert error.msg == (invalid_key if key != "a" else "CNI_ARGS: the value of 'a' is not valid")


def test_arguments_have_the_length_limit_of_one_variable() -> None:
    most = 128 * 1024 - len("CNI_ARGS=K=") - 1
    identifier.check_args({"K": "v" * most})
    assert "expected: at most 131063 bytes" in error_of(identifier.check_args, {"K": "v" * (most + 1)}).details
