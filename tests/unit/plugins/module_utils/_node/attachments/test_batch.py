# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many attachments at once: each has its own result, and only attachments of the same container wait for each other."""

from __future__ import annotations

import json
import mmap
import os
import signal
import threading
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import find_unlisted, reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.checker import Checker
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Check, DesiredAttachment, Policy
from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import AttachmentDrift
from ansible_collections.cni.node.tests.support.until import until
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import MemoryCall
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import MakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import (
    FakeNode,
    return_address,
)

NAMES = ("one", "two", "three", "four")
# Enough containers to be shared between two processes.
MANY = tuple(f"c{number}" for number in range(32))
# Enough to be compared with the kernel by two processes.
VERY_MANY = tuple(f"c{number}" for number in range(80))


def _desire(node: FakeNode, *containers: str, **keys: t.Any) -> list[DesiredAttachment]:
    for container in containers:
        node.make_namespace(container)
    return [DesiredAttachment(node.attachment(container, **keys)) for container in containers]


def test_a_failed_attachment_does_not_stop_the_others(make_node: MakeNode) -> None:
    node = make_node(
        b=lambda call: CniError(100, "no") if call.attachment and call.attachment.container_id == "two" else None
    )
    outcomes = node.converge(*_desire(node, *NAMES), DesiredAttachment(node.attachment("nobody")), workers=2)
    assert [outcome.attachment.container_id for outcome in outcomes] == [*NAMES, "nobody"]
    assert [outcome.action for outcome in outcomes] == ["added", "failed", "added", "added", "failed"]


def _breaks(call: MemoryCall) -> JsonObject | None:
    if call.command == "ADD" and call.attachment and call.attachment.container_id == "two":
        raise ValueError("no\nclosing quotation")
    return None


def test_an_unexpected_exception_is_the_error_of_its_attachment(make_node: MakeNode) -> None:
    node = make_node(b=_breaks)
    outcomes = node.converge(*_desire(node, *NAMES), workers=2)
    assert [outcome.action for outcome in outcomes] == ["added", "failed", "added", "added"]
    error = outcomes[1].error
    assert error is not None
    assert (error.code, error.msg) == (Code.INTERNAL, "unexpected ValueError: no\nclosing quotation")
    assert error.details.startswith("in _breaks, test_batch.py:")


def test_an_unexpected_exception_in_a_roll_back_is_reported_with_the_first_error(make_node: MakeNode) -> None:
    added: list[str] = []

    def works_once(call: MemoryCall) -> JsonObject | CniError | None:
        if call.command == "ADD" and call.attachment:
            added.append(call.attachment.network)
            if added.count("net") > 1:
                raise ValueError("return")
            if added[-1] == "other":
                return CniError(100, "no")
        return None

    node = make_node(b=works_once)
    node.write("other")
    (old,) = _desire(node, "one")
    node.converge(old, check="never")
    desired = [old._replace(present=False), DesiredAttachment(node.attachment("one", network="other"))]
    removed, failed = node.converge(*desired, check="never")
    assert (removed.action, failed.action, failed.error and failed.error.code) == ("removed", "failed", 100)
    assert "could not be added again as it was before: unexpected ValueError: return; in works_once, " in str(
        failed.error
    )


def test_an_invalid_item_has_a_failed_result(node: FakeNode) -> None:
    good, bad = _desire(node, "one", "two")
    problem = CniError(4, "not like this")
    outcomes = node.converge(
        DesiredAttachment(bad.attachment, problem=problem), good, DesiredAttachment(node.attachment("../x"))
    )
    assert [outcome.action for outcome in outcomes] == ["failed", "added", "failed"]
    assert outcomes[0].error is problem
    assert node.executor.run("ADD") == [("ADD", "a"), ("ADD", "b")]


def test_containers_are_reconciled_concurrently(make_node: MakeNode) -> None:
    together = threading.Barrier(len(NAMES))

    def waits_for_the_others(call: MemoryCall) -> JsonObject | None:
        if call.command == "ADD":
            together.wait(timeout=60)
        return return_address(call)

    node = make_node(a=waits_for_the_others)
    outcomes = node.converge(*_desire(node, *NAMES), workers=len(NAMES))
    assert [outcome.error for outcome in outcomes] == [None] * len(NAMES)


