# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`collect_leaks` with a fake finder: list, find suspects, list again and remove."""

from __future__ import annotations

import importlib
import pkgutil
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._node import gc
from ansible_collections.cni.node.plugins.module_utils._node.gc.collector import FINDERS
from ansible_collections.cni.node.plugins.module_utils._node.gc.file_leaks import LeaseFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import (
    Finder,
    GcRun,
    Items,
    Scope,
    Suspect,
    collect_leaks,
    read_node,
)
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import GcPolicy, Kind, Leak
from ansible_collections.cni.node.plugins.module_utils._node.gc.owners import Owners
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView

POLICY = GcPolicy(0, dry_run=False)
DRY = GcPolicy(0, dry_run=True)


class ListedNames:
    """A finder whose items are names of containers, and whose snapshots are given in advance."""

    scope = Scope.NODE

    def __init__(self, *snapshots: str, kept: str = "") -> None:
        self._snapshots = list(snapshots)
        self._kept = kept
        self.removed: list[str] = []

    def snapshot(self, view: NodeView) -> Items[str]:
        del view
        return {name: name for name in self._snapshots.pop(0).split()}

    def find(self, items: Items[str], owners: Owners) -> t.Iterator[Suspect[str]]:
        for name in items.values():
            if not owners.has(name):
                yield Suspect(Leak(Kind.RULE, "", name, "no record"), (name,), "no use")

    def reason_to_keep(self, suspect: Suspect[str], owners: Owners) -> str:
        return owners.add_in_progress or ("it is kept" if suspect.leak.subject == self._kept else "")

    def remove(self, suspect: Suspect[str]) -> None:
        if suspect.leak.subject == "stuck":
            raise CniError(Code.IO_FAILURE, "it is stuck")
        self.removed += suspect.items


def owners_of(*names: str, add: str = "") -> Owners:
    return Owners(live=frozenset((name, "eth0") for name in names), add_in_progress=add)


def collect(finder: ListedNames, first: Owners, later: Owners, policy: GcPolicy = POLICY) -> dict[str, str]:
    items = finder.snapshot(read_node())
    leaks = collect_leaks(finder, items, first, lambda: (later, read_node()), policy)
    return {leak.subject: leak.action for leak in leaks}


def test_an_item_without_an_owner_in_both_searches_is_removed() -> None:
    finder = ListedNames("blue lost", "blue lost")
    assert collect(finder, owners_of("blue"), owners_of("blue")) == {"lost": "removed"}
    assert finder.removed == ["lost"]


def test_an_item_found_by_only_one_search_is_not_reported() -> None:
    finder = ListedNames("gone lost", "lost new")
    assert collect(finder, owners_of(), owners_of()) == {"lost": "removed"}


def test_an_item_with_an_owner_in_the_second_search_is_not_reported() -> None:
    finder = ListedNames("late lost", "late lost")
    assert collect(finder, owners_of(), owners_of("late")) == {"lost": "removed"}


def test_there_is_no_second_search_if_every_item_has_an_owner() -> None:
    assert collect(ListedNames("blue"), owners_of("blue"), owners_of()) == {}


def test_reasons_to_keep_come_from_the_second_search() -> None:
    finder = ListedNames("lost", "lost")
    assert collect(finder, owners_of(), owners_of(add="an ADD is in progress")) == {"lost": "kept"}
    assert finder.removed == []


def test_the_evidence_ends_with_the_reason_to_keep_or_with_the_proof() -> None:
    finder = ListedNames("a b", "a b", kept="a")
    items, known = finder.snapshot(read_node()), owners_of()
    leaks = collect_leaks(finder, items, known, lambda: (known, read_node()), POLICY)
    assert [leak.evidence for leak in leaks] == ["no record, but it is kept", "no record, and no use"]


def test_a_dry_run_predicts_the_report_of_a_run_and_removes_nothing() -> None:
    dry, real = (ListedNames("a b lost", "a b lost", kept="a") for dummy in range(2))
    expected = collect(dry, owners_of("b"), owners_of("b"), DRY)
    assert collect(real, owners_of("b"), owners_of("b")) == expected == {"a": "kept", "lost": "removed"}
    assert (dry.removed, real.removed) == ([], ["lost"])


def test_an_item_that_cannot_be_removed_does_not_stop_the_others() -> None:
    assert collect(ListedNames("stuck lost", "stuck lost"), owners_of(), owners_of()) == {
        "stuck": "failed",
        "lost": "removed",
    }


@pytest.mark.parametrize("scope", Scope)
def test_every_scope_has_finders(scope: Scope) -> None:
    run = GcRun(POLICY, NODE_PATHS, [])
    assert [finder for finder in (make(run) for make in FINDERS) if finder.scope is scope]


def test_every_finder_function_is_registered() -> None:
    room = gc.__name__
    modules = [importlib.import_module(f"{room}.{module.name}") for module in pkgutil.iter_modules(gc.__path__)]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    finders = {value for value in classes if value.__name__.endswith("Finder") and value.__name__[0] != "_"}
    assert finders - {Finder, LeaseFinder} == set(FINDERS)


def test_a_run_lists_the_collected_leaks_of_a_kind() -> None:
    leaks = [Leak(kind, "", str(kind), "", "removed") for kind in (Kind.LINK, Kind.RULE)]
    run = GcRun(DRY, NODE_PATHS, [*leaks, Leak(Kind.LINK, "", "kept", "")])
    assert (run.list_collected(Kind.LINK), run.list_collected()) == ({"link"}, {"link", "rule"})
