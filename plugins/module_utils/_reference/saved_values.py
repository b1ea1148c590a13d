# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The files in which tuning saves the former values of an interface."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.durable import list_directory, make_directory
from ansible_collections.cni.node.plugins.module_utils._base.held_directory import HeldDirectory, hold_directory
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import is_below_plugin_dirs
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link

PLUGIN = "tuning"

_ENDING = ".json"
# Bytes; tuning writes a few short values.
_LIMIT = 4096
_MODE = 0o600
# What tuning saves of an interface, by the keys of its configuration.
SAVED: t.Mapping[str, t.Callable[[Link], t.Any]] = {
    "mac": lambda link: link.mac,
    "promisc": lambda link: link.is_promiscuous,
    "mtu": lambda link: link.mtu,
    "allmulti": lambda link: link.is_all_multicast,
    "txQLen": lambda link: link.queue_length,
}


class TuningFile(t.NamedTuple):
    """A file in which tuning saves the former values of an interface, which DEL restores.

    Attributes:
        changed: The time of the last change, in seconds since the epoch.
        identity: Identifies the file and its state when it was read.
        content: A JSON object that has only keys of `SAVED`.
    """

    path: str
    changed: float
    identity: tuple[int, ...]
    content: bytes

    @property
    def owner(self) -> str:
        """Return container id and interface, joined by a character that both may contain."""
        return os.path.basename(self.path)[: -len(_ENDING)]

    @property
    def container_ids(self) -> list[str]:
        """Return every possible id of the container."""
        parts = self.owner.split("_")
        return ["_".join(parts[:end]) for end in range(1, len(parts))]

    def remove(self) -> None:
        """Remove the file unless it has changed since it was read.

        Raises:
            CniError: ``IO_FAILURE``.
        """
        directory, name = os.path.split(self.path)
        with hold_directory(directory) as opened:
            if opened is not None:
                opened.remove_unchanged(name, self.identity)


def owner(container_id: str, ifname: str) -> str:
    """Return the name of a file without its ending."""
    return f"{container_id}_{ifname}"


def directories(network: NetworkConfiguration, tuning_dir: str, *, is_trusted: bool) -> set[str]:
    """Return the directories in which tuning keeps its files for a network.

    Args:
        tuning_dir: The default of ``dataDir``.
        is_trusted: Whether the configuration may name any directory, because this collection or the conf dir has it.
    """
    paths = [plugin.keys.get("dataDir") or tuning_dir for plugin in network.plugins if plugin.type == PLUGIN]
    absolute = {path for path in paths if isinstance(path, str) and os.path.isabs(path)}
    return {path for path in absolute if is_trusted or is_below_plugin_dirs(path, tuning_dir)}


def foreign_directories(network: NetworkConfiguration, tuning_dir: str) -> list[str]:
    """Return the directories of a recorded configuration that have files, but none of tuning.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    named = directories(network, tuning_dir, is_trusted=True) - directories(network, tuning_dir, is_trusted=False)
    return [path for path in named if list_directory(path) and not listing(path)]


def listing(directory: str) -> list[TuningFile]:
    """Return the files in a directory that tuning has written.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with hold_directory(directory) as opened:
        files = [_read(opened, name) for name in opened.names()] if opened is not None else []
    return [file for file in files if file is not None]


def find(directory: str, container_id: str, ifname: str) -> TuningFile | None:
    """Return the file of one attachment, None if there is none.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    with hold_directory(directory) as opened:
        return _read(opened, f"{owner(container_id, ifname)}{_ENDING}") if opened is not None else None


def write(directory: str, container_id: str, ifname: str, values: JsonObject) -> None:
    """Write the file of one attachment, as tuning does. It need not survive a loss of power, as the interface does not.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    make_directory(directory, mode=_MODE)
    content = json.dumps(values, indent=1).encode()
    durable.write(os.path.join(directory, f"{owner(container_id, ifname)}{_ENDING}"), content, flush=False)


def _read(directory: HeldDirectory, name: str) -> TuningFile | None:
    stem, ending = os.path.splitext(name)
    file = directory.read(name, _LIMIT) if ending == _ENDING and "_" in stem else None
    if file is None or not _is_written_by_tuning(file.content):
        return None
    return TuningFile(directory.path_of(name), file.changed, file.identity, file.content)


def _is_written_by_tuning(content: bytes) -> bool:
    try:
        keys = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(keys, dict) and SAVED.keys() >= keys.keys()
