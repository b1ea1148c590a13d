# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

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


def needs(
    plugins: t.Collection[str],
    networks: t.Iterable[NetworkConfiguration],
    cache_dir: str,
    state_dir: str,
    detached: t.Container[Key] = (),
) -> Needs:
    """Return which networks and attachments need each of some plugins, delegated plugins included.

    An attachment needs the plugins with which it was added, whatever its network has become. A record that cannot be read
    needs none: no plugin can be run for it.

    Args:
        networks: Configurations on the node, and those that a task is about to write.
        cache_dir: Its records and intents count.
        state_dir: The records of other runtimes below it count as well.
        detached: Attachments that an earlier task would remove.
    """
    found: Needs = {}
    for network in networks:
        _note(found, plugins, network, f"network {network.name} ({network.source})")
    for record in _all_attachments(cache_dir, state_dir):
        if record.attachment.key not in detached:
            with contextlib.suppress(CniError):
                _note(found, plugins, record.network(), f"the {record.attachment}")
    return dict(sorted(found.items()))


def is_elsewhere(plugin: str, directories: t.Iterable[str], bin_dir: str) -> bool:
    """Return whether a directory other than ``bin_dir`` has an executable plugin of that name."""
    own = os.path.realpath(bin_dir)
    others = (os.path.join(path, plugin) for path in directories if os.path.realpath(path) != own)
    return any(is_executable(path) for path in others)


def describe_needs(found: Needs) -> str:
    """Return text that names each plugin and some of what needs it."""
    return "; ".join(f"{plugin}, by {_some(who)}" for plugin, who in found.items())


def _some(who: t.Sequence[str]) -> str:
    rest = f" and {len(who) - _SHOWN} more" if len(who) > _SHOWN else ""
    return ", ".join(who[:_SHOWN]) + rest


def _note(found: Needs, plugins: t.Collection[str], network: NetworkConfiguration, who: str) -> None:
    for name in sorted({one.type for one in executables(network)}.intersection(plugins)):
        known = found.setdefault(name, [])
        known += [who] if who not in known else []


def _all_attachments(cache_dir: str, state_dir: str) -> list[Record]:
    records, dummy = AllRecords(RecordStore.of_records(cache_dir), state_dir).read_all()
    intents, dummy = RecordStore.of_intents(cache_dir).read_all()
    return [*records, *intents]


__all__ = ("Needs", "describe_needs", "is_elsewhere", "needs")
