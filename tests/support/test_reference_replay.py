# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replays find the differences that count, and no others."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support import replay_names
from ansible_collections.cni.node.tests.support.reference_replay import compare
from ansible_collections.cni.node.tests.support.replay_snapshot import Snapshot

MAC = "0a:58:0a:01:00:02"


def step(state: t.Any = "same", **answer: t.Any) -> JsonObject:
    return {"op": "DEL", "plugins": [{"type": "bridge", **answer}], "state": state}


def paths(recorded: list[JsonObject], found: list[JsonObject]) -> list[str]:
    return [difference.path for difference in compare({"steps": recorded}, {"steps": found})]


def test_the_code_of_an_error_counts_and_its_message_does_not() -> None:
    recorded = step(error={"code": 7, "msg": "a"})
    assert paths([recorded], [step(error={"code": 7, "msg": "b"})]) == []
    assert paths([recorded], [step(error={"code": 4, "msg": "a"})]) == ["steps/0/plugins/0/error"]


def test_a_state_that_stays_is_compared_with_one_that_changes() -> None:
    leak, clean = {"host": {"rules": {"+": ["rule"]}}}, step({})
    assert paths([step(leak), step()], [step(leak), clean]) == ["steps/1/state/host"]
    assert paths([step(leak), step()], [clean, step()]) == ["steps/0/state/host"]


def test_the_first_step_of_both_runs_is_reported_once() -> None:
    found = {"steps": [step(exit=1)], "gone": [step(exit=1), step({"c1": None})]}
    recorded = {"steps": [step(exit=0)], "gone": ["steps/0", step({})]}
    assert [difference.path for difference in compare(recorded, found)] == ["steps/0/plugins/0/exit", "gone/1/state/c1"]


def test_generated_names_are_numbered_and_given_ones_stay() -> None:
    state = {
        "files": {},
        "host": {
            "addresses": ["veth0123abcd inet6 fe80::858:aff:fe01:2/64 scope link", "veth12345678 inet 10.0.0.1/32"],
            "routes": [],
            "rules": [],
            "tc": [],
            "nft": {},
        },
    }
    outcomes = [{"result": {"interfaces": [{"name": "veth12345678", "mac": MAC}]}}]
    names = ["veth0123abcd", "veth12345678", "veth99999999"]
    named, states = replay_names.with_stable_names({"name": "veth99999999"}, outcomes, [Snapshot(state, names)])
    assert named == [{"result": {"interfaces": [{"name": "VETH0", "mac": "MAC0"}]}}]
    assert states[0] is not None
    assert states[0]["host"]["addresses"] == ["VETH0 inet 10.0.0.1/32", "VETH1 inet6 fe80::MAC0/64 scope link"]


def test_changes_name_what_came_and_what_went() -> None:
    before = {
        "files": {"/a": 1},
        "host": {"rules": ["old", "kept"], "links": {"lo": {}, "up0": {"mtu": 1500}}},
        "c1": {},
    }
    after = {"files": {"/a": 1}, "host": {"rules": ["kept", "new"], "links": {"lo": {}, "up0": {"mtu": 1400}}}}
    assert replay_names.changes(before, after) == {
        "c1": None,
        "host": {"rules": {"+": ["new"], "-": ["old"]}, "links": {"up0": {"mtu": 1400}}},
    }
