# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Hide secrets in text: known values, and what looks like a password, a token or a key."""

from __future__ import annotations

import base64
import functools
import ipaddress
import json
import re
import typing as t
import urllib.parse

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._base.printable import HIDDEN
from ansible_collections.cni.node.plugins.module_utils._base.url import hide_in_text
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_output import (
    SHORTEST,
    is_open,
    quoted_forms,
)
from ansible_collections.cni.node.plugins.module_utils._node.info import public_config

# What the name of a key or a variable has if its value is a secret.
_NAME = (
    r"(?:passw(?:or)?d|passphrase|secret|token|credential|cookie|psk\b|authorization|"
    r"(?:api|access|auth|private|shared|encryption|signing)[_.-]?key|[_-]pass\b|\bpass\b|[_-]pwd\b|\bpwd\b)"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_NAMED = rf"{_NAME}[\w.-]{{0,40}}"
_QUOTE = r"\\*[\"']"
# The numbers bound the time for text that is made to take long.
_PRIVATE_KEY = "[A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
# With values, which may be lists or objects themselves.
_LIST, _OBJECT = r"\[(?:[^\[\]\n]|\[[^\[\]\n]*\])+\]?", r"\{(?:[^{}\n]|\{[^{}\n]*\})+\}?"
_PATTERNS: t.Final = (
    # A private key, whatever stands before its lines.
    (rf"-----BEGIN {_PRIVATE_KEY}(?:.{{0,16000}}?-----END {_PRIVATE_KEY}|.{{0,16000}})", HIDDEN),
    # A user and a password in a URL; what follows @ in the name of an image is a digest.
    (r"://[^\s\"'/:@]{0,1000}:[^\s\"'<>]{0,1000}@(?!sha\d)", f"://{HIDDEN}@"),
    (r"://[^\s\"'/]{0,1000}@(?!sha\d)", f"://{HIDDEN}@"),
    # Words that say what follows.
    (r"\b(bearer|basic) +[\w.~+/=-]+", rf"\1 {HIDDEN}"),
    # Tokens that are known by their form.
    (r"\beyJ[\w-]{8,4000}\.[\w-]+\.[\w-]*", HIDDEN),
    (r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16})", HIDDEN),
    # name: [values] and name: {values}
    (rf"({_NAMED}(?:{_QUOTE})?\s*[:=]\s*)(?:{_LIST}|{_OBJECT})", rf"\1{HIDDEN}"),
    # name: "value", name='value' and the like, also where the quotes are escaped.
    (rf"({_NAMED}(?:{_QUOTE})?\s*[:=]\s*)({_QUOTE})(?:(?!\2)(?:\\.|[^\n]))*", rf"\1\2{HIDDEN}"),
    # --name value
    (rf"(--[\w-]{{0,40}}{_NAMED} +)(?![\"'*-])[^\s\"']+", rf"\1{HIDDEN}"),
    # name=value and name = value, up to what separates it from the next.
    (rf"({_NAMED}[ \t]*=[=>]?[ \t]*)(?![>\"'\\*])[^\s;&\"']+", rf"\1{HIDDEN}"),
    # name: value, up to the end of the line.
    (rf"({_NAMED}(?:{_QUOTE})?[ \t]*:[ \t]*)(?![ \t\"'\\*{{\[])[^\n]+", rf"\1{HIDDEN}"),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), new) for pattern, new in _PATTERNS]
# A value that is one word, such as the level of a log, is also a word of every other text.
_WORD = re.compile(r"[a-z]+|[a-z]+-[a-z]+|(?:/[\w.-]+)+")


