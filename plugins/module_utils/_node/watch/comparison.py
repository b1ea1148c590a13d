# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare and repair all attachments once, in a process of its own: its imports and its memory end with it."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.rules import firewalld
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import (
    Repair,
    Resource,
    describe,
)
from ansible_collections.cni.node.plugins.module_utils._node.watch.interest import Interest, read_times
from ansible_collections.cni.node.plugins.module_utils._node.watch.operations import await_operations
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

_LOCK_TIMEOUT = 60.0


def compare_and_repair(
    paths: NodePaths,
    cache_dir: str,
    selection: Selection,
    held: t.Iterable[tuple[Key, str]],
    begin: t.Callable[[], None],
) -> JsonObject:
    """Repair what attachments have lost, when no ADD or DEL is running.

    Args:
        held: Attachments and kinds of resources that are left alone.
        begin: Called before the comparison begins: it sees all that has changed until then.

    Returns:
        What was repaired, the lines of failures, whether to try again, and what concerns the attachments from now on.
    """
    await_operations(cache_dir)
    firewalld.await_rules()
    begin()
    directories = read_times(_list_directories(paths, cache_dir))
    limited = selection.without((key, Resource(name)) for key, name in held)
    repairs, unreadable = repair_node(paths, cache_dir, _LOCK_TIMEOUT, limited, dry_run=False)
    records = [repair.record for repair in repairs if Resource.INTERFACES in selection.resources_of(repair.record)]
    failures = [describe(repair) for repair in repairs if repair.error]
    return {
        "repaired": [_describe_repair(repair) for repair in repairs if repair.changed],
        "failures": [*failures, *(f"not repaired: {error}" for error in unreadable)],
        "has_failed": any(repair.error or repair.is_deferred for repair in repairs),
        "interest": _find_interest(records, directories).as_dict(),
    }


def _describe_repair(repair: Repair) -> JsonObject:
    attachment = repair.record.attachment
    return {
        "key": attachment.key,
        "own": repair.record.is_own,
        "resources": [kind.value for kind in Resource if kind in repair.resources],
        "lost": repair.repaired,
        "line": describe(repair._replace(error=None)),
    }


def _list_directories(paths: NodePaths, cache_dir: str) -> list[str]:
    """Return the directories that change when a record, or a directory of records, is made or removed."""
    below = list(filter(os.path.isdir, durable.find_paths(paths.state_dir, "*")))
    results = [os.path.join(directory, "results") for directory in (cache_dir, paths.state_dir, *below)]
    return sorted({cache_dir, paths.state_dir, *below, *filter(os.path.isdir, results)})


def _find_interest(records: t.Sequence[Record], directories: tuple[tuple[str, int], ...]) -> Interest:
    names = {name for record in records for name in (*record.node_interfaces, *_list_shared_links(record))}
    links = {link.name: link.ifindex for link in rtnetlink.links()}
    numbers = set()
    for path in {record.attachment.netns for record in records}:
        with contextlib.suppress(CniError):  # it is gone
            numbers.add(rtnetlink.assign_netns_id(path))
    return Interest(
        True,
        frozenset(map(os.fsencode, names)),
        frozenset(links[name] for name in names if name in links),
        frozenset(numbers),
        directories,
    )


def _list_shared_links(record: Record) -> list[str]:
    """Return the links of the node that the attachments of a network share, such as its bridge."""
    try:
        plugins = record.network().plugins
    except CniError:
        return []
    return [name for name in (catalogue.shared_link(plugin.type, plugin.keys) for plugin in plugins) if name]
