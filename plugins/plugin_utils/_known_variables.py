# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The variables of this collection's roles and playbooks, and misspelled ones."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.printable import plural
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.key_reader import nearest

COLLECTION = "cni.node."

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
# The options in a role's argument_specs.yml, found by their indentation, and the variables that playbooks read.
_OPTION = re.compile(r"^ {6}(cni_[a-z0-9_]+):$", re.MULTILINE)
_READ = re.compile(r"\bcni_node_[a-z0-9_]+")


def _texts(*pattern: str) -> list[str]:
    texts = []
    for path in sorted(glob.glob(os.path.join(_ROOT, *pattern))):
        with open(path, encoding="utf-8") as stream:
            texts.append(stream.read())
    return texts


# The variables of this collection's roles and playbooks. They are read here, because Ansible imports this file before it forks
# a process for each task and host.
KNOWN_VARIABLES: t.Final = frozenset(
    [
        *(name for text in _texts("roles", "*", "meta", "argument_specs.yml") for name in _OPTION.findall(text)),
        *(name for text in _texts("playbooks", "*.yml") for name in _READ.findall(text)),
    ]
)


def prefixes(roles: t.Iterable[str]) -> list[str]:
    """Return the prefixes of the variables of roles.

    Args:
        roles: Fully qualified names. Roles of other collections are ignored.
    """
    return [f"{role[len(COLLECTION) :]}_" for role in roles if role.startswith(COLLECTION)]


def all_prefixes() -> list[str]:
    """Return the prefixes of the variables of all roles of this collection."""
    return prefixes(f"{COLLECTION}{name}" for name in sorted(os.listdir(os.path.join(_ROOT, "roles"))))


def unknown_variables(names: t.Iterable[str], beginning_with: t.Iterable[str]) -> dict[str, str]:
    """Return unknown variables with a role's prefix, each with the known variable that it resembles, or "".

    Args:
        names: All defined variables.
        beginning_with: Prefixes of roles.
    """
    beginnings = tuple(beginning_with)
    unknown = sorted(name for name in set(names) if name.startswith(beginnings) and name not in KNOWN_VARIABLES)
    return {name: _find_meant(name, beginnings) for name in unknown}


def refusal(unknown: t.Mapping[str, str]) -> str:
    """Return a message that names unknown variables."""
    named = [f"{name} (did you mean {suggestion}?)" if suggestion else name for name, suggestion in unknown.items()]
    return f"unknown {plural('variable', len(named))}: {', '.join(named)}; {explain_prefix(unknown)}"


def explain_prefix(names: t.Iterable[str]) -> str:
    """Return what to do about variables that are named like those of this collection but not meant for it."""
    begin = ", ".join(sorted({"_".join(name.split("_")[:2]) + "_" for name in names}))
    return f"names that begin with {begin} belong to the collection cni.node, so rename variables of your own"


def _find_meant(name: str, beginnings: tuple[str, ...]) -> str:
    """Return the known variable that resembles a name after the prefix, which makes short names look alike; or ""."""
    for prefix in filter(name.startswith, beginnings):
        known = [each[len(prefix) :] for each in KNOWN_VARIABLES if each.startswith(prefix)]
        meant = nearest(name[len(prefix) :], known)
        if meant:
            return prefix + meant
    return ""
