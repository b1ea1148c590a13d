# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter or_default."""

from __future__ import annotations

import pathlib
import re

import pytest

from ansible_collections.cni.node.plugins.filter.or_default import or_default

ROLES = pathlib.Path(__file__).parents[4] / "roles"
# It turns null into the text None, which is neither empty nor a value.
CONVERTED = re.compile(r"\| string \| (?:ansible\.builtin\.)?default\(")


@pytest.mark.parametrize("given", [None, "", " ", "\n"], ids=repr)
def test_null_and_empty_text_are_replaced_by_the_default(given: object) -> None:
    assert or_default(given, True) is True


@pytest.mark.parametrize("given", [False, 0, "no", "0", [], {}], ids=repr)
def test_every_other_value_is_returned_unchanged(given: object) -> None:
    assert or_default(given, "default") is given


@pytest.mark.parametrize("file", sorted(ROLES.glob("*/tasks/*.yml")), ids=lambda file: str(file.relative_to(ROLES)))
def test_no_role_converts_null_to_text_before_it_looks_for_a_value(file: pathlib.Path) -> None:
    assert CONVERTED.findall(file.read_text(encoding="utf-8")) == []
