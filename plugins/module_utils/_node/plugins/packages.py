# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the distribution's packages that files in a bin dir belong to."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import process
from ansible_collections.cni.node.plugins.module_utils._linux import program

# Seconds. A package database answers within some tenths of one.
_TIMEOUT: t.Final = 30.0
_ENVIRONMENT: t.Final = {b"LC_ALL": b"C", b"PATH": b"/usr/sbin:/usr/bin:/sbin:/bin"}


class _Manager(t.NamedTuple):
    """A program that knows which package a file belongs to.

    Attributes:
        options: Its options, before the paths.
        line: What a line of its output looks like; the first group is the package.
    """

    options: tuple[str, ...]
    line: re.Pattern[str]


_MANAGERS: t.Final = {
    "dpkg-query": _Manager(("--search",), re.compile(r"(?!diversion by )(\S+(?:, \S+)*): /.*")),
    "rpm": _Manager(("-qf", "--queryformat", r"%{NAME}\n"), re.compile(r"([A-Za-z0-9._+-]+)")),
    "apk": _Manager(("info", "--who-owns"), re.compile(r"/.* is owned by (\S+?)(?:-\d\S*)?")),
}


def find_packages(directory: str, names: t.Iterable[str]) -> dict[str, str]:
    """Return the distribution's packages that files of a directory belong to, by the name of the file.

    A file without a package is left out. So is every file if the package database cannot be read.
    """
    managers = [(path, manager) for name, manager in _MANAGERS.items() if (path := program.find(name))]
    found = ((name, _find_package(os.path.join(directory, name), managers)) for name in names)
    return {name: package for name, package in found if package}


def _find_package(path: str, managers: t.Iterable[tuple[str, _Manager]]) -> str:
    # A package lists the path at which it installs a file, not the links that lead there.
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    paths = dict.fromkeys([path, real, os.path.realpath(path)])
    return next((package for manager in managers if (package := _query(*manager, paths))), "")


def _query(executable: str, manager: _Manager, paths: t.Iterable[str]) -> str:
    # dpkg-query reads patterns.
    escaped = [re.sub(r"([*?\[\\])", r"\\\1", path) for path in paths] if manager is _MANAGERS["dpkg-query"] else paths
    try:
        result = process.run([executable, *manager.options, *escaped], _ENVIRONMENT, b"", _TIMEOUT)
    except OSError:
        return ""
    lines = result.stdout.decode("utf-8", "replace").splitlines()
    return next((match[1] for line in lines if (match := manager.line.fullmatch(line))), "")


__all__ = ("find_packages",)
