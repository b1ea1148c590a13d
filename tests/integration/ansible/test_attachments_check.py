# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module attachments: when CHECK runs, and the consequences of a failed CHECK."""

from __future__ import annotations

import itertools
import json

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import COMPLAINS, WORKS, open_network
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode

ATTACHMENTS = "cni.node.attachments"
CHECKS, DRIFTS = ("always", "changed", "never"), ("recreate", "fail", "report")
ERROR = "plugin lab-{} failed (CHECK): not as it was; the cable is out"


def _options(name: str) -> JsonObject:
    check, on_drift = name.split("-")
    return {"attachments": [{"network": name, "netns": name}], "check": check, "on_drift": on_drift}


def _outcome(done: TaskRun) -> tuple[str, str, bool]:
    (entry,) = done.entries
    return done.status, entry["action"], entry["changed"]


def _calls(node: EngineNode, name: str) -> list[str]:
    return [call.command for call in node.plugins.calls(f"lab-{name}") if call.command != "VERSION"]


def test_a_failed_check_of_an_existing_attachment(node: EngineNode, project: Project) -> None:
    """CHECK fails twice: in check mode and in the run that follows."""
    always, others = [f"always-{drift}" for drift in DRIFTS], [f"{check}-fail" for check in CHECKS[1:]]
    for name in (*always, *others):
        open_network(node, name, CHECK=[COMPLAINS, COMPLAINS, WORKS])
    items = [{"network": name, "netns": name} for name in (*always, *others)]
    played = project.play(
        [
            task("namespaces", "cni.node.netns", {"names": [*always, *others]}),
            task("attach", ATTACHMENTS, {"attachments": items, "check": "never"}),
            *(step for name in always for step in thrice(name, ATTACHMENTS, _options(name))),
            *(task(name, ATTACHMENTS, _options(name)) for name in others),
        ]
    )
    recreated, failed, reported = (played.require_converged(name) for name in always)
    assert [_outcome(done) for done in (recreated, failed, reported)] == [
        ("ok", "recreated", True),
        ("failed", "failed", False),
        ("ok", "checked", False),
    ]
    assert recreated.entries[0]["reason"] == f"CHECK failed: {_error('always-recreate')}"
    assert recreated.entries[0]["error"] is None
    for done, name in ((failed, "always-fail"), (reported, "always-report")):
        error = done.entries[0]["error"]
        assert (error["code"], error["msg"]) == (123, f"plugin lab-{name} failed (CHECK): not as it was")
    assert failed.timeless == (
        f"attachments: 1 failed\nattachment of always-fail (eth0) to network always-fail: {_error('always-fail')}"
    )
    assert _calls(node, "always-recreate") == ["ADD", "CHECK", "CHECK", "DEL", "ADD", "CHECK", "CHECK"]
    assert _calls(node, "always-fail") == _calls(node, "always-report") == ["ADD", "CHECK", "CHECK", "CHECK"]
    for name in others:
        assert _outcome(played[name].require_no_change()) == ("ok", "unchanged", False)
        assert _calls(node, name) == ["ADD"]


def test_a_failed_check_right_after_add(node: EngineNode, project: Project) -> None:
    names = [f"{check}-{drift}" for check, drift in itertools.product(CHECKS, DRIFTS)]
    for name in names:
        open_network(node, name, CHECK=COMPLAINS)
    make = task("namespaces", "cni.node.netns", {"names": names})
    played = project.play([make, *(task(name, ATTACHMENTS, _options(name)) for name in names)])
    for name in names:
        check, on_drift = name.split("-")
        (entry,) = played[name].entries
        if check == "never":
            assert _outcome(played[name].ok()) == ("ok", "added", True)
            assert (entry["error"], _calls(node, name)) == (None, ["ADD"])
            continue
        assert entry["error"]["code"] == 123
        assert _calls(node, name) == ["ADD", "CHECK"]
        if on_drift == "report":
            assert _outcome(played[name]) == ("ok", "added", True)
        else:
            assert _outcome(played[name])[:2] == ("failed", "failed")
            played[name].require_failure(
                "CHECK fails right after ADD, so recreating the attachment will not help: ", "the cable is out"
            )


def test_check_is_skipped_if_disabled_or_unknown_to_the_version(node: EngineNode, project: Project) -> None:
    open_network(node, "disabled", CHECK=COMPLAINS)
    node.write({**_read_conflist(node, "disabled"), "disableCheck": True})
    open_network(node, "older", CHECK=COMPLAINS)
    node.write({**_read_conflist(node, "older"), "cniVersion": "0.3.1"})
    arguments = {"attachments": [{"network": name, "netns": name} for name in ("disabled", "older")]}
    make = task("namespaces", "cni.node.netns", {"names": ["disabled", "older"]})
    done = project.play([make, *thrice("attach", ATTACHMENTS, arguments)]).require_converged("attach")
    assert done.actions() == {"disabled": "added", "older": "added"}
    assert node.plugins.calls(command="CHECK") == []


def _error(name: str) -> str:
    path = f"/opt/cni/bin/lab-{name}"
    return f"plugin lab-{name} failed (CHECK): not as it was; the cable is out\nCHECK by {path}: exit status 1"


def _read_conflist(node: EngineNode, name: str) -> JsonObject:
    return dict(json.loads((node.conf_dir / f"10-{name}.conflist").read_text(encoding="utf-8")))