@pytest.mark.parametrize(("workers", "containers"), [(1, NAMES), (4, NAMES[:1])], ids=["one worker", "one container"])
def test_one_worker_reconciles_one_container_at_a_time(
    make_node: MakeNode, workers: int, containers: tuple[str, ...]
) -> None:
    threads = []

    def remembers_its_thread(call: MemoryCall) -> JsonObject | None:
        threads.append(threading.get_ident())
        return return_address(call)

    node = make_node(a=remembers_its_thread)
    more = [DesiredAttachment(node.attachment("one", ifname=f"eth{number}")) for number in range(1, 4)]
    outcomes = node.converge(*_desire(node, *containers), *more, workers=workers)
    assert {outcome.action for outcome in outcomes} == {"added"}
    assert len(threads) >= 2 * len(outcomes)
    assert len(set(threads)) == 1


def test_one_worker_commits_several_containers_together(make_node: MakeNode) -> None:
    groups: list[int] = []

    def commit(items: t.Sequence[str]) -> dict[int, Exception]:
        groups.append(len(items))
        return {}

    commits = GroupCommit(commit)

    def writes_rules(call: MemoryCall) -> JsonObject | None:
        commits.submit(call.command)
        return return_address(call)

    node = make_node(b=writes_rules)
    outcomes = node.converge(*_desire(node, *NAMES), workers=1, check="never")
    assert {outcome.action for outcome in outcomes} == {"added"}
    assert sum(groups) == len(NAMES)
    assert max(groups) > 1


def test_after_the_time_limit_only_the_first_container_is_started(node: FakeNode) -> None:
    more = [
        DesiredAttachment(node.attachment("one", ifname="eth1")),
        DesiredAttachment(node.attachment("two", ifname="eth1")),
    ]
    desired = [*_desire(node, *NAMES), *more]
    outcomes = node.converge(*desired, until=0)
    assert [outcome.attachment.key for outcome in outcomes] == [desired[0].attachment.key, more[0].attachment.key]
    assert node.converge(*desired, until=0, check="never")[0].action == "unchanged"
    assert {outcome.action for outcome in node.converge(*desired)} == {"checked", "added"}


def test_unchanged_attachments_are_reported_after_the_time_limit(node: FakeNode) -> None:
    desired = _desire(node, *NAMES)
    node.converge(*desired)
    assert [outcome.action for outcome in node.converge(*desired, until=0, check="never")] == ["unchanged"] * len(NAMES)


def test_an_empty_list_does_nothing(node: FakeNode) -> None:
    assert node.converge() == []


def test_unlisted_attachments_of_this_collection_are_returned_as_absent(node: FakeNode) -> None:
    desired = _desire(node, "kept", "dropped", "begun", "foreign")
    node.converge(*desired)
    records, intents = node.cache_dir / "results", node.intent_file().parent
    begun = json.loads((records / "net-begun-eth0").read_text(encoding="utf-8"))
    begun["cni.node"]["command"] = "ADD"
    (records / "net-begun-eth0").unlink()
    (intents / "net-begun-eth0").write_text(json.dumps(begun), encoding="utf-8")
    foreign = json.loads((records / "net-foreign-eth0").read_text(encoding="utf-8"))
    del foreign["cni.node"]
    (records / "net-foreign-eth0").write_text(json.dumps(foreign), encoding="utf-8")
    (records / "net-broken-eth0").write_bytes(b"")
    dropped, unknown = find_unlisted(node.runtime(), [desired[0]])
    assert sorted(unlisted.attachment.container_id for unlisted in dropped) == ["begun", "dropped"]
    assert not any(unlisted.present for unlisted in dropped)
    assert ["net-broken-eth0" in str(error) for error in unknown] == [True]
    assert {outcome.action for outcome in node.converge(*dropped)} == {"removed"}
    assert find_unlisted(node.runtime(), [desired[0]])[0] == []
    assert (records / "net-foreign-eth0").exists()


