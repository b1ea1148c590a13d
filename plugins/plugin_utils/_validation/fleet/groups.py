# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Nodes that have the same value, and their names in a message."""

from __future__ import annotations

import typing as t

T = t.TypeVar("T")

# How many nodes a message names; the finding has all of them.
_NODES_SHOWN = 8


def divide(members: t.Iterable[T], value: t.Callable[[T], t.Hashable]) -> list[list[T]]:
    """Return the members in groups with the same value; the largest group comes first, then the others in their order."""
    groups: dict[t.Hashable, list[T]] = {}
    for member in members:
        groups.setdefault(value(member), []).append(member)
    listed = list(groups.values())
    most = max(listed, key=len, default=[])
    return [most, *(group for group in listed if group is not most)]


def join_nodes(nodes: t.Iterable[str]) -> str:
    """Return the names of nodes as part of a sentence."""
    return join(list(dict.fromkeys(nodes)), _NODES_SHOWN)


def join(texts: t.Sequence[str], most: int) -> str:
    """Return texts as part of a sentence, and the number of those that are left out."""
    more = [f"{len(texts) - most} more"] if len(texts) > most else []
    *others, last = [*texts[:most], *more]
    return f"{', '.join(others)} and {last}" if others else last
