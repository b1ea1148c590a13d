# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Printed text cannot control a terminal, the controller accepts it, and plain text is not changed."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base import printable

UNSAFE = {
    "\x00": r"\x00",
    "\x07": r"\x07",
    "\x08": r"\x08",
    "\r": r"\r",
    "\x1b": r"\x1b",
    "\x7f": r"\x7f",
    "\x9b": r"\x9b",
    "\u2028": r"\u2028",
    "\u202e": r"\u202e",
    "\u2066": r"\u2066",
    "\udce9": r"\udce9",
}
PLAIN = ("", "eth0", "with spaces", 'quo"ted\\', "Zürich", "ネット", "👩‍🚀", "עברית", "\u00a0")
SEVERAL = "first\n\tsecond"


@pytest.mark.parametrize(("unsafe", "shown"), UNSAFE.items(), ids=UNSAFE.values())
def test_unsafe_characters_become_visible_escapes(unsafe: str, shown: str) -> None:
    for show in (printable.line, printable.lines):
        assert show(f"a{unsafe}b{unsafe}") == f"a{shown}b{shown}"


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_of_any_language_is_unchanged(text: str) -> None:
    for show in (printable.line, printable.lines):
        assert show(text) is text


def test_a_printable_line_has_no_line_breaks_and_no_tabs() -> None:
    assert printable.lines(SEVERAL) == SEVERAL
    assert printable.line(SEVERAL) == r"first\n\tsecond"


def test_texts_and_keys_are_made_safe_at_any_depth() -> None:
    value = {"a\x1b": [{"\udce9": ("\x07", 1, 1.5, True, None)}]}
    assert printable.escape_all(value) == {r"a\x1b": [{r"\udce9": [r"\x07", 1, 1.5, True, None]}]}


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (2, "directory", "2 directories"),
        (1, "directory", "1 directory"),
        (2, "netns", "2 netns"),
    ],
)
def test_a_noun_agrees_with_its_number(number: int, noun: str, text: str) -> None:
    assert printable.quantity(number, noun) == text
    assert printable.plural(noun, number) == text.partition(" ")[2]


VALUES: st.SearchStrategy[t.Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)


@given(VALUES)
def test_any_value_becomes_safe_to_send_in_one_step(value: t.Any) -> None:
    shown = printable.escape_all(value)
    json.dumps(shown, ensure_ascii=False).encode("utf-8")
    assert printable.escape_all(shown) == shown
