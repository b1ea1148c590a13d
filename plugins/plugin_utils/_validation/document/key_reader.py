# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read objects as plugins written in Go do, and report misspelled keys."""

from __future__ import annotations

import dataclasses
import difflib
import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.schemas import Schema

# A key at least this similar to a known one counts as a misspelling of it.
_LIKENESS = 0.75

# The engine reads these keys of a plugin configuration itself, and does not ignore case.
_READ_AS_WRITTEN = ("type", "capabilities")

# Keys of every plugin. Lists of a plugin's own keys omit them.
_CHECKED_IN_ANY_PLUGIN = {"capabilities", "ipam", "prevResult", "runtimeConfig"}
_OF_ANY_PLUGIN = {"args", "capabilities", "cniVersion", "dns", "name", "prevResult", "runtimeConfig", "type"}


class Report(t.Protocol):
    """A function that reports a finding."""

    def __call__(self, code: str, path: str, message: str, hint: str = "", value: t.Any = None) -> None:
        """Report a finding with these fields of `Finding`."""


@dataclasses.dataclass
class KeyReader:
    """Read objects as a plugin written in Go does: ignore the case of keys, null values and unknown keys.

    Attributes:
        written: Keys as they are written, by JSON pointer with the proper key. Only keys in another case are listed.
    """

    report: Report
    written: dict[str, str] = dataclasses.field(default_factory=dict)

    def read(self, value: t.Any, schema: t.Any, path: str) -> t.Any:
        """Return a value with keys in the case of the schema, and report every other key."""
        if not isinstance(schema, dict):
            return value
        if isinstance(value, list):
            items = schema.get("items")
            return [self.read(entry, items, join(path, place)) for place, entry in enumerate(value)] if items else value
        if isinstance(value, dict) and "properties" in schema:
            return self._read_object(value, schema, path)
        return value

    def as_written(self, path: str) -> str:
        """Return a pointer with keys as they are written in the text."""
        proper, actual = "", ""
        for part in path.split("/")[1:]:
            proper = f"{proper}/{part}"
            actual = join(actual, self.written[proper]) if proper in self.written else f"{actual}/{part}"
        return actual

    def _read_object(self, value: dict[str, t.Any], schema: Schema, path: str) -> dict[str, t.Any]:
        known = schema["properties"]
        folded = {} if schema.get("x-exact-case") else {key.lower(): key for key in known}
        result: dict[str, t.Any] = {}
        for key, entry in value.items():
            proper = key if key in known else folded.get(key.lower())
            if proper is None or (proper != key and proper in _READ_AS_WRITTEN):
                self._report_unknown(key, entry, schema, path)
                if schema.get("additionalProperties") is not False:
                    result[key] = entry
                continue
            if proper != key:
                self._report_other_case(key, proper, value, path)
            if entry is None:
                self.report("null-value", join(path, key), f"{key!r} is null", "plugins treat it as unset; remove it")
                continue
            is_plain = not isinstance(entry, (dict, list))
            result[proper] = entry if is_plain else self.read(entry, known[proper], join(path, proper))
        return result

    def _report_other_case(self, key: str, proper: str, value: dict[str, t.Any], path: str) -> None:
        self.written[join(path, proper)] = key
        if proper in value:
            message = f"{key!r} and {proper!r} are the same key to plugins, which ignore case"
            self.report("duplicate-key", join(path, key), message, "remove one of them", value[key])
        else:
            message = f"the key {key!r} should be {proper!r}: plugins ignore case, but other programs may not"
            self.report("key-case", join(path, key), message, f"write {proper}", value[key])

    def _report_unknown(self, key: str, value: t.Any, schema: Schema, path: str) -> None:
        closed, known = schema.get("additionalProperties") is False, schema["properties"].keys()
        is_complete = closed or bool(schema.get("x-spelling"))
        if key.startswith("cni.dev/") or not (is_complete or known >= _CHECKED_IN_ANY_PLUGIN):
            return
        suggestion = nearest(key, known if is_complete else sorted(_CHECKED_IN_ANY_PLUGIN))
        # An unknown plugin may have keys of its own, such as ipams.
        is_own = not is_complete and len(key) > len(suggestion) and key.lower().startswith(suggestion.lower())
        if suggestion and not is_own:
            message = f"the key {key!r} is unknown{_to(schema)}"
            self.report("misspelled-key", join(path, key), message, f"did you mean {suggestion}?", value)
        elif closed:
            message = f"the key {key!r} is unknown{_to(schema)}, which ignores it"
            known = ", ".join(sorted(set(schema["properties"]) - _OF_ANY_PLUGIN))
            self.report(
                "unknown-key", join(path, key), message, f"known keys: {known or 'only those of every plugin'}", value
            )


def nearest(word: str, known: t.Iterable[str], likeness: float = _LIKENESS) -> str:
    """Return the known word that is most similar to a word, or an empty string.

    Args:
        likeness: Minimum similarity, from 0 to 1.
    """
    folded = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower()[:60], folded, 1, likeness)
    return folded[matches[0]] if matches else ""


def _to(schema: Schema) -> str:
    return f" to {schema['title']}{_release(schema)}" if "x-role" in schema else " here"


def _release(schema: Schema) -> str:
    return f" of release {schema['x-release']}" if "x-release" in schema else ""
