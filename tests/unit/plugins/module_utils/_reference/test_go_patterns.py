# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Patterns of Go mean the same here."""

from __future__ import annotations

import re
import warnings

import pytest

from ansible_collections.cni.node.plugins.module_utils._reference import go_patterns


@pytest.mark.parametrize(
    ("pattern", "found", "missed"),
    [
        (r"^[[:alnum:]]+$", "a1B", "a_b"),
        (r"^[[:alpha:]\d_]+\z", "a1_", "a\n"),
        (r"^[^[:space:]/]+$", "a.b", "a b"),
        (r"^[[:print:]]$", "~", "\t"),
        (r"^[[:punct:]]$", "]", "a"),
        (r"^[:alpha:]$", "p", "b"),
        (r"^[]a]$", "]", "b"),
        (r"^[a\]b]$", "]", "\\"),
        (r"^[a[]$", "[", "]"),
        (r"^[a[:]$", "[", "b"),
        (r"^a\\z", "a\\z", "a"),
        (r"^\w$", "a", "é"),
    ],
)
def test_a_pattern_finds_what_go_finds(pattern: str, found: str, missed: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translated = re.compile(go_patterns.translate(pattern), re.ASCII)
    assert translated.search(found)
    assert not translated.search(missed)


@pytest.mark.parametrize("pattern", ["[[:^digit:]]", "[[:letters:]]"])
def test_a_class_without_a_translation_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"^\[:.*:\] is not supported$"):
        go_patterns.translate(pattern)
