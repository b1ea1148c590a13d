# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Rules for the types of values that plugins get for one attachment; rules are composed of rules."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import kind


class Problem(t.NamedTuple):
    """A value that breaks a rule.

    Attributes:
        path: The option's name and a JSON pointer to the value.
        missing: The key that an object lacks.
    """

    path: str
    value: t.Any
    expected: str
    missing: str = ""

    def message(self, describe: t.Callable[[t.Any], str] = kind) -> str:
        """Return the path and a description of the value, by default only its type."""
        return f"{self.path}: {f'there is no {self.missing}' if self.missing else f'found {describe(self.value)}'}"


Rule = t.Callable[[t.Any, str], t.Optional[Problem]]


def text(value: t.Any, path: str) -> Problem | None:
    """Require a string."""
    return None if isinstance(value, str) else Problem(path, value, "a string")


def integer(expected: str, lowest: int, highest: int) -> Rule:
    """Return a rule that requires an integer within bounds."""

    def rule(value: t.Any, path: str) -> Problem | None:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return None if is_whole and lowest <= value <= highest else Problem(path, value, expected)

    return rule


def list_of(rule: Rule) -> Rule:
    """Return a rule that requires a list and applies a rule to each entry."""

    def list_rule(value: t.Any, path: str) -> Problem | None:
        if not isinstance(value, list):
            return Problem(path, value, "a list")
        return first_problem(unless_null(rule, entry, f"{path}/{index}") for index, entry in enumerate(value))

    return list_rule


def object_of(rules: t.Mapping[str, Rule], required: t.Sequence[str] = ()) -> Rule:
    """Return a rule that requires an object with some keys and applies rules to the known ones."""
    by_name = {name.lower(): rule for name, rule in rules.items()}

    def object_rule(value: t.Any, path: str) -> Problem | None:
        if not isinstance(value, dict):
            return Problem(path, value, "an object")
        # Plugins written in Go match keys in any case and ignore unknown ones.
        present = {str(key).lower(): (key, entry) for key, entry in value.items() if entry is not None}
        for name in required:
            if name.lower() not in present:
                return Problem(path, value, f"the keys {' and '.join(required)}", missing=name)
        known = ((by_name[name], key, entry) for name, (key, entry) in present.items() if name in by_name)
        return first_problem(rule(entry, f"{path}/{key}") for rule, key, entry in known)

    return object_rule


def unless_null(rule: Rule, value: t.Any, path: str) -> Problem | None:
    """Apply a rule unless the value is null, which plugins written in Go treat as missing."""
    return None if value is None else rule(value, path)


def first_problem(problems: t.Iterable[Problem | None]) -> Problem | None:
    """Return the first problem, or None."""
    return next((problem for problem in problems if problem), None)


__all__ = ("Problem", "Rule", "first_problem", "integer", "list_of", "object_of", "text", "unless_null")
