# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of the module repair: what was repaired, what is left, and why."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._linux.links import traffic_control
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.repair.recorded_node import (
    FORWARDING,
    RecordedNode,
)
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner, outcome

NO_FORWARDING = f"{FORWARDING} of the node is 0, not 1"
FAILURE = CniError(Code.IO_FAILURE, "iptables-restore failed", "no such target")


class RepairedNode(RecordedNode):
    """A recorded node whose attachments the module repair finds in the cache dir of the test."""

    def __init__(self, run: ModuleRunner, directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
        super().__init__(directory, monkeypatch, case)
        self._run, self.cache_dir = run, str(directory / "cache")
        for record in self.records:
            RecordStore.of_records(self.cache_dir).write(record)

    def run_module(self, **options: t.Any) -> ModuleExit:
        return self._run("repair", cache_dir=self.cache_dir, **options)


MakeNode = t.Callable[[str], RepairedNode]


@pytest.fixture
def make_node(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: pathlib.Path,
    program_dir: pathlib.Path,
) -> MakeNode:
    run = ModuleRunner(monkeypatch, capsys, tmp_path)
    return lambda case: RepairedNode(run, tmp_path, monkeypatch, case)


@pytest.fixture
def node(make_node: MakeNode) -> RepairedNode:
    return make_node("bridge/ipmasq-iptables")


def entry(done: ModuleExit) -> JsonObject:
    (only,) = done.result["attachments"]
    return t.cast(JsonObject, only)


def test_an_attachment_without_drift_is_counted_and_not_listed(node: RepairedNode) -> None:
    done = node.run_module().ok()
    assert (done["attachments"], done["summary"], done["changed"]) == ([], {"unchanged": 1}, False)
    assert done["msg"] == "attachments: 1 unchanged"


def test_a_repaired_attachment_has_its_drift_and_changes(node: RepairedNode) -> None:
    node.lose_forwarding()
    done = node.run_module()
    assert (
        entry(done).items()
        >= {
            "action": "repaired",
            "changed": True,
            "own": True,
            "drift": [NO_FORWARDING],
            "left": [],
            "changes": [f"repaired: {NO_FORWARDING}"],
            "reason": "",
            "error": None,
        }.items()
    )
    result = done.ok()
    assert (result["changed"], result["summary"], result["msg"]) == (True, {"repaired": 1}, "attachments: 1 repaired")
    assert result["diff"]["after"] == {str(node.records[0].attachment): entry(done)["changes"]}


def test_an_attachment_that_keeps_some_drift_is_drifted_although_something_was_repaired(node: RepairedNode) -> None:
    node.lose_forwarding()
    node.lose_rules()
    done = node.run_module(resources=["interfaces"])
    assert (entry(done)["action"], entry(done)["changed"], done.ok()["changed"]) == ("drifted", True, True)
    assert entry(done)["left"] == [message for message in entry(done)["drift"] if message != NO_FORWARDING]


def test_reported_drift_does_not_count_as_a_change(node: RepairedNode) -> None:
    node.lose_rules()
    done = node.run_module(resources=["interfaces"])
    assert (entry(done)["action"], done.ok()["changed"], done.result["diff"]["after"]) == ("drifted", False, {})


def test_rules_that_cannot_be_listed_are_a_reason_and_not_drift(node: RepairedNode) -> None:
    node.firewall.list_error = FAILURE
    done = node.run_module()
    assert (entry(done)["action"], done.ok()["changed"]) == ("skipped", False)
    assert entry(done)["reason"] == f"its rules cannot be compared: {FAILURE}"


def test_a_rule_that_cannot_be_written_fails_the_module_which_still_reports_all(node: RepairedNode) -> None:
    node.lose_forwarding()
    node.lose_rules()
    node.firewall.write_error = "", FAILURE
    done = node.run_module()
    assert (done.status, done.result["failed"], done.result["changed"]) == (1, True, True)
    assert (entry(done)["action"], entry(done)["error"]) == ("failed", FAILURE.as_dict())
    assert entry(done)["changes"] == [f"repaired: {NO_FORWARDING}"]
    assert done.result["msg"] == f"attachments: 1 failed\n{node.records[0].attachment}: {FAILURE}"


def test_a_missing_library_is_named_with_the_package_that_has_it(
    make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traffic_control, "is_available", lambda: False)
    node = make_node("bandwidth/both")
    assert node.run_module().ok()["missing_libraries"] == []
    node.kernel.drop("host", "tc", lambda line: "qdisc" in line)
    done = node.run_module()
    assert (entry(done)["action"], done.ok()["missing_libraries"]) == ("drifted", ["pyroute2"])
    assert "install the package python3-pyroute2" in done.result["msg"]


@pytest.mark.parametrize("resources", [["rules"], ["interfaces"], ["rules", "interfaces"], []], ids="+".join)
def test_check_mode_predicts_the_result_of_the_module(node: RepairedNode, resources: list[str]) -> None:
    for lose in (node.lose_forwarding, node.lose_rules, node.lose_lease, node.lose_link):
        lose()
    predicted = node.run_module(resources=resources, check_mode=True).ok()
    assert outcome(predicted) == outcome(node.run_module(resources=resources).ok())
    if len(resources) == 2:
        assert predicted["msg"] == "attachments: 1 would be repaired"
