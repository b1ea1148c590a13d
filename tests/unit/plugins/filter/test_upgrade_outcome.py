# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A failed upgrade says which plugins the node has, and how to return to the earlier release."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.upgrade_outcome import upgrade_outcome


def make_set(name: str, version: str | None, previous: str | None, earlier: str | None) -> JsonObject:
    return {"name": name, "version": version, "previous": previous, "kept": [], "earlier": earlier}


REPLACED = make_set("reference", "2", "1", "1")
REPLACED_OF_MINE = make_set("mine", "b", "a", "a")
REPLACED_WITHOUT_KEPT = make_set("reference", "2", "1", None)
NEW = make_set("reference", "2", None, None)
UNCHANGED = make_set("reference", "2", "2", None)
UNCHANGED_WITH_EARLIER = make_set("reference", "2", "2", "1")

CASES: t.Final[dict[str, tuple[JsonObject, list[str], str]]] = {
    "not run": ({}, [], "nothing was replaced"),
    "failed": ({"failed": True, "msg": "no such file"}, [], "nothing was rolled back"),
    "rolled back": (
        {"changed": True, "sets": [REPLACED, REPLACED_OF_MINE]},
        ["reference", "mine"],
        "the node is back at the plugins of release 1, a of mine",
    ),
    "one of two sets": (
        {"changed": True, "sets": [UNCHANGED_WITH_EARLIER, REPLACED_OF_MINE]},
        ["mine"],
        "the node is back at the plugins of release a of mine",
    ),
    "first installation": (
        {"changed": True, "sets": [NEW]},
        [],
        "the new plugins stay, because no earlier release was kept",
    ),
    "nothing kept": (
        {"changed": True, "sets": [REPLACED_WITHOUT_KEPT]},
        [],
        "the new plugins stay, because no earlier release was kept; to return, run cni.node.upgrade with release 1",
    ),
    "installed already": (
        {"changed": False, "sets": [UNCHANGED]},
        [],
        "the plugins stay, because release 2 was already installed",
    ),
    "repaired": (
        {"changed": True, "sets": [UNCHANGED_WITH_EARLIER]},
        [],
        "the plugins stay, because release 2 was already installed; to return to release 1, run cni.node.rollback",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_outcome_has_the_sets_to_roll_back_and_what_the_node_then_has(case: str) -> None:
    result, names, message = CASES[case]
    sets = [{"name": name, "state": "rolled_back"} for name in names]
    assert upgrade_outcome(result) == {"sets": sets, "message": message}


def test_a_failed_rollback_names_its_reason_and_the_earlier_release() -> None:
    outcome = upgrade_outcome({"changed": True, "sets": [REPLACED, UNCHANGED]}, "its kept files are damaged")
    assert outcome["message"] == (
        "the node could not return to the plugins of release 1 (its kept files are damaged); mend that and run"
        " cni.node.rollback, or run cni.node.upgrade with that release"
    )


@pytest.mark.parametrize("result", [None, [], {"sets": [{"name": "mine"}], "changed": True}, {"sets": [1]}], ids=str)
def test_other_values_are_refused_with_a_message(result: object) -> None:
    with pytest.raises(AnsibleFilterError, match=r"upgrade_outcome: expected a result of cni\.node\.plugins"):
        upgrade_outcome(result)
