# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The interface of a finder, and the collection of what finders find."""

from __future__ import annotations

import contextlib
import enum
import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import as_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.owned_item import OwnedItem, remove_groups

Item = t.TypeVar("Item")
# The items of one kind, by an identity that two listings have in common.
Items = t.Mapping[t.Hashable, Item]


class GcRun(t.NamedTuple):
    """One run of the collector.

    Attributes:
        paths: Where plugins keep their files by default.
        leaks: All leaks that have been reported so far.
        networks: Names of the networks that are checked.
        all_networks: Whether these are all networks of the node.
        configurations: The configurations of these networks, those in files and those in records.
        current: All configurations in files.
        unlisted: Why rules of containers may exist that cannot be listed, or an empty string.
    """

    policy: GcPolicy
    paths: NodePaths
    leaks: list[Leak]
    networks: frozenset[str] = frozenset()
    all_networks: bool = True
    configurations: tuple[NetworkConfiguration, ...] = ()
    current: tuple[NetworkConfiguration, ...] = ()
    unlisted: str = ""

    def list_collected(self, *kinds: Kind) -> set[str]:
        """Return the subjects of the leaks that are collected, or would be in a dry run.

        Args:
            kinds: The kinds to include; all by default.
        """
        return {leak.subject for leak in self.leaks if leak.collected and (not kinds or leak.kind in kinds)}

    @contextlib.contextmanager
    def report_errors(self, what: str, subject: str = "all networks", network: str = "") -> t.Iterator[None]:
        """Turn an exception into an entry of the kind ``network``, unless there is one with the same subject and error.

        Args:
            what: What is checked.
        """
        try:
            yield
        except Exception as exc:
            evidence = f"some checks of {what} did not finish"
            entry = Leak(Kind.NETWORK, network, subject, evidence).fail(as_error(exc))
            if not any((leak.subject, str(leak.error)) == (entry.subject, str(entry.error)) for leak in self.leaks):
                self.leaks.append(entry)


def read_node() -> NodeView:
    """Return a view of the node's present state, which lists tables without making them."""
    return NodeView(with_handles=True, all_tables=True)


class Suspect(t.Generic[Item]):
    """Items without an owner that are reported and removed together."""

    def __init__(self, leak: Leak, items: tuple[Item, ...], proof: str = "") -> None:
        """
        Args:
            proof: A second fact, which holds if there is no reason to keep them; or an empty string.
        """
        self.leak = leak
        self.items = items
        self.proof = proof

    def set_proofs(self, reason: str) -> None:
        """Set the facts that make the items a leak.

        Args:
            reason: The reason to keep them, or an empty string.
        """
        second = (self.proof,) if self.proof and not reason else ()
        self.leak.proofs = (self.leak.evidence, *second)
        self.leak.evidence = ", and ".join(self.leak.proofs)


class Scope(enum.Enum):
    """The networks whose owners a finder needs.

    Attributes:
        NETWORK: One network, which its items name. The finder runs once for each, with the network's lock held.
        NODE: All networks, because only some items name theirs. The finder runs once.
        ALL_NETWORKS: All networks, because no item names its own. The finder runs only if all networks are checked.
    """

    NETWORK = enum.auto()
    NODE = enum.auto()
    ALL_NETWORKS = enum.auto()


class Finder(t.Protocol[Item]):
    """A kind of leak.

    The collector lists the items, reads the owners and calls `find`. If there are suspects, it repeats all three: a leak
    has no owner both times. It removes a leak unless there is a reason to keep it.
    """

    scope: Scope

    def snapshot(self, view: NodeView) -> Items[Item]:
        """Return all items of this kind that the node has."""

    def find(self, items: Items[Item], owners: Owners) -> t.Iterator[Suspect[Item]]:
        """Find items without an owner. The collector collects or keeps each suspect before it asks for the next."""

    def reason_to_keep(self, suspect: Suspect[Item], owners: Owners) -> str:
        """Return why a suspect may have an owner after all, or an empty string."""

    def remove(self, suspect: Suspect[Item]) -> None:
        """Remove the items.

        Raises:
            CniError: An item cannot be removed.
        """


