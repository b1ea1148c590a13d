# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way of a packet through two nodes: whom to ask next, what is broken, and which ends are refused."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.errors", reason="filters run on the controller")

from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.fleet_diagnosis import fleet_diagnosis

BLUE, BLUE6 = "10.85.2.2:80/tcp", "[fd00::2]:80/tcp"
LEAVES = {"from": "198.18.0.2", "to": BLUE, "source_port": 40000}


def step(check: str, state: str = "ok", way: str = "there") -> JsonObject:
    words = ("1", "sysctl -w x=1") if state == "broken" else ("", "")
    found = {"place": "node", "way": way, "found": f"{check} of it"}
    return {"check": check, "state": state, **found, "needed": words[0], "command": words[1]}


def answer(*steps: JsonObject, source: t.Sequence[str] = (), to: t.Sequence[str] = (), **keys: t.Any) -> JsonObject:
    ends = {"from": list(source), "to": list(to)}
    return {"ends": ends, "steps": list(steps), "lines": ["the lines"], "msg": "why not", "answer": "silent", **keys}


def join(*answers: t.Mapping[str, JsonObject], source: str = "red", destination: str = "blue:80") -> JsonObject:
    """Join answers to one question after another, each by its node."""
    hosts = dict.fromkeys(host for given in answers for host in given)
    hostvars = {
        host: {f"answer{number}": given.get(host, {"skipped": True}) for number, given in enumerate(answers)}
        for host in hosts
    }
    return fleet_diagnosis(hostvars, list(hosts), ["answer0", "answer1", "answer2"], source, destination)


RED = answer(source=["10.85.1.2"])
SILENT = step("answer", "broken")
LEFT = answer(step("route"), SILENT, source=["10.85.1.2"], leaves=LEAVES)


def test_the_node_with_the_source_is_asked_again_with_the_address_that_another_node_has() -> None:
    way = join({"one": RED, "two": answer(to=[BLUE])})
    assert way["next"] == {"node": "one", "source": "red", "destination": BLUE, "sent": {}}


@pytest.mark.parametrize(("own", "chosen"), [("10.85.1.2", BLUE), ("fd00::9", BLUE6), ("", BLUE6)])
def test_the_address_is_one_of_the_family_that_the_source_has(own: str, chosen: str) -> None:
    way = join({"one": answer(source=[own]), "two": answer(to=[BLUE6, BLUE])})
    assert way["next"]["destination"] == chosen


def test_the_node_with_the_destination_is_asked_about_the_packet_as_it_left() -> None:
    expected = {"node": "two", "source": "198.18.0.2", "destination": BLUE}
    sent = {"source_port": 40000, "answer": "silent"}
    first = {"one": RED, "two": answer(to=[BLUE6, BLUE])}
    assert join(first, {"one": LEFT})["next"] == {**expected, "sent": sent}
    assert join({"one": LEFT, "two": answer(to=[BLUE])})["next"] == {**expected, "sent": sent}
    not_sent = {**LEFT, "answer": ""}
    assert join({"one": not_sent, "two": answer(to=[BLUE])})["next"] == {**expected, "sent": {}}


def test_what_is_broken_on_the_second_node_is_named_instead_of_the_missing_answer() -> None:
    way = join({"one": LEFT, "two": answer(to=[BLUE])}, {"two": answer(step("forwarding", "broken"))})
    assert [(each["node"], each["check"]) for each in way["steps"]] == [("one", "route"), ("two", "forwarding")]
    assert way["broken"] == way["steps"][-1]
    assert way["lines"] == [
        "one:",
        "-> node route  ok       route of it",
        "two:",
        "-> node forwarding  broken   forwarding of it",
        "   needed: 1",
        "   to mend: sysctl -w x=1",
        "red -> blue:80: broken on two in node: forwarding of it",
    ]
    assert way["next"]["node"] == ""


