# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module netns."""

from __future__ import annotations

import pathlib

from ansible_collections.cni.node.tests.integration.ansible.playing import Project, task, thrice
from ansible_collections.cni.node.tests.support.namespaces import links

NETNS = "cni.node.netns"


def test_namespaces_come_and_go(project: Project) -> None:
    played = project.play(
        [
            *thrice("make", NETNS, {"names": ["red", "blue", "red"]}),
            task("make one more", NETNS, {"names": ["blue", "green"], "state": "present"}),
            *thrice("remove", NETNS, {"names": ["red", "nobody", "green"], "state": "absent"}),
        ],
        "--diff",
    ).succeeded()
    made = played.settled("make")
    assert (made.msg, made.result["changed_names"]) == ("2 of 2 network namespaces made", ["red", "blue"])
    assert made.result["diff"] == {"before": {"names": []}, "after": {"names": ["blue", "red"]}}
    assert played["make one more"].ok().result["changed_names"] == ["green"]
    removed = played.settled("remove")
    assert (removed.msg, removed.result["changed_names"]) == ("2 of 3 network namespaces removed", ["red", "green"])
    assert removed.after.sections["namespaces"] == ["blue"]
    for line in ('+        "red"', '-        "red"'):
        assert played.output.splitlines().count(line) == 2, played.output
    assert {name: link["operstate"] for name, link in links("blue").items()} == {"lo": "DOWN"}


def test_what_an_interrupted_run_left_behind_is_taken_over_or_removed(project: Project) -> None:
    directory = pathlib.Path("/run/netns")
    directory.mkdir()
    for name in ("red", "blue"):
        (directory / name).touch()
    tasks = [
        task("make", NETNS, {"names": ["red"]}),
        task("remove", NETNS, {"names": ["blue"], "state": "absent"}),
    ]
    played = project.play(tasks)
    assert played["make"].ok().result["changed_names"] == ["red"]
    assert played["remove"].ok().result["changed_names"] == ["blue"]
    assert list(links("red")) == ["lo"]


def test_a_name_that_is_none_is_refused_before_anything_is_made(project: Project) -> None:
    tasks = [task(name, NETNS, {"names": ["good", name]}) for name in ("a b",)]
    tasks.append(task("..", NETNS, {"names": ["good", ".."], "state": "absent"}))
    for one in project.play(tasks).tasks:
        one.did_nothing().failed(f"{one.name!r} is no name of a network namespace; expected: ")
        assert one.result["error"]["code"] == 4
