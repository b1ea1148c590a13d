# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import json
import math
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

_KINDS: t.Final = (
    (dict, "an object"),
    (list, "a list"),
    (str, "a string"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (type(None), "null"),
)


# Levels that are read, and those that are written: a record has more around what it is made of, and so has a request.
_DEPTH_LIMIT: t.Final = 190
_WRITTEN_DEPTH_LIMIT: t.Final = 200
_HALF_CHARACTER: t.Final = "an escaped surrogate stands alone"
_WHOLE_CHARACTER: t.Final = "write the character itself, or both halves"


class _NotJson(ValueError):
    """JSON that Python reads and nobody else would."""


def decode(content: bytes, what: str, *, unique_keys: bool = False, recorded: bool = False) -> t.Any:
    """Read one JSON text (RFC 8259) and nothing more lenient.

    Args:
        what: The file or the plugin that it came from, as the error names it.
        unique_keys: Refuse an object that gives a key twice; what people write by hand is read so.
        recorded: `encode` has written it, with more around what was read.

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
        _refuse_half_characters(text, value)
    except json.JSONDecodeError as exc:
        raise _failure(what, _place(exc), _advice(exc)) from exc
    except UnicodeEncodeError as exc:
        raise _failure(what, _HALF_CHARACTER, _WHOLE_CHARACTER) from exc
    except RecursionError as exc:
        raise _failure(what, "nested too deeply") from exc
    except ValueError as exc:
        raise _failure(what, str(exc)) from exc
    return value


def encode(value: t.Any) -> bytes:
    """Write a value as JSON on one line, so that it can be read again; integers keep their digits.

    Raises:
        CniError: ``DECODE_FAILURE``: JSON has no form for it.
    """
    try:
        text = _ENCODER.encode(value)
        _refuse_depth(text, value, _WRITTEN_DEPTH_LIMIT)
        _refuse_half_characters(text, value)
        return text.encode("ascii")
    except UnicodeEncodeError as exc:
        what = f"this cannot be written as JSON: {_HALF_CHARACTER}"
        raise CniError(Code.DECODE_FAILURE, what, _WHOLE_CHARACTER) from exc
    except (TypeError, ValueError, RecursionError) as exc:
        raise CniError(Code.DECODE_FAILURE, f"this cannot be written as JSON: {exc}") from exc


def is_same(one: object, other: object) -> bool:
    """Tell values that are one and the same JSON, which 1, 1.0 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and one == other


def kind(value: object) -> str:
    """Name a value's JSON type, with its article."""
    return next((name for types, name in _KINDS if isinstance(value, types)), type(value).__name__)


def as_object(value: object, what: str) -> dict[str, t.Any]:
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
    ends = " (it ends there)" if exc.pos >= len(exc.doc.rstrip()) else ""
    return f"line {exc.lineno}, column {exc.colno}: {exc.msg[0].lower()}{exc.msg[1:]}{ends}"


def _advice(exc: json.JSONDecodeError) -> str:
    if exc.doc.startswith("\ufeff"):
        return "save the file without a byte order mark"
    if exc.doc[exc.pos :].startswith(("//", "/*", "#")):
        return "JSON has no comments; the specification's own example has them for its readers only"
    if exc.pos >= len(exc.doc.rstrip()) or exc.msg.startswith("Unterminated"):
        return "the text may have been cut off; write it anew"
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


def _refuse_half_characters(text: str, value: t.Any) -> None:
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotJson(f"the number {digits} is out of range")
    return number


def _unique(pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, dummy in pairs:
            if key in seen:
                raise _NotJson(f"the key {key!r} is given twice in one object")
            seen.add(key)
    return value


_LENIENT: t.Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float)
_STRICT: t.Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite_float, object_pairs_hook=_unique
)
_ENCODER: t.Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)

__all__ = ("as_object", "decode", "encode", "is_same", "kind")