def test_the_fast_path_needs_no_lock(node: FakeNode) -> None:
    desired = _desire(node, *NAMES)
    node.converge(*desired)
    runtime = node.runtime()
    with runtime.exclusion.lock_attachment(desired[0].attachment):
        outcomes = node.converge(*desired, check="never")
    assert {outcome.action for outcome in outcomes} == {"unchanged"}
    assert outcomes[0].result is not None


@pytest.mark.parametrize("check", ["always", "drift"])
def test_an_attachment_is_compared_after_another_one_of_its_container_was_removed(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    (kept,) = _desire(node, "one")
    removed = DesiredAttachment(node.attachment("one", ifname="eth1"))
    node.converge(kept, removed, check="never")
    node.executor.builtin.update(("a", "b"))
    order: list[str] = []
    compare, execute = Checker.compare, node.executor.execute

    def note_comparison(checker: Checker, record: Record, **options: bool) -> AttachmentDrift:
        order.append(f"compare {record.attachment.ifname}")
        return compare(checker, record, **options)

    def note_call(plugin_type: str, request: bytes, parameters: Parameters) -> bytes:
        order.append(parameters.command)
        return execute(plugin_type, request, parameters)

    monkeypatch.setattr(Checker, "compare", note_comparison)
    monkeypatch.setattr(node.executor, "execute", note_call)
    outcomes = node.converge(kept, removed._replace(present=False), check=check)
    assert [outcome.action for outcome in outcomes] == ["checked" if check == "always" else "unchanged", "removed"]
    assert order[order.index("DEL") :].count("compare eth0") == 1


def test_an_attachment_with_an_intent_is_locked_and_reconciled(node: FakeNode) -> None:
    (desired,) = _desire(node, "one")
    node.converge(desired)
    runtime = node.runtime(lock_timeout=0.05)
    record = runtime.records.read(desired.attachment.key)
    assert record is not None
    with node.runtime().exclusion.lock_attachment(desired.attachment):
        runtime.intents.write(record._replace(command="ADD"))
        reconciler = Reconciler(runtime, conf_dir.load(str(node.conf_dir)), Policy(check=Check.NEVER))
        (outcome,) = reconcile_all(reconciler, [desired], 1)
        assert (outcome.action, outcome.error and outcome.error.code) == ("failed", Code.TRY_AGAIN)
        assert runtime.intents.read(desired.attachment.key) is not None


RACES = {
    "portmap": "running [iptables -t nat -N CNI-HOSTPORT-DNAT]: iptables: Chain already exists.",
    "firewall": "exec: nft: chain CNI-FORWARD: File exists",
    "bridge": "failed to set bridge addr: could not set bridge's mac: invalid argument",
}


@pytest.mark.parametrize("plugin", RACES)
def test_an_add_that_may_succeed_now_is_repeated(make_node: MakeNode, plugin: str) -> None:
    failures = [CniError(999, f"plugin {plugin} failed (ADD): {RACES[plugin]}")] * 2

    def loses_twice(call: MemoryCall) -> JsonObject | None:
        if call.command == "ADD" and failures:
            raise failures.pop()
        return None

    node = make_node(b=loses_twice)
    (outcome,) = node.converge(*_desire(node, "one"))
    assert (outcome.action, outcome.error) == ("added", None)
    assert node.commands() == ["ADD", "DEL", "ADD", "DEL", "ADD", "CHECK"]


def test_an_add_fails_after_the_last_repetition(make_node: MakeNode) -> None:
    def loses(call: MemoryCall) -> JsonObject | None:
        if call.command == "ADD":
            raise CniError(999, f"plugin portmap failed (ADD): {RACES['portmap']}")
        return None

    node = make_node(b=loses)
    (outcome,) = node.converge(*_desire(node, "one"))
    assert (outcome.action, node.commands()) == ("failed", ["ADD", "DEL"] * 4)


class Notes(list[int]):
    """The processes in which plugins have run. The first one waits until another one has taken its first turn."""

    def __init__(self, noted: t.Iterable[int] = ()) -> None:
        super().__init__(noted)
        self._own, self._others = os.getpid(), mmap.mmap(-1, 1)

    def take(self) -> list[int]:
        taken = list(self)
        self.clear()
        return taken

    def merge(self, taken: t.Iterable[int]) -> None:
        self.extend(taken)

    def note(self, call: MemoryCall) -> JsonObject | None:
        self.append(os.getpid())
        if os.getpid() != self._own:
            self._others[0] = 1
        elif _has_child():
            until(lambda: self._others[0] or None, 30)
        return return_address(call)


def _has_child() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


@pytest.fixture
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda dummy: {0, 1})