class Secrets:
    """Values to hide in all text of a node."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._shown: set[str] = set()

    def add_network(self, network: NetworkConfiguration) -> None:
        """Hide the values of a configuration that `public_config` leaves out."""
        shown = public_config.describe(network)
        self._shown.update(_texts(shown))
        for plugin in network.plugins:
            self._add(plugin.keys)

    def add_attachment(self, attachment: Attachment) -> None:
        """Hide the values of the arguments of an attachment."""
        self._shown.update((attachment.network, attachment.container_id, attachment.ifname, attachment.netns))
        for arguments in (attachment.args, attachment.config_args):
            self._add({key: value for key, value in arguments.items() if not is_open(key)}, is_secret=True)
        self._add(attachment.capability_args)

    def hide(self, text: str) -> str:
        """Return a text without secrets."""
        return self._hide_values(_hide_patterns(text))

    def dump(self, value: object) -> str:
        """Return a JSON value as text without secrets."""
        return self._hide_values(json.dumps(_hide_leaves(value), indent=2)) + "\n"

    def _hide_values(self, text: str) -> str:
        forms, lengths = self._forms
        hidden: list[tuple[int, int]] = []
        for start in range(len(text) if forms else 0):
            beginning = text[start : start + SHORTEST]
            if beginning not in lengths:
                continue
            length = next((length for length in lengths[beginning] if text[start : start + length] in forms), 0)
            if hidden and start < hidden[-1][1]:
                hidden[-1] = (hidden[-1][0], max(hidden[-1][1], start + length))
            elif length:
                hidden.append((start, start + length))
        pieces, shown = [], 0
        for start, end in hidden:
            pieces += [text[shown:start], HIDDEN]
            shown = end
        return "".join([*pieces, text[shown:]])

    @functools.cached_property
    def _forms(self) -> tuple[set[str], dict[str, list[int]]]:
        """All forms of the values, and their lengths by their first characters, the longest first.

        They are read when all values are known. A node may have more than can be looked for one by one.
        """
        values = (value for value in self._values - self._shown if len(value) >= SHORTEST)
        forms = {form for value in values for form in _forms(value)}
        lengths: dict[str, set[int]] = {}
        for form in forms:
            lengths.setdefault(form[:SHORTEST], set()).add(len(form))
        return forms, {beginning: sorted(found, reverse=True) for beginning, found in lengths.items()}

    def _add(self, keys: JsonMapping, *, is_secret: bool = False) -> None:
        for key, value in keys.items():
            has_name = is_secret or bool(_SECRET_NAME.search(key))
            for name, text in _texts_and_names(value):
                is_named = has_name or bool(_SECRET_NAME.search(name))
                if is_named or not (_WORD.fullmatch(text) or _is_address(text)):
                    self._values.add(text)


def _hide_patterns(text: str) -> str:
    for pattern, new in _COMPILED:
        text = pattern.sub(new, text)
    return hide_in_text(text)


def _hide_leaves(value: t.Any) -> t.Any:
    """Return a JSON value without secrets in its texts, and without the texts of keys that have the name of a secret."""
    if isinstance(value, str):
        return _hide_patterns(value)
    if isinstance(value, t.Mapping):
        return {key: HIDDEN if _is_secret(key, entry) else _hide_leaves(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hide_leaves(entry) for entry in value]
    return value


def _is_secret(key: str, value: object) -> bool:
    return isinstance(value, str) and bool(value) and bool(_SECRET_NAME.search(key))


def _texts(value: object) -> t.Iterator[str]:
    return (text for dummy, text in _texts_and_names(value))


def _texts_and_names(value: object, name: str = "") -> t.Iterator[tuple[str, str]]:
    """Yield each text in a value, preceded by the names of the keys that lead to it."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, t.Mapping):
        for key, entry in value.items():
            yield from _texts_and_names(entry, f"{name}.{key}")
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _texts_and_names(entry, name)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def _forms(value: str) -> set[str]:
    """Return a value and how other programs write it."""
    quoted = [twice for once in quoted_forms(value) for twice in (once, *quoted_forms(once))]
    encoded = base64.b64encode(value.encode("utf-8", "surrogateescape")).decode().rstrip("=")
    return {*quoted, urllib.parse.quote(value, safe="", errors="replace"), encoded}
