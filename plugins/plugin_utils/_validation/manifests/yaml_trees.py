# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read YAML documents up to the first error."""

from __future__ import annotations

import bisect
import dataclasses
import typing as t

import yaml

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import (
    Positions,
    RepeatedKey,
    join,
)
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests.tree import Opaque, Tree
from ansible_collections.cni.node.plugins.plugin_utils._validation.manifests.written_text import keep_positions

_TAG = "tag:yaml.org,2002:"
_ALIAS = "alias"
_KINDS = {
    f"{_TAG}bool": "a boolean",
    f"{_TAG}int": "a number",
    f"{_TAG}float": "a number",
    f"{_TAG}timestamp": "a date",
    f"{_TAG}merge": "a merge key",
    _ALIAS: "an alias of YAML",
}


@dataclasses.dataclass(frozen=True)
class BrokenYaml:
    """The error at which a YAML text stops being readable."""

    problem: str
    line: int | None


class _Loader(yaml.SafeLoader):
    """Compose documents in which an alias is a value of its own.

    No value is shared, so that documents cannot contain themselves or grow when they are read.
    """

    def compose_node(self, parent: yaml.Node | None, index: t.Any) -> yaml.Node | None:
        # PyYAML would refuse a name that is used again.
        self.anchors.clear()
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()
            return yaml.ScalarNode(_ALIAS, event.anchor, event.start_mark, event.end_mark)
        return super().compose_node(parent, index)


def read(text: str) -> tuple[list[Tree], BrokenYaml | None]:
    """Return the documents of a YAML text, up to the first error, and the error."""
    trees: list[Tree] = []
    lines = _SourceLines(text)
    try:
        for node in yaml.compose_all(text, Loader=_Loader):
            trees.append(_Reader(text, lines).tree(node))
    except yaml.MarkedYAMLError as exc:
        return trees, _broken(exc, lines)
    except yaml.YAMLError as exc:
        return trees, BrokenYaml(" ".join(str(exc).split()), None)
    except RecursionError:
        return trees, BrokenYaml("it is nested too deeply", None)
    except (ValueError, OverflowError):
        return trees, BrokenYaml("a number after \\U is not a character", None)
    return trees, None


class _SourceLines:
    """The lines of a text as editors count them. YAML has other line breaks, too."""

    def __init__(self, text: str) -> None:
        self._breaks = [place for place, character in enumerate(text) if character == "\n"]

    def at(self, mark: yaml.Mark) -> int:
        return bisect.bisect_left(self._breaks, mark.index) + 1


class _Reader:
    def __init__(self, text: str, lines: _SourceLines) -> None:
        self._text = text
        self._lines = lines
        self._positions = Positions({}, [])
        self._scalars: dict[str, yaml.ScalarNode] = {}

    def tree(self, node: yaml.Node) -> Tree:
        value = self._read(node, "", self._lines.at(node.start_mark))
        return Tree(value, self._positions, lambda path, dummy: keep_positions(self._text, self._scalars[path]))

    def _read(self, node: yaml.Node, path: str, line: int) -> t.Any:
        self._positions.lines[path] = line
        if isinstance(node, yaml.MappingNode):
            return self._read_object(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [
                self._read(entry, join(path, place), self._lines.at(entry.start_mark))
                for place, entry in enumerate(node.value)
            ]
        return self._read_scalar(node, path)

    def _read_object(self, node: yaml.MappingNode, path: str) -> dict[str, t.Any]:
        value: dict[str, t.Any] = {}
        for key, entry in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else f"({key.id})"
            place, line = join(path, name), self._lines.at(key.start_mark)
            if name in value:
                self._positions.repeated_keys.append(RepeatedKey(place, self._positions.lines[place], line))
            value[name] = self._read(entry, place, line)
        return value

    def _read_scalar(self, node: yaml.Node, path: str) -> str | Opaque | None:
        if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}str":
            self._scalars[path] = node
            return str(node.value)
        if node.tag == f"{_TAG}null":
            return None
        return Opaque(_KINDS.get(node.tag, f"a value with the tag {node.tag.removeprefix(_TAG)}"))


def _broken(exc: yaml.MarkedYAMLError, lines: _SourceLines) -> BrokenYaml:
    mark = exc.problem_mark or exc.context_mark
    problem = ", ".join(filter(None, (exc.context, exc.problem)))
    if mark is None:
        return BrokenYaml(problem, None)
    line = lines.at(mark)
    return BrokenYaml(f"line {line}, column {mark.column + 1}: {problem}", line)
