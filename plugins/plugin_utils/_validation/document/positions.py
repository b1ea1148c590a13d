# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The lines of keys and list entries in a JSON text."""

from __future__ import annotations

import dataclasses
import json
import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+')


@dataclasses.dataclass(frozen=True)
class RepeatedKey:
    """A repeated key: its JSON pointer and both lines."""

    path: str
    first: int
    second: int

    @property
    def message(self) -> str:
        key = self.path.rpartition("/")[2]
        return f"the key {key!r} is set twice in one object, on line {self.first} and on line {self.second}"


@dataclasses.dataclass
class Positions:
    """The lines of keys and list entries in a JSON text.

    Attributes:
        lines: The line on which a key or a list entry begins, by JSON pointer; of a repeated key, the last line.
        repeated_keys: In the order of the text.
    """

    lines: dict[str, int]
    repeated_keys: list[RepeatedKey]

    def line(self, path: str) -> int | None:
        """Return the line of a place, or of the innermost known place that contains it."""
        while path and path not in self.lines:
            path = path.rpartition("/")[0]
        return self.lines.get(path)


@dataclasses.dataclass
class _Frame:
    """An object or list that contains the current token."""

    path: str
    is_object: bool
    index: int = 0
    key: str | None = None


def join(path: str, *parts: str | int) -> str:
    """Return the JSON pointer (RFC 6901) that extends ``path`` by parts."""
    for part in parts:
        text = str(part)
        path = f"{path}/{text.replace('~', '~0').replace('/', '~1') if '/' in text or '~' in text else text}"
    return path


def scan(text: str) -> Positions:
    """Return the positions in a text of valid JSON."""
    positions = Positions({}, [])
    stack: list[_Frame] = []
    line, counted = 1, 0
    for match in _TOKEN.finditer(text):
        token, start = match.group(), match.start()
        line, counted = line + text.count("\n", counted, start), start
        if token in "}]":
            stack.pop()
        elif token == ",":
            _next(stack[-1])
        elif stack and stack[-1].is_object and stack[-1].key is None:
            _key(token, stack[-1], line, positions)
        elif token != ":":
            _value(token, stack, line, positions)
    return positions


def _next(frame: _Frame) -> None:
    frame.index += 1
    frame.key = None


def _key(token: str, frame: _Frame, line: int, positions: Positions) -> None:
    frame.key = _decode(token)
    path = join(frame.path, frame.key)
    if path in positions.lines:
        positions.repeated_keys.append(RepeatedKey(path, positions.lines[path], line))
    positions.lines[path] = line


def _value(token: str, stack: list[_Frame], line: int, positions: Positions) -> None:
    path = ""
    if stack:
        frame = stack[-1]
        path = join(frame.path, frame.index if frame.key is None else frame.key)
    positions.lines.setdefault(path, line)
    if token in "{[":
        stack.append(_Frame(path, token == "{"))


def _decode(token: str) -> str:
    return str(json.loads(token)) if "\\" in token else token[1:-1]
