# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Read directories from the configuration files of runtimes, which are TOML, HCL, JSON, or lines of keys and values."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.row_types import Setting

_STRING = rb'"[^"\n]*"|\'[^\'\n]*\''
_PATHS = re.compile(rb"(?:^|[\"':\[,\s])(/(?!/)[^\"'\n:]*)", re.MULTILINE)


class Configured(t.NamedTuple):
    """The paths that a setting has on this node.

    Attributes:
        file: The configuration file that sets them, or an empty string.
    """

    paths: tuple[str, ...]
    file: str = ""

    @property
    def origin(self) -> str:
        """Where the paths come from, as a clause."""
        return f"set in {self.file}" if self.file else "its default"


def find_configured(setting: Setting, root: str = "/") -> list[Configured]:
    """Return what each configuration file sets, those that take precedence last.

    Args:
        root: All paths are below it; another directory in tests.

    Raises:
        CniError: A configuration file cannot be read.
    """
    top = root.rstrip("/")
    found = []
    for file in (path for pattern in setting.files for path in durable.find_paths(top, pattern)):
        paths = _read_paths(file, setting.keys)
        if paths:
            found.append(Configured(tuple(f"{top}{path}" for path in paths), file))
    return found


def effective(setting: Setting, root: str = "/") -> Configured:
    """Return the paths that a setting has: the configured ones, or else its defaults.

    Raises:
        CniError: As `find_configured`.
    """
    configured = find_configured(setting, root)
    if configured:
        return configured[-1]
    top = root.rstrip("/")
    if setting.unset and any(durable.find_paths(top, pattern) for pattern in setting.files):
        return Configured(tuple(f"{top}{path}" for path in setting.unset))
    return Configured(tuple(f"{top}{path}" for path in setting.defaults))


def _read_paths(file: str, keys: t.Sequence[str]) -> list[str]:
    """Return the absolute paths that a file sets for one of these keys: a text, a list of texts, or one after colons.

    Raises:
        CniError: The file cannot be read.
    """
    names = "|".join(map(re.escape, keys)).encode()
    value = rb"(" + _STRING + rb"|\[[^\]]*\]|/[^\s#\"',]*)"
    setting = re.compile(rb'(?:^|[{,])\s*"?(?:' + names + rb')"?\s*[=:]\s*' + value, re.MULTILINE)
    content = None if os.path.isdir(file) else durable.read(file)
    values = b"\n".join(setting.findall(content or b""))
    return [os.fsdecode(path).rstrip("/ ") or "/" for path in _PATHS.findall(values)]
