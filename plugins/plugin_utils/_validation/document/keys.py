# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import difflib
import typing as t

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema.schemas import Schema

# A key that is this much like a known one is taken for that one misspelled.
_LIKENESS: t.Final = 0.75

# The engine reads these of a plugin configuration itself, and as they are written.
_READ_AS_WRITTEN: t.Final = ("type", "capabilities", "ipam")

# Keys of every plugin, which are left out when a plugin's own keys are listed.
_OF_ANY_PLUGIN: t.Final = {"args", "capabilities", "cniVersion", "dns", "name", "prevResult", "runtimeConfig", "type"}


class Report(t.Protocol):
    """Reports one finding."""

    def __call__(self, code: str, path: str, message: str, hint: str = "", value: t.Any = None) -> None:
        """Report a finding with these fields of `Finding`."""


@dataclasses.dataclass
class Keys:
    """Reads objects as a plugin written in Go does: keys in any case, null as not given, unknown keys passed over.

    Attributes:
        written: By the pointer that a place has with its proper key, the key as it is written.
    """

    report: Report
    written: dict[str, str] = dataclasses.field(default_factory=dict)

    def read(self, value: t.Any, schema: t.Any, path: str) -> t.Any:
        """Return a value with proper keys only, and report every key that is not one."""
        if not isinstance(schema, dict):
            return value
        if isinstance(value, list):
            items = schema.get("items")
            return [self.read(one, items, join(path, place)) for place, one in enumerate(value)] if items else value
        if isinstance(value, dict) and "properties" in schema:
            return self._object(value, schema, path)
        return value

    def as_written(self, path: str) -> str:
        """Return a pointer with the keys as they are written in the text."""
        proper, actual = "", ""
        for part in path.split("/")[1:]:
            proper = f"{proper}/{part}"
            actual = join(actual, self.written[proper]) if proper in self.written else f"{actual}/{part}"
        return actual

    def _object(self, value: dict[str, t.Any], schema: Schema, path: str) -> dict[str, t.Any]:
        known = schema["properties"]
        folded = {} if schema.get("x-exact-case") else {key.lower(): key for key in known}
        result: dict[str, t.Any] = {}
        for key, one in value.items():
            proper = key if key in known else folded.get(key.lower())
            if proper is None or (proper != key and proper in _READ_AS_WRITTEN):
                self._unknown(key, one, schema, path)
                if schema.get("additionalProperties") is not False:
                    result[key] = one
                continue
            if proper != key:
                self._other_case(key, proper, value, path)
            if one is None:
                self.report("null-value", join(path, key), f"{key!r} is null", "plugins treat it as unset; remove it")
                continue
            is_plain = not isinstance(one, (dict, list))
            result[proper] = one if is_plain else self.read(one, known[proper], join(path, proper))
        return result

    def _other_case(self, key: str, proper: str, value: dict[str, t.Any], path: str) -> None:
        self.written[join(path, proper)] = key
        if proper in value:
            message = f"{key!r} and {proper!r} are the same key to plugins, which ignore case"
            self.report("duplicate-key", join(path, key), message, "remove one of them", value[key])
        else:
            message = f"the key {key!r} should be {proper!r}: plugins ignore case, but other programs may not"
            self.report("key-case", join(path, key), message, f"write {proper}", value[key])

    def _unknown(self, key: str, value: t.Any, schema: Schema, path: str) -> None:
        closed = schema.get("additionalProperties") is False
        if key.startswith("cni.dev/") or not (closed or schema.get("x-spelling")):
            return
        meant = nearest(key, schema["properties"])
        if meant:
            message = f"the key {key!r} is unknown{_to(schema)}"
            self.report("misspelled-key", join(path, key), message, f"did you mean {meant}?", value)
        elif closed:
            message = f"the key {key!r} is unknown{_to(schema)}, which ignores it"
            known = ", ".join(sorted(set(schema["properties"]) - _OF_ANY_PLUGIN))
            self.report("unknown-key", join(path, key), message, f"known keys: {known or 'none of its own'}", value)


def nearest(word: str, known: t.Iterable[str], likeness: float = _LIKENESS) -> str:
    """Return the known word that another is most like, or an empty string.

    Args:
        likeness: From 0 to 1, what is like enough.
    """
    folded = {one.lower(): one for one in known}
    found = difflib.get_close_matches(word.lower()[:60], folded, 1, likeness)
    return folded[found[0]] if found else ""


def _to(schema: Schema) -> str:
    return f" to {schema['title']}{_release(schema)}" if "x-role" in schema else " here"


def _release(schema: Schema) -> str:
    return f" of release {schema['x-release']}" if "x-release" in schema else ""


__all__ = ("Keys", "Report", "nearest")