@pytest.mark.usefixtures("two_cpus")
def test_many_containers_are_shared_among_processes_and_all_is_reported(make_node: MakeNode) -> None:
    notes = Notes([0])
    node = make_node(a=notes.note)
    desired = _desire(node, *MANY)
    outcomes = node.converge(*desired, journals=[notes])
    assert [(outcome.attachment, outcome.action) for outcome in outcomes] == [
        (item.attachment, "added") for item in desired
    ]
    first, *others = notes
    assert (first, len(set(others)), os.getpid() in others) == (0, 2, True)


@pytest.mark.usefixtures("two_cpus")
def test_very_many_containers_are_compared_in_processes_after_the_first_one(make_node: MakeNode) -> None:
    notes = Notes()
    node = make_node(a=notes.note)
    desired = _desire(node, *VERY_MANY)
    node.converge(*desired, journals=[notes], check="never")
    notes.clear()
    node.executor.builtin.update(("a", "b"))
    outcomes = node.converge(*desired, journals=[notes])
    assert [(outcome.attachment, outcome.action) for outcome in outcomes] == [
        (item.attachment, "checked") for item in desired
    ]
    assert (notes[0], len(notes), len(set(notes))) == (os.getpid(), len(VERY_MANY), 2)


@pytest.mark.usefixtures("two_cpus")
@pytest.mark.parametrize(("builtin", "processes"), [(("a", "b"), 1), (("b",), 2)])
def test_containers_that_are_only_compared_with_the_kernel_stay_in_one_process(
    make_node: MakeNode, builtin: tuple[str, ...], processes: int
) -> None:
    notes = Notes()
    node = make_node(a=notes.note)
    desired = _desire(node, *MANY)
    node.converge(*desired, journals=[notes], check="never")
    notes.clear()
    node.executor.builtin.update(builtin)
    outcomes = node.converge(*desired, journals=[notes])
    assert {outcome.action for outcome in outcomes} == {"checked"}
    assert len(set(notes)) == processes


@pytest.mark.usefixtures("two_cpus")
def test_a_process_that_is_killed_fails_what_it_has_taken_and_the_next_run_completes_it(make_node: MakeNode) -> None:
    parent, lives = os.getpid(), list[bool]()

    def kills_the_other_process(call: MemoryCall) -> JsonObject | None:
        if os.getpid() != parent and not lives:
            os.kill(os.getpid(), signal.SIGKILL)
        if not lives:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return return_address(call)

    node = make_node(a=kills_the_other_process)
    desired = _desire(node, *MANY)
    outcomes = node.converge(*desired, journals=[])
    assert {outcome.action for outcome in outcomes} == {"added", "failed"}
    assert {str(outcome.error) for outcome in outcomes if outcome.error} == {
        "a process of this run ended early: SIGKILL; run again: what it had begun is completed"
    }
    lives.append(True)
    completed = node.converge(*desired, journals=[], check="never")
    assert {after.action for before, after in zip(outcomes, completed) if not before.error} == {"unchanged"}
    assert {after.action for before, after in zip(outcomes, completed) if before.error} <= {"added", "recreated"}


@pytest.mark.usefixtures("two_cpus")
def test_attachments_whose_files_have_the_same_name_stay_in_one_process(make_node: MakeNode) -> None:
    notes = Notes()
    node = make_node(a=notes.note)
    node.write("net-one")
    node.make_namespace("one-two")
    same = [
        DesiredAttachment(node.attachment("one-two")),
        DesiredAttachment(node.attachment("two", network="net-one", netns=node.attachment("one-two").netns)),
    ]
    node.converge(*same, *_desire(node, *MANY), journals=[notes])
    assert set(notes) == {os.getpid()}
