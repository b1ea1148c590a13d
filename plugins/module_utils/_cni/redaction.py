# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Hide the values of arguments in the messages of plugins, as they may be secrets; the keys stay."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import json_text
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError

_HIDDEN: t.Final = "***"
# Keys of the specification's conventions. Their values are not secret, and the messages are useless without them.
_OPEN: t.Final = frozenset(("IgnoreUnknown", "IP", "MAC", "GATEWAY", "ips", "mac"))
_OPEN_PREFIX: t.Final = "K8S_POD_"
# A shorter text would also match inside unrelated words.
_SHORTEST: t.Final = 6


def without_values(text: str, args: t.Mapping[str, str], request: bytes) -> str:
    """Return a plugin's message with the values of CNI_ARGS and of its request's ``args.cni`` hidden."""
    pairs = {key: value for key, value in args.items() if value and not _is_open(key)}
    for key, value in pairs.items():
        for form in _forms(value):
            text = text.replace(f"{key}={form}", f"{key}={_HIDDEN}")
    values = {*pairs.values(), *_texts(_config_args(request))}
    for form in sorted({form for value in values for form in _forms(value)}, key=len, reverse=True):
        text = text.replace(form, _HIDDEN) if len(form) >= _SHORTEST else text
    return text


def _is_open(key: str) -> bool:
    return key in _OPEN or key.startswith(_OPEN_PREFIX)


def _forms(value: str) -> list[str]:
    """Return a value and its quoted forms, the longest first."""
    quoted = (json.dumps(value, ensure_ascii=ensure_ascii)[1:-1] for ensure_ascii in (True, False))
    return sorted({value, *quoted}, key=len, reverse=True)


def _config_args(request: bytes) -> object:
    try:
        keys = json_text.any_case(json_text.decode(request, ""))
    except CniError:
        return None
    args = keys.get("args") if isinstance(keys, dict) else None
    return args.get("cni") if isinstance(args, dict) else None


def _texts(value: object) -> t.Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from () if _is_open(key) else _texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)


__all__ = ("without_values",)
