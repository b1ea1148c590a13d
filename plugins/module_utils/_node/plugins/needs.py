# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find the networks and attachments that need a plugin."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.durable import is_executable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.all_records import AllRecords
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import executables

_SHOWN: t.Final = 3

Needs = dict[str, list[str]]


def find_needs(
    plugins: t.Collection[str],
    networks: t.Iterable[NetworkConfiguration],
    cache_dir: str,
    state_dir: str,
    removed: t.Container[Key] = (),
) -> Needs:
    """Return the networks and attachments that need each of the plugins, also as delegated plugins.

    An attachment needs the plugins of its recorded configuration, even if its network has changed. A broken record needs no
    plugin, because none can be run for it.

    Args:
        networks: Configurations on the node, and those that a task will write.
        cache_dir: The directory with records and intents.
        state_dir: The directory with records of other runtimes.
        removed: Attachments that an earlier task would remove.
    """
    needs: Needs = {}
    for network in networks:
        _add(needs, plugins, network, f"network {network.name} ({network.source})")
    for record in _read_attachments(cache_dir, state_dir):
        if record.attachment.key not in removed:
            with contextlib.suppress(CniError):
                _add(needs, plugins, record.network(), f"the {record.attachment}")
    return dict(sorted(needs.items()))


def is_elsewhere(plugin: str, directories: t.Iterable[str], bin_dir: str) -> bool:
    """Return whether a directory other than ``bin_dir`` has an executable plugin of that name."""
    own = os.path.realpath(bin_dir)
    others = (os.path.join(path, plugin) for path in directories if os.path.realpath(path) != own)
    return any(is_executable(path) for path in others)


def describe_needs(needs: Needs) -> str:
    """Return text that names each plugin and the first networks and attachments that need it."""
    return "; ".join(f"{plugin}, needed by {_abbreviate(users)}" for plugin, users in needs.items())


def _abbreviate(users: t.Sequence[str]) -> str:
    rest = f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else ""
    return ", ".join(users[:_SHOWN]) + rest


def _add(needs: Needs, plugins: t.Collection[str], network: NetworkConfiguration, user: str) -> None:
    for name in sorted({executable.type for executable in executables(network)}.intersection(plugins)):
        users = needs.setdefault(name, [])
        users += [user] if user not in users else []


def _read_attachments(cache_dir: str, state_dir: str) -> list[Record]:
    records, dummy = AllRecords(RecordStore.of_records(cache_dir), state_dir).read_all()
    intents, dummy = RecordStore.of_intents(cache_dir).read_all()
    return [*records, *intents]


__all__ = ("Needs", "describe_needs", "find_needs", "is_elsewhere")
