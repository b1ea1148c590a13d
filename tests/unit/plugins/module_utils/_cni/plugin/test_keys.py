# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import (
    Keys,
    read_address,
    read_interface,
    refuse,
)
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import json_values

READERS: dict[str, t.Callable[[Keys, str], object]] = {
    "text": Keys.text,
    "flag": Keys.flag,
    "optional_flag": Keys.optional_flag,
    "integer": Keys.integer,
    "optional_integer": Keys.optional_integer,
    "section": lambda keys, key: keys.section(key).values,
    "sections": lambda keys, key: [member.values for member in keys.sections(key)],
    "texts": Keys.texts,
    "address": Keys.address,
    "interface": Keys.interface,
}
DEFAULTS = {
    "text": "",
    "flag": False,
    "optional_flag": None,
    "integer": 0,
    "optional_integer": None,
    "section": {},
    "sections": [],
    "texts": [],
    "address": None,
    "interface": None,
}
READ = [
    ("text", "cni0"),
    ("flag", True),
    ("optional_flag", False),
    ("integer", 1500),
    ("integer", -1),
    ("integer", -(1 << 63)),
    ("integer", (1 << 63) - 1),
    ("optional_integer", 0),
    ("section", {"type": "static"}),
    ("sections", [{"dst": "0.0.0.0/0"}, {}]),
    ("texts", ["10.1.0.1", ""]),
]
REFUSED = [
    ("text", 7, "/key: expected a string, found a number"),
    ("flag", "true", "/key: expected a boolean, found a string"),
    ("flag", 1, "/key: expected a boolean, found a number"),
    ("optional_flag", 0, "/key: expected a boolean, found a number"),
    ("integer", "1500", "/key: expected a number, found a string"),
    ("integer", True, "/key: expected a number, found a boolean"),
    ("optional_integer", False, "/key: expected a number, found a boolean"),
    ("integer", 1.5, "/key: 1.5 is not a 64-bit integer"),
    ("integer", 1500.0, "/key: 1500.0 is not a 64-bit integer"),
    ("integer", 1 << 63, "/key: 9223372036854775808 is not a 64-bit integer"),
    ("optional_integer", -(1 << 63) - 1, "/key: -9223372036854775809 is not a 64-bit integer"),
    ("section", [], "/key: expected an object, found a list"),
    ("sections", {}, "/key: expected a list, found an object"),
    ("sections", [{}, None], "/key/1: expected an object, found null"),
    ("texts", "a", "/key: expected a list, found a string"),
    ("texts", ["a", 1], "/key/1: expected a string, found a number"),
    ("address", "10.1.0.1/24", "/key: '10.1.0.1/24' is not an address"),
    ("address", 1, "/key: expected a string, found a number"),
    ("interface", "10.1.0.1", "/key: '10.1.0.1' is not an address with a prefix length"),
]


@pytest.mark.parametrize("values", [{}, {"key": None}], ids=["missing", "null"])
@pytest.mark.parametrize("reader", READERS)
def test_a_key_without_a_value_has_its_default(reader: str, values: dict[str, None]) -> None:
    assert READERS[reader](Keys(values), "key") == DEFAULTS[reader]
    assert "key" not in Keys(values)


def test_a_default_of_the_caller_is_used_for_a_missing_key_only() -> None:
    keys = Keys({"empty": "", "zero": 0})
    assert (keys.text("x", "nft"), keys.text("empty", "nft")) == ("nft", "")
    assert (keys.integer("x", 7), keys.integer("zero", 7)) == (7, 0)


@pytest.mark.parametrize(("reader", "value"), READ)
def test_a_value_of_the_expected_type_is_returned(reader: str, value: object) -> None:
    assert READERS[reader](Keys({"key": value}), "key") == value


@pytest.mark.parametrize(("reader", "value"), READ)
def test_a_key_in_another_case_counts_unless_the_exact_one_is_there(reader: str, value: object) -> None:
    assert READERS[reader](Keys({"KEY": value}), "key") == value
    assert READERS[reader](Keys({"Key": ["another type"], "key": value, "KEY": ()}), "key") == value


def test_a_place_names_the_key_as_it_is_written() -> None:
    keys = Keys({"IPAM": {"Routes": [{"GW": 5}]}}).section("ipam").sections("routes")[0]
    assert error_of(keys.address, "gw").msg == "/IPAM/Routes/0/GW: expected a string, found a number"


@pytest.mark.parametrize(("reader", "value", "message"), REFUSED)
def test_a_value_of_another_type_is_refused_with_its_place(reader: str, value: object, message: str) -> None:
    error = error_of(READERS[reader], Keys({"key": value}), "key")
    assert (error.code, error.msg) == (Code.INTERNAL, message)


def test_a_place_is_a_json_pointer_from_the_top() -> None:
    keys = Keys({"ipam": {"routes": [{}, {"gw": "tomorrow"}]}}).section("ipam").sections("routes")[1]
    assert (keys.path, keys.pointer("gw")) == ("/ipam/routes/1", "/ipam/routes/1/gw")
    assert error_of(keys.address, "gw").msg.startswith("/ipam/routes/1/gw: ")


def test_keys_of_a_missing_section_have_its_path() -> None:
    assert Keys({}).section("args").section("cni").pointer("ips") == "/args/cni/ips"


def test_addresses_are_parsed() -> None:
    keys = Keys({"gw": "fd00::1", "subnet": "10.1.0.7/24"})
    assert (str(keys.address("gw")), str(keys.interface("subnet"))) == ("fd00::1", "10.1.0.7/24")


@pytest.mark.parametrize("reader", ["address", "interface"])
def test_an_empty_address_is_missing(reader: str) -> None:
    assert READERS[reader](Keys({"key": ""}), "key") is None


def test_a_text_outside_of_a_configuration_is_refused_with_its_place() -> None:
    assert str(read_address("CNI_ARGS: IP", "10.1.0.1")) == "10.1.0.1"
    assert str(read_interface("CNI_ARGS: IP", "10.1.0.1/8")) == "10.1.0.1/8"
    assert error_of(read_address, "CNI_ARGS: IP", "x").msg == "CNI_ARGS: IP: 'x' is not an address"
    assert error_of(read_interface, "CNI_ARGS: IP", "10.1.0.1").msg.startswith("CNI_ARGS: IP: '10.1.0.1' is not")


def test_a_refusal_has_the_code_of_the_reference_plugins() -> None:
    assert refuse("no", "expected: yes").as_dict() == {"code": 999, "msg": "no", "details": "expected: yes"}


@given(json_values, st.sampled_from(sorted(READERS)))
def test_no_value_raises_anything_but_cni_error(value: object, reader: str) -> None:
    with contextlib.suppress(CniError):
        READERS[reader](Keys({"key": value}), "key")
