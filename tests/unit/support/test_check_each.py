# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest

from ansible_collections.cni.node.tests.support.check_each import check_each

CASES = {"one": 1, "two": 2, "zero": 0, "three": 3}


def require_small(number: int) -> None:
    assert 6 // number > 2, f"{number} is not small"


def test_check_each_names_every_case_that_fails_and_no_other() -> None:
    with pytest.raises(AssertionError) as raised:
        check_each(CASES, require_small)
    first, *failures = str(raised.value).splitlines()
    assert first == "2 of 4 cases fail:"
    assert re.match(r"zero: test_check_each\.py:\d+: ZeroDivisionError: ", failures[0])
    assert re.match(r"three: test_check_each\.py:\d+: AssertionError: 3 is not small", failures[1])
    assert not any(failure.startswith(("one", "two")) for failure in failures)


def test_check_each_passes_when_no_case_fails() -> None:
    check_each({"one": 1, "two": 2}, require_small)


def test_check_each_fails_without_cases() -> None:
    with pytest.raises(AssertionError, match="no cases"):
        check_each({}, require_small)
