# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import math
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._module import arguments
from ansible_collections.cni.node.tests.support.error_of import error_of


@pytest.mark.parametrize("value", [0.001, 1, 60.0, 1e9])
def test_a_positive_number_is_accepted(value: float) -> None:
    assert arguments.positive("timeout", value) == value


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-1, "-1"), (-0.5, "-0.5"), (math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan")]
)
def test_a_number_that_is_not_positive_and_finite_is_refused(value: float, text: str) -> None:
    error = error_of(arguments.positive, "workers", value)
    assert (error.code, str(error)) == (Code.INVALID_CONFIG, f"workers: {text}; expected: a number above 0")


def test_the_default_plugin_dirs_include_the_directories_of_distributions() -> None:
    assert arguments.PLUGIN_DIRS["plugin_dirs"]["default"] == ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"]


OPTION = {"type": "path"}
PATHS: arguments.Spec = {
    "cache_dir": OPTION,
    "plugin_dirs": {"type": "list", "elements": "path"},
    "items": {"type": "list", "elements": "dict", "options": {"dirs": {"type": "list", "elements": "path"}}},
    "name": {"type": "str"},
}
controls = st.sampled_from([*map(chr, range(32)), "\x7f", "\x85", "\x9f", "\u2028", "\u2029"])
plain = st.text(st.characters(exclude_categories=["Cc", "Zl", "Zp"]), max_size=5)


@given(plain, controls, plain)
def test_a_path_with_a_control_character_is_refused_with_its_place(before: str, control: str, after: str) -> None:
    path = f"/{before}{control}{after}"
    places = {
        "cache_dir": {"cache_dir": path},
        "plugin_dirs[1]": {"plugin_dirs": ["/x", path]},
        "items[1].dirs[0]": {"items": [{"dirs": None}, {"dirs": [path]}]},
    }
    for place, values in places.items():
        error = error_of(arguments.require_paths, PATHS, values)
        assert error.code == Code.INVALID_CONFIG
        assert error.msg.startswith(f"{place}: ")
    arguments.require_paths(PATHS, {"name": path})


@given(plain)
def test_a_path_with_any_other_characters_is_accepted(text: str) -> None:
    path = f"/{text}"
    arguments.require_paths(PATHS, {"cache_dir": path, "plugin_dirs": [path], "items": [{"dirs": [text]}]})


def test_a_relative_path_is_refused_with_its_place() -> None:
    places: dict[str, t.Any] = {"cache_dir": {"cache_dir": "x"}, "plugin_dirs[1]": {"plugin_dirs": ["/x", "x"]}}
    for place, values in places.items():
        assert error_of(arguments.require_paths, PATHS, values).msg == f"{place}: 'x' is not an absolute path"
