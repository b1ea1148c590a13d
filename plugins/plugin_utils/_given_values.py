# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins!

"""Values of variables as people give them: missing, empty, or as the text of a survey."""

from __future__ import annotations

import re
import typing as t

import yaml
from ansible.errors import AnsibleFilterError
from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.cni.node.plugins.plugin_utils._option_values import plain

_SHOWN = 60  # characters of a text in an error
# Values may have an equals sign, too, as kernel.core_pattern.
_FURTHER_SETTING = re.compile(r"[\s,]\w[\w-]*[./][\w./-]*=")


def or_default(given: t.Any, value: t.Any) -> t.Any:
    """Return the default for null and blank text, and every other value unchanged."""
    has_value = bool(given.strip()) if isinstance(given, str) else given is not None
    return given if has_value else value


def with_value(options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the options without those that are null or blank text."""
    return {name: given for name, given in options.items() if or_default(given, None) is not None}


def flag(given: t.Any, value: bool = False) -> bool:
    """Return whether a value is true, as a module reads an option; null and blank text stand for the default.

    Raises:
        AnsibleFilterError: The value is no boolean.
    """
    try:
        return bool(boolean(plain(or_default(given, value)), strict=True))
    except TypeError:
        expected = "expected: true, yes, y, on or 1, or false, no, n, off or 0"
        raise AnsibleFilterError(f"{given!r} is neither true nor false; {expected}") from None


def words(given: t.Any, value: t.Any = ()) -> t.Any:
    """Return a list of names, which may be text, or the default for null, blank text and an empty list.

    Raises:
        AnsibleFilterError: Text that begins with ``[`` is not YAML.
    """
    if isinstance(given, str):
        given = _read_yaml(given) if given.lstrip().startswith("[") else given.split()
    if given is None or given == []:
        return list(value) if isinstance(value, tuple) else value
    return given


def objects(given: t.Any) -> t.Any:
    """Return a list of objects, which may be YAML text; null and blank text are an empty list.

    Raises:
        AnsibleFilterError: The text is not YAML.
    """
    read = _read_yaml(given) if isinstance(given, str) else given
    return [] if read is None else read


def settings(given: t.Any) -> t.Any:
    """Return a dictionary, which may be text: ``key=value`` on each line, or YAML.

    Null, blank text and an empty list are an empty dictionary. Other values are returned unchanged, and so is text with several
    settings on a single line, because it is a form of options of the type dict.

    Raises:
        AnsibleFilterError: A line is no setting, or the text is not YAML.
    """
    if not isinstance(given, str):
        return {} if given is None or given == [] else given
    lines = [line for line in map(str.strip, given.splitlines()) if line and not line.startswith("#")]
    if not any("=" in line for line in lines) or lines[0].startswith("{"):
        read = _read_yaml(given)
        if read is None or read == [] or isinstance(read, dict):
            return read or {}
    odd = [line for line in lines if "=" not in line]
    if odd:
        raise AnsibleFilterError(f"{odd[0]!r} is not a setting; expected: key=value")
    if len(lines) == 1 and _FURTHER_SETTING.search(lines[0]):
        return given
    return {key.strip(): value.strip() for key, dummy, value in (line.partition("=") for line in lines)}


def _read_yaml(text: str) -> t.Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as exc:  # such as for 2026-13-01, and for many brackets
        shown = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
        # Ansible would append the cause with its text of many lines.
        raise AnsibleFilterError(f"{shown} is not YAML: {_describe(exc)}") from None


def _describe(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())