class FinderBase:
    """The common part of finders of items that attachments own by names.

    Attributes:
        proof: The second fact of a `Suspect`.
    """

    scope: Scope
    kind = Kind.CHAIN
    proof = ""

    def __init__(self, run: GcRun) -> None:
        self._run = run

    def list_all(self, view: NodeView) -> t.Iterable[OwnedItem]:
        """Yield all items of this kind that the node has."""
        raise NotImplementedError

    def owned_names(self, owners: Owners) -> t.Collection[t.Hashable]:
        """Return the names under which attachments own items."""
        raise NotImplementedError

    def names(self, item: OwnedItem) -> t.Iterable[t.Hashable]:
        """Return the names of an item. If an attachment owns one of them, it owns the item."""
        return (item.owner,)

    def traces(self, item: OwnedItem) -> t.Iterable[str]:
        """Return the names that rules which containers share have of an item: by default, that of its owner."""
        return (str(item.owner),)

    def snapshot(self, view: NodeView) -> Items[OwnedItem]:
        return {item.key: item for item in self.list_all(view)}

    def find(self, items: Items[OwnedItem], owners: Owners) -> t.Iterator[Suspect[OwnedItem]]:
        owned = self.owned_names(owners) if items else ()
        leaks: dict[tuple[str, t.Hashable], list[OwnedItem]] = {}
        for item in items.values():
            is_checked = self.scope is not Scope.NETWORK or item.network == owners.network
            if is_checked and not any(name in owned for name in self.names(item)):
                leaks.setdefault((item.subject, item.owner), []).append(item)
        for (subject, dummy), own in leaks.items():
            traces = frozenset(trace for item in own for trace in self.traces(item))
            leak = Leak(self.kind, own[0].network, subject, own[0].evidence, traces=traces)
            yield Suspect(leak, tuple(own), self.proof)

    def reason_to_keep(self, suspect: Suspect[OwnedItem], owners: Owners) -> str:
        addresses = [address for item in suspect.items for address in item.addresses]
        return owners.reason_to_keep_any(suspect.items[0].container_ids, addresses)

    def remove(self, suspect: Suspect[OwnedItem]) -> None:
        for error in remove_groups([suspect.items], NodeView(with_handles=True)).values():
            raise error


ReadAgain = t.Callable[[], tuple[Owners, NodeView]]
Listed = list[tuple[Finder[t.Any], Items[t.Any]]]


def collect_leaks(
    finder: Finder[Item],
    items: Items[Item],
    owners: Owners,
    read_again: ReadAgain,
    policy: GcPolicy,
) -> t.Iterator[Leak]:
    """Find items without an owner, list the items again, and collect those that still exist without an owner.

    Args:
        items: Listed before the owners were read, because a later item may belong to an attachment recorded since.
        read_again: Called only if there are suspects.
    """
    if next(finder.find(items, owners), None) is None:
        return
    owners, view = read_again()
    current = finder.snapshot(view)
    for suspect in finder.find({key: current[key] for key in items if key in current}, owners):
        reason = finder.reason_to_keep(suspect, owners)
        suspect.set_proofs(reason)
        yield policy.collect_unless(reason, suspect.leak, functools.partial(finder.remove, suspect))


def list_items(finders: t.Iterable[Finder[t.Any]], view: NodeView, run: GcRun) -> Listed:
    """Return finders with their items. A finder whose items cannot be listed is reported and left out."""
    listed: Listed = []
    for finder in finders:
        with run.report_errors("the whole node"):
            listed.append((finder, finder.snapshot(view)))
    return listed


def collect_each(listed: Listed, owners: Owners, read_again: ReadAgain, run: GcRun) -> None:
    """Collect the leaks of each finder. An error of one does not stop the others.

    Args:
        read_again: Called once for all finders.
    """
    read_once = functools.lru_cache(maxsize=None)(read_again)
    where = ("this network", owners.network, owners.network) if owners.network else ("the whole node",)
    for finder, items in listed:
        with run.report_errors(*where):
            for leak in collect_leaks(finder, items, owners, read_once, run.policy):
                run.leaks.append(leak)  # at once: an error may follow, and the next finding may depend on it