@pytest.mark.parametrize("last", [SILENT, step("answer"), step("firewall", "broken", "back")])
def test_what_the_first_node_says_of_the_answer_comes_last(last: JsonObject) -> None:
    reached: JsonObject = {"reached": True} if last["state"] == "ok" else {}
    first = answer(step("route"), last, source=["10.85.1.2"], leaves=LEAVES, **reached)
    way = join({"one": first, "two": answer(to=[BLUE])}, {"two": answer(step("listener"))})
    checks = [(each["node"], each["check"]) for each in way["steps"]]
    assert checks == [("one", "route"), ("two", "listener"), ("one", last["check"])]
    end = {"there": "", "back": ", on the way back"}[last["way"]]
    expected = "reached" if reached else f"broken on one in node{end}: {last['check']} of it"
    assert way["lines"][-1] == f"red -> blue:80: {expected}"


def test_the_lines_of_the_only_node_stay_as_they_are() -> None:
    way = join({"one": answer(step("route"), source=["10.85.1.2"])})
    assert (way["lines"], way["next"]["node"]) == (["the lines"], "")


def test_a_packet_from_outside_is_followed_on_the_node_that_has_its_destination() -> None:
    lost, here = answer(step("route", "broken")), answer(step("listener"), to=[BLUE])
    way = join({"one": lost, "two": here}, source="192.0.2.1")
    assert [each["node"] for each in way["steps"]] == ["two"]
    assert join({"one": lost}, source="192.0.2.1")["broken"]["check"] == "route"


def test_a_packet_that_leaves_for_an_address_of_two_nodes_is_followed_on_neither() -> None:
    way = join({"one": LEFT, "two": answer(to=[BLUE]), "three": answer(to=[BLUE])})
    assert way["next"]["node"] == ""
    assert f"{BLUE} is on two and three, so that the packet is followed on none of them" in way["lines"]
    assert way["broken"]["check"] == "answer"


@pytest.mark.parametrize(
    ("first", "source", "refusal"),
    [
        ({"one": answer(), "two": answer()}, "red", "no node has it; one: why not"),
        ({"one": answer()}, "red", "why not"),
        ({"one": RED, "two": answer()}, "red", "no node has it; one: why not"),
        ({"one": RED, "two": RED}, "red", "from: 'red' is on one and two; expected: an end that one node has"),
        (
            {"one": RED, **dict.fromkeys(("two", "three"), answer(to=[BLUE]))},
            "red",
            "to: 'blue:80' is on two and three;",
        ),
        ({"one": LEFT, "two": RED}, "red", "from: 'red' is on one and two"),
        (dict.fromkeys(("one", "two"), answer(step("route"))), "192.0.2.1", "no node has 192.0.2.1 or blue:80"),
        (
            dict.fromkeys(("one", "two"), answer(step("route"), to=[BLUE])),
            "192.0.2.1",
            "to: 'blue:80' is on one and two",
        ),
        ({}, "red", "no node has answered"),
    ],
)
def test_an_end_that_no_node_or_more_than_one_has_is_refused(
    first: dict[str, JsonObject], source: str, refusal: str
) -> None:
    way = join(first, source=source)
    assert way["refusal"].startswith(refusal)
    assert (way["next"]["node"], way["lines"]) == ("", [way["refusal"]])


def test_a_node_can_neither_name_another_destination_nor_control_the_terminal() -> None:
    template = answer(to=["{{ 7 }}:80/tcp", "10.85.2.2:80/tcp; reboot"])
    assert join({"one": RED, "two": template})["refusal"].startswith("no node has it")
    odd = answer({**step("route"), "found": "\x1b[2J"}, source=["10.85.1.2"])
    assert "\x1b" not in str(join({"one": odd, "two": answer()})["lines"])


@pytest.mark.parametrize(
    "odd", [{"steps": 1}, {"steps": [{}], "ends": {"from": ["x"], "to": []}}, {"steps": [], "ends": []}]
)
def test_a_result_of_another_form_is_an_error(odd: JsonObject) -> None:
    with pytest.raises(AnsibleFilterError, match=r"expected results of cni\.node\.diagnose"):
        join({"one": odd})
