# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The option `progress` of the module attachments: several remote calls with the result of a single call."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import re
import signal

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import (
    PlaybookRun,
    Project,
    task,
    thrice,
)
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import open_network
from ansible_collections.cni.node.tests.integration.ansible.test_attachments_check import ATTACHMENTS
from ansible_collections.cni.node.tests.integration.ansible.test_persist import NEEDS_SYSTEMD, item, paths
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import FILES
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import namespace, namespaces
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

NAMES = ("red", "blue", "green")
# One container per call.
EACH: JsonObject = {"workers": 1, "progress": 0.0001}


def progress_lines(played: PlaybookRun) -> list[str]:
    """Return the progress lines without durations."""
    lines = re.findall(r"^\[node\] attachments: (.+)$", played.output, re.MULTILINE)
    return [re.sub(r"\d+(\.\d+)?(/s| s\b)", r"#\2", line) for line in lines]


def calls(played: PlaybookRun) -> int:
    """Return the number of remote calls of a play with -vvv."""
    return played.output.count("Using module file")


def test_a_long_batch_shows_progress_and_has_the_result_of_a_single_call(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    args: JsonObject = {"capability_args": {"bandwidth": {}}}
    items = [
        {**item("red"), **args},
        item("blue"),
        item("nowhere"),
        item("red", ifname="eth1"),
        {**item("green", ifname="eth1"), "network": "none"},
        item("green"),
    ]
    with namespaces(*NAMES):
        played = {}
        for name, options in (("one", {**EACH, "progress": 0}), ("several", EACH)):
            node.attach(item("old", netns="red", container_id="old"), item("older", netns="red", container_id="older"))
            given = {"attachments": items, "purge": True, **options}
            played[name] = project.play([task("attach", ATTACHMENTS, given)], "-vvv", "--diff")
            node.run("attachments", attachments=[], purge=True).succeeded()
    single, several = (played[name]["attach"] for name in ("one", "several"))
    assert (calls(played["one"]), progress_lines(played["one"])) == (1, [])
    assert (calls(played["several"]), len(progress_lines(played["several"]))) == (6, 5)
    assert progress_lines(played["several"])[0] == "2 of 8, #/s, slowest lab-lab # s"
    assert progress_lines(played["several"])[2] == "4 of 8, 1 failed, #/s, slowest lab-lab # s"
    assert several.plan() == single.plan()
    assert several.warnings == single.warnings
    # Not every ansible-core prints the module's arguments.
    asked = [done.result.get("invocation", {}).get("module_args", {}) for done in (single, several)]
    assert asked[0].keys() == asked[1].keys()
    assert "_controller" not in asked[0]
    assert [(entry["container_id"], entry["action"]) for entry in several.entries[-2:]] == [
        ("old", "removed"),
        ("older", "removed"),
    ]
    several.require_failure("attachments: 4 added, 2 failed, 2 removed; ")


def test_a_short_batch_takes_one_call_and_shows_no_progress(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    items = [item("red", container_id=f"c{number}") for number in range(100)]
    with namespace("red"):
        node.attach(*items, check="never")
        given = {"attachments": items, "progress": 300}
        again = project.play([task("again", ATTACHMENTS, given)], "-vvv").succeeded()
    assert again["again"].require_no_change().result["summary"] == {"checked": 100}
    assert (calls(again), progress_lines(again)) == (1, [])


def test_check_mode_predicts_a_long_batch_and_a_second_run_changes_nothing(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    items = [item(name) for name in NAMES]
    with namespaces(*NAMES):
        node.attach(item("old", netns="red", container_id="old"))
        given = {"attachments": items, "purge": True, **EACH}
        played = project.play(
            thrice("attach", ATTACHMENTS, given, vars={"ansible_pipelining": True}), "--diff"
        ).succeeded()
    assert played.require_converged("attach").actions() == {**dict.fromkeys(NAMES, "added"), "old": "removed"}
    assert len(progress_lines(played)) == 3 + 3 + 2


@NEEDS_SYSTEMD
def test_a_long_batch_installs_the_boot_files_once(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    lasting = {"attachments": [item("red", persist=True), item("blue"), item("green")], **EACH}
    plain = {"attachments": [item("red"), item("blue"), item("green", persist=True)], **EACH}
    off = {"attachments": [item(name) for name in NAMES], **EACH}
    with namespaces(*NAMES):
        played = project.play(
            [
                task
                for name, given in (("on", lasting), ("other", plain), ("off", off))
                for task in thrice(name, ATTACHMENTS, given)
            ],
            "--diff",
        ).succeeded()
    assert played.require_converged("on").result["files"] == paths(*((path, "created") for path in FILES))
    assert "files for restoration at boot: 2 created" in played["on"].msg
    assert played.require_converged("other").result["files"] == []
    assert played.require_converged("off").result["files"] == paths(*((path, "removed") for path in reversed(FILES)))


def test_finished_items_are_reported_if_a_call_is_lost(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    open_network(node, "slow")
    items = [item("red"), item("blue", network="slow"), item("green")]
    with namespaces(*NAMES), concurrent.futures.ThreadPoolExecutor() as pool:
        with node.plugins.gate() as gate:
            node.plugins.write("lab-slow", ADD=ScriptedAnswer(hold=gate))
            playing = pool.submit(project.play, [task("attach", ATTACHMENTS, {"attachments": items, **EACH})])
            (held,) = node.plugins.wait_for_held(1, 120)
            os.kill(_parent(held.pid), signal.SIGKILL)
        lost = playing.result()["attach"]
        assert lost.actions() == {"red": "added"}
        assert lost.changed
        lost.require_failure("\nbefore that, of 3 attachments: 1 added; ")
        node.plugins.write("lab-slow")
        again = project.play([task("again", ATTACHMENTS, {"attachments": items})]).succeeded()["again"]
    assert again.actions() == {"red": "checked", "blue": "recreated", "green": "added"}


def test_no_log_hides_the_names_of_plugins(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    with namespaces(*NAMES):
        given = {"attachments": [item(name) for name in NAMES[:2]]}
        attach = task("attach", ATTACHMENTS, given, no_log=True)
        played = project.play([attach], module_defaults={ATTACHMENTS: EACH}).succeeded()
    assert progress_lines(played) == ["1 of 2, #/s"]


def test_an_async_task_takes_one_call(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    with namespaces(*NAMES):
        given = {"attachments": [item(name) for name in NAMES], **EACH}
        played = project.play([task("attach", ATTACHMENTS, given, **{"async": 60, "poll": 1})]).succeeded()
    assert played["attach"].result["summary"] == {"added": 3}
    assert progress_lines(played) == []


def _parent(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    return int(status.rpartition(")")[2].split()[1])
