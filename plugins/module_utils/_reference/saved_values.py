# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.held_directory import HeldDirectory, hold_directory
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

PLUGIN: t.Final = "tuning"
DATA_DIR: t.Final = "/run/cni/tuning"

_ENDING: t.Final = ".json"
# Bytes; tuning writes at most five short values.
_LIMIT: t.Final = 4096
_KEYS: t.Final = frozenset(("mac", "promisc", "mtu", "allmulti", "txQLen"))


class SavedValues(t.NamedTuple):
    """A file in which tuning keeps what an interface had before, to put it back at DEL.

    Attributes:
        changed: When, in seconds of the epoch.
        identity: What the file is and how it was when it was read.
    """

    path: str
    changed: float
    identity: tuple[int, ...]

    @property
    def owner(self) -> str:
        """Return the container's id and the interface, joined; where one ends and the other begins cannot be told."""
        return os.path.basename(self.path)[: -len(_ENDING)]

    @property
    def container_ids(self) -> list[str]:
        """Return each id that the container may have."""
        parts = self.owner.split("_")
        return ["_".join(parts[:end]) for end in range(1, len(parts))]

    def remove(self) -> None:
        """Remove the file, if it is as it was when it was read.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        directory, name = os.path.split(self.path)
        with hold_directory(directory) as opened:
            if opened is not None:
                opened.remove_unchanged(name, self.identity)


def owner(container_id: str, ifname: str) -> str:
    """Return what a file is called, without its ending."""
    return f"{container_id}_{ifname}"


def directories(network: NetworkConfiguration) -> set[str]:
    """Return where tuning keeps its files for a network."""
    found = {plugin.keys.get("dataDir") or DATA_DIR for plugin in network.plugins if plugin.type == PLUGIN}
    return {path for path in found if isinstance(path, str) and os.path.isabs(path)}


def listing(directory: str) -> list[SavedValues]:
    """Return the files of a directory that tuning has written.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with hold_directory(directory) as opened:
        names = opened.names() if opened is not None else []
        found = [_read(opened, name) for name in names] if opened is not None else []
    return [one for one in found if one is not None]


def find(directory: str, container_id: str, ifname: str) -> SavedValues | None:
    """Return the file of one attachment.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with hold_directory(directory) as opened:
        return _read(opened, f"{owner(container_id, ifname)}{_ENDING}") if opened is not None else None


def _read(directory: HeldDirectory, name: str) -> SavedValues | None:
    stem, ending = os.path.splitext(name)
    file = directory.read(name, _LIMIT) if ending == _ENDING and "_" in stem else None
    if file is None or not _is_tunings(file.content):
        return None
    return SavedValues(directory.path_of(name), file.changed, file.identity)


def _is_tunings(content: bytes) -> bool:
    try:
        keys = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(keys, dict) and _KEYS.issuperset(keys)


__all__ = ("DATA_DIR", "PLUGIN", "SavedValues", "directories", "find", "listing", "owner")
