# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a plugin can decode of the values that it is handed for one attachment: rules made of rules."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.json_text import kind


class Problem(t.NamedTuple):
    """What a rule says against a value.

    Attributes:
        path: JSON pointer of the value, after the name of the option.
        missing: The key that an object has not.
    """

    path: str
    value: t.Any
    expected: str
    missing: str = ""

    def message(self, shown: t.Callable[[t.Any], str] = kind) -> str:
        """Return where the problem is and what was found, by default without the value."""
        return f"{self.path}: {f'there is no {self.missing}' if self.missing else f'found {shown(self.value)}'}"


Rule = t.Callable[[t.Any, str], t.Optional[Problem]]


def text(value: t.Any, path: str) -> Problem | None:
    """Require a string."""
    return None if isinstance(value, str) else Problem(path, value, "a string")


def integer(expected: str, lowest: int, highest: int) -> Rule:
    """Return the rule that requires an integer within bounds."""

    def rule(value: t.Any, path: str) -> Problem | None:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return None if is_whole and lowest <= value <= highest else Problem(path, value, expected)

    return rule


def list_of(rule: Rule) -> Rule:
    """Return the rule that requires a list, each entry of which keeps a rule."""

    def list_rule(value: t.Any, path: str) -> Problem | None:
        if not isinstance(value, list):
            return Problem(path, value, "a list")
        return first_problem(unless_null(rule, one, f"{path}/{index}") for index, one in enumerate(value))

    return list_rule


def object_of(rules: t.Mapping[str, Rule], required: t.Sequence[str] = ()) -> Rule:
    """Return the rule that requires an object with some keys, and rules for the values of those that are known."""
    by_name = {name.lower(): rule for name, rule in rules.items()}

    def object_rule(value: t.Any, path: str) -> Problem | None:
        if not isinstance(value, dict):
            return Problem(path, value, "an object")
        # Plugins written in Go read keys in any case, and pass over those that they do not know.
        present = {str(key).lower(): (key, one) for key, one in value.items() if one is not None}
        for name in required:
            if name.lower() not in present:
                return Problem(path, value, f"the keys {' and '.join(required)}", missing=name)
        known = ((by_name[name], key, one) for name, (key, one) in present.items() if name in by_name)
        return first_problem(rule(one, f"{path}/{key}") for rule, key, one in known)

    return object_rule


def unless_null(rule: Rule, value: t.Any, path: str) -> Problem | None:
    """Apply a rule, but not to null: a plugin written in Go takes that as not given."""
    return None if value is None else rule(value, path)


def first_problem(problems: t.Iterable[Problem | None]) -> Problem | None:
    """Return the first problem, if there is one."""
    return next((problem for problem in problems if problem), None)


__all__ = ("Problem", "Rule", "first_problem", "integer", "list_of", "object_of", "text", "unless_null")
