# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""JSON as the specification and plugins written in Go read it."""

from __future__ import annotations

import collections.abc
import functools
import json
import math
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

# An object of JSON or YAML, such as a configuration, a result or the arguments of a task.
JsonObject = dict[str, t.Any]
# An object that is only read; it may be a lazy mapping of Ansible.
JsonMapping = t.Mapping[str, t.Any]

_KINDS = (
    (dict, "an object"),
    (list, "a list"),
    (str, "a string"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (type(None), "null"),
)

# Nesting limits for reading and for writing. Records and requests add levels around what has been read.
_DEPTH_LIMIT = 190
_WRITTEN_DEPTH_LIMIT = 200
_UNPAIRED_SURROGATE = "unpaired surrogate escape"
_SURROGATE_ADVICE = "write the character itself, or both surrogates"


class _NotJson(ValueError):
    """JSON that Python accepts, but `decode` and `encode` refuse."""


# Configurations have some hundred lookups for each attachment, and `super` takes longer than the lookup.
_get = dict.get


class AnyCaseObject(JsonObject):
    """An object that is read as programs in Go read it: a key that is missing or null may be there in another case.

    It is not changed after it was read.
    """

    def find_key(self, key: str) -> str:
        """Return a key in the case that the object has it in; the key itself if the object does not have it."""
        if _get(self, key) is not None:
            return key
        return self._by_lower_case.get(key.lower(), key)

    @functools.cached_property
    def _by_lower_case(self) -> dict[str, str]:
        return {name.lower(): name for name, value in self.items() if value is not None}

    def get(self, key: str, default: t.Any = None) -> t.Any:
        value = _get(self, key)
        if value is not None:
            return value
        other = self._by_lower_case.get(key.lower())
        return _get(self, key, default) if other is None else _get(self, other)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self.find_key(str(key)))

    def __getitem__(self, key: str) -> t.Any:
        return super().__getitem__(self.find_key(key))


def any_case(value: t.Any) -> t.Any:
    """Return a value whose objects, however deep, are read in any case."""
    if isinstance(value, (AnyCaseObject, str, int)):  # a check for a mapping takes ten times as long
        return value
    if isinstance(value, (dict, collections.abc.Mapping)):
        return AnyCaseObject({key: any_case(entry) for key, entry in value.items()})
    return [any_case(entry) for entry in value] if isinstance(value, list) else value


def lower_keys(keys: JsonMapping) -> JsonObject:
    """Return an object with its keys in lower case, because Go does not distinguish them when it decodes an object."""
    return {str(key).lower(): value for key, value in keys.items()}


