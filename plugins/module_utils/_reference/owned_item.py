# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""List and remove what containers and attachments own on the node, for DEL and gc."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import commit_together
from ansible_collections.cni.node.plugins.module_utils._linux import program

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
    from ansible_collections.cni.node.plugins.module_utils._reference.saved_values import TuningFile


class OwnedItem(t.NamedTuple):
    """Something that belongs to one container or attachment, and to nothing else.

    `owned_rules` and `spoof_checks` list rules and chains; `own_file` returns files.

    Attributes:
        owner: The name under which its owner has it.
        subject: Its name in reports.
        evidence: Why it is a leak if no attachment has the owner's name.
        content: What is removed.
        key: Identifies the item and its state: equal in two listings if nothing has changed.
        remove: Removes the contents of several items of one place, in one transaction.
        place: The items of a place can be removed together: a tool, or a path.
        container_ids: Every container that it may belong to.
        addresses: The addresses that it is for.
    """

    owner: t.Hashable
    subject: str
    evidence: str
    content: t.Any
    key: t.Hashable
    remove: t.Callable[[t.Sequence[t.Any], NodeView], None]
    place: str
    network: str = ""
    container_ids: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


# Yields the items of these owners, or raises `CniError` if they cannot be listed.
Listing = t.Callable[["NodeView", t.AbstractSet[t.Hashable]], t.Iterable[OwnedItem]]


class Search(t.Protocol):
    """The search for the items of one attachment.

    Attributes:
        listings: What is listed, with the name of the owner there.
        required: The listings that are errors if the node does not support what they list.
    """

    @property
    def listings(self) -> t.Mapping[Listing, t.Hashable]: ...

    @property
    def required(self) -> t.Collection[Listing]: ...


def list_groups(searches: t.Sequence[Search], view: NodeView) -> tuple[list[list[OwnedItem]], dict[int, Exception]]:
    """Return the items of each search, with one listing for all, and the errors of listings by the numbers of searches."""
    found: dict[tuple[Listing, t.Hashable], list[OwnedItem]] = {}
    errors: dict[int, Exception] = {}
    owners = [search.listings for search in searches]
    for listing in dict.fromkeys(listing for each in owners for listing in each):
        own = {number: each[listing] for number, each in enumerate(owners) if listing in each}
        try:
            for item in listing(view, set(own.values())):
                found.setdefault((listing, item.owner), []).append(item)
        except CniError as exc:
            # A node may have a tool that its kernel does not support.
            is_unsupported = program.is_unsupported(exc)
            failed = [number for number in own if listing in searches[number].required or not is_unsupported]
            errors = {**dict.fromkeys(failed, exc), **errors}
    groups = [[item for place in each.items() for item in found.get(place, ())] for each in owners]
    return groups, errors


def remove_groups(groups: t.Sequence[t.Iterable[OwnedItem]], view: NodeView) -> dict[int, Exception]:
    """Remove groups of items, those of each place in one transaction; if that fails, each half.

    Args:
        view: Lists the rules that are there.

    Returns:
        The errors of groups of which an item could not be removed, by their numbers.
    """
    places: dict[t.Hashable, dict[int, list[OwnedItem]]] = {}
    for number, group in enumerate(groups):
        for item in group:
            places.setdefault((item.remove, item.place), {}).setdefault(number, []).append(item)
    errors: dict[int, Exception] = {}
    for own in places.values():
        numbers = list(own)
        failed = commit_together(functools.partial(_remove, view), list(own.values()))
        errors = {**{numbers[position]: exc for position, exc in failed.items()}, **errors}
    return errors


def _remove(view: NodeView, groups: t.Sequence[t.Sequence[OwnedItem]]) -> None:
    # Groups may share items: the interfaces of a container share its chain.
    items = {item.key: item for group in groups for item in group}
    next(iter(items.values())).remove([item.content for item in items.values()], view)


def own_file(file: TuningFile) -> OwnedItem:
    """Return a file of the plugin tuning as an item."""
    return OwnedItem(
        file.owner,
        file.path,
        name_in_evidence(file.owner),
        file,
        file,
        _remove_files,
        file.path,
        container_ids=tuple(file.container_ids),
    )


def name_in_evidence(owner: str) -> str:
    """Return the evidence for an item whose name has a container and an interface."""
    return f"no runtime has a record of {owner}, the container and interface in its name"


def _remove_files(files: t.Sequence[TuningFile], dummy: NodeView) -> None:
    for file in files:
        file.remove()
