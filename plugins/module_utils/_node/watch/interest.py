# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The links and network namespaces that concern attachments; notifications about others are ignored."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject


class Interest(t.NamedTuple):
    """The links and network namespaces of attachments whose interfaces are repaired, and the directories of all records.

    Attributes:
        is_known: Whether the other attributes are known; otherwise everything concerns the attachments.
        names, indexes: Links of the node: bridges, the node's ends of veth pairs, parents.
        netns_ids: The numbers by which the kernel knows the network namespaces of the containers.
        directories: The time of the last change of each directory, in nanoseconds.
    """

    is_known: bool = False
    names: frozenset[bytes] = frozenset()
    indexes: frozenset[int] = frozenset()
    netns_ids: frozenset[int] = frozenset()
    directories: tuple[tuple[str, int], ...] = ()

    def is_outdated(self) -> bool:
        """Return whether a record was written or removed since."""
        return not self.is_known or self.directories != read_times(path for path, dummy in self.directories)

    def as_dict(self) -> JsonObject:
        return {
            "names": sorted(map(os.fsdecode, self.names)),
            "indexes": sorted(self.indexes),
            "netns_ids": sorted(self.netns_ids),
            "directories": self.directories,
        }

    @classmethod
    def from_dict(cls, document: JsonMapping) -> Interest:
        """Return what `as_dict` has returned."""
        return cls(
            True,
            frozenset(map(os.fsencode, document["names"])),
            frozenset(document["indexes"]),
            frozenset(document["netns_ids"]),
            tuple((path, time) for path, time in document["directories"]),
        )


def read_times(paths: t.Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return the time of the last change of each directory, in nanoseconds; 0 for one that is missing."""
    times = []
    for path in paths:
        changed = 0
        with contextlib.suppress(OSError):
            changed = os.stat(path).st_mtime_ns
        times.append((path, changed))
    return tuple(times)