def decode(content: bytes, what: str, *, unique_keys: bool = False, recorded: bool = False) -> t.Any:
    """Read one JSON text (RFC 8259) without Python's extensions.

    Args:
        what: The file or the plugin that it comes from, as the error names it.
        unique_keys: Refuse duplicate keys in an object, for text written by hand.
        recorded: The text was written by `encode`, which allows more nesting.

    Raises:
        CniError: ``DECODE_FAILURE`` with line, column and what was expected there.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise _failure(what, f"byte {exc.start} is not UTF-8", "JSON is written in UTF-8") from exc
    try:
        value = (_STRICT if unique_keys else _LENIENT).decode(text)
        _refuse_depth(text, value, _WRITTEN_DEPTH_LIMIT if recorded else _DEPTH_LIMIT)
        _refuse_unpaired_surrogates(text, value)
    except json.JSONDecodeError as exc:
        raise _failure(what, _place(exc), _advice(exc)) from exc
    except UnicodeEncodeError as exc:
        raise _failure(what, _UNPAIRED_SURROGATE, _SURROGATE_ADVICE) from exc
    except RecursionError as exc:
        raise _failure(what, "nested too deeply", f"expected: at most {_DEPTH_LIMIT} levels") from exc
    except ValueError as exc:
        raise _failure(what, str(exc)) from exc
    return value


class _Pairs(list[tuple[str, t.Any]]):
    """The pairs of an object, repeated keys included."""


def find_repeated_key(content: bytes, *path: str) -> str:
    """Return a key that the object at a path has twice, or an empty string. The keys of the path may have any case."""
    value = json.loads(content, object_pairs_hook=_Pairs)
    for key in path:
        value = AnyCaseObject(value).get(key) if isinstance(value, _Pairs) else None
    names = [name for name, dummy in value] if isinstance(value, _Pairs) else []
    return next((name for name in names if names.count(name) > 1), "")


def encode(value: t.Any) -> bytes:
    """Return a value as one line of JSON that `decode` can read; integers keep their digits.

    Raises:
        CniError: ``DECODE_FAILURE``: it cannot be represented in JSON.
    """
    try:
        text = _ENCODER.encode(value)
        _refuse_depth(text, value, _WRITTEN_DEPTH_LIMIT)
        _refuse_unpaired_surrogates(text, value)
        return text.encode("ascii")
    except UnicodeEncodeError as exc:
        what = f"the value cannot be written as JSON: {_UNPAIRED_SURROGATE}"
        raise CniError(Code.DECODE_FAILURE, what, _SURROGATE_ADVICE) from exc
    except (TypeError, ValueError, RecursionError) as exc:
        raise CniError(Code.DECODE_FAILURE, f"the value cannot be written as JSON: {exc}") from exc


def is_same(first: object, second: object) -> bool:
    """Return whether two values are the same JSON; 1, 1.0 and true are different."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(is_same(value, second[key]) for key, value in first.items())
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(is_same, first, second))
    return type(first) is type(second) and first == second


def kind(value: object) -> str:
    """Return the name of a value's JSON type, with its article."""
    return next((name for types, name in _KINDS if isinstance(value, types)), type(value).__name__)


def as_object(value: object, what: str) -> JsonObject:
    """Return the value if it is an object.

    Raises:
        CniError: ``DECODE_FAILURE``.
    """
    if not isinstance(value, dict):
        raise _failure(what, f"expected an object, found {kind(value)}")
    return value


def _failure(what: str, problem: str, advice: str = "") -> CniError:
    return CniError(Code.DECODE_FAILURE, f"{what} is not valid JSON: {problem}", advice)


def _place(exc: json.JSONDecodeError) -> str:
    if not exc.doc.strip():
        return "it is empty"
    ends = " (the text ends there)" if exc.pos >= len(exc.doc.rstrip()) else ""
    return f"line {exc.lineno}, column {exc.colno}: {exc.msg[0].lower()}{exc.msg[1:]}{ends}"


def _advice(exc: json.JSONDecodeError) -> str:
    if exc.doc.startswith("\ufeff"):
        return "save the file without a byte order mark"
    if exc.doc[exc.pos :].startswith(("//", "/*", "#")):
        return "JSON has no comments; remove those copied from the specification's example"
    if exc.pos >= len(exc.doc.rstrip()) or exc.msg.startswith("Unterminated"):
        return "the text may be truncated; write it again"
    return ""


def _refuse_constant(name: str) -> t.NoReturn:
    raise _NotJson(f"{name} is not a JSON number")


def _refuse_depth(text: str, value: t.Any, limit: int) -> None:
    if text.count("{") + text.count("[") <= limit:
        return
    level = [value]
    for dummy in range(limit):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise _NotJson(f"nested more than {limit} levels deep")


def _children(value: t.Any) -> t.Iterable[t.Any]:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [child for child in children if isinstance(child, (dict, list, tuple))]


def _refuse_unpaired_surrogates(text: str, value: t.Any) -> None:
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotJson(f"the number {digits} is out of range")
    return number


def _unique(pairs: list[tuple[str, t.Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, dummy in pairs:
            if key in seen:
                raise _NotJson(f"the key {key!r} is given twice in one object")
            seen.add(key)
    return value


_LENIENT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float)
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float, object_pairs_hook=_unique)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
