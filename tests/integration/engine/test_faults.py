# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a fault at any boundary of a run, the next run leaves the node as a run without a fault does.

The inner ring injects faults at a sample of the boundaries, the outer ring at each one.
"""

from __future__ import annotations

import itertools
import logging
import signal
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.engine.boot_restoration import REQUIRES_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.faults import FILES, PROCESSES, Fault
from ansible_collections.cni.node.tests.integration.engine.forks import Forks, Run
from ansible_collections.cni.node.tests.integration.engine.situations import (
    Add,
    AddPersistent,
    ChangedNetwork,
    Collect,
    Delete,
    DeleteLost,
    DeletePersistent,
    Purge,
    Repair,
    Situation,
    Verify,
    state_of,
)
from ansible_collections.cni.node.tests.support import libraries, ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.state import State

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

LOG = logging.getLogger(__name__)  # `--log-cli-level=INFO` shows the number of faults
# No program reads them, and gc removes them.
UNFINISHED = r"\.cni\.node-\w+\.tmp"
DISKS = {"full for a moment": ("ENOSPC", False), "read-only from then on": ("EROFS", True)}
SAMPLED = 8  # the inner ring takes one of so many boundaries
PROBLEMS = {"ENOSPC": "No space left on device", "EROFS": "Read-only file system"}


EXECUTABLES, BUILTIN = "never", "always"


def situations(*kinds: type[Situation], modes: t.Sequence[str] = (EXECUTABLES, BUILTIN)) -> pytest.MarkDecorator:
    """Return the parameters of a test: situations with executables, and with built-in plugins.

    The inner ring has each situation in one mode.
    """
    repetition = pytest.mark.outer("repetition: the inner ring takes one mode of each situation")
    parameters = [
        pytest.param(kind, mode, marks=repetition if (number + place + ring.SEED) % len(modes) else ())
        for place, mode in enumerate(modes)
        for number, kind in enumerate(kinds)
    ]
    return pytest.mark.parametrize(("kind", "node"), parameters, indirect=["node"])


every_situation = situations(Add, Delete, DeleteLost, Purge, ChangedNetwork, Collect, Verify)
# No error is injected into executables. With built-in plugins, the same files are written, and theirs.
writing = situations(Add, Delete, DeleteLost, ChangedNetwork, Collect, Verify, modes=[BUILTIN])
persistent = pytest.mark.parametrize("kind", [AddPersistent, DeletePersistent])
add_or_delete = situations(Add, Delete)


class Trial:
    """A repeated situation, and the node's state after a run without a fault."""

    def __init__(self, situation: Situation, forks: Forks) -> None:
        self._situation, self._forks = situation, forks
        for dummy in range(2):  # the first run leaves a bridge and empty chains, which stay by design
            situation.prepare()
            self._run().require_result().succeeded()
        self._expected_state = self._state()

    def _run(self, fault: Fault | None = None, *, heard: bool = True) -> Run:
        arguments = self._situation.node.complete(self._situation.module, self._situation.arguments)
        return self._forks.run(self._situation.module, arguments, fault, heard=heard)

    def _state(self) -> State:
        state = state_of(self._situation)
        return state if self._situation.module == "gc" else state.without(UNFINISHED)

    def inject_each(self, kind: str, **options: t.Any) -> list[str]:
        """Inject the fault at one boundary after another, each followed by a run without one; return the boundaries.

        The inner ring takes a sample which has each operation.
        """
        self._situation.prepare()
        without = self._run(Fault(kind, -1, **options))
        without.require_result().succeeded()
        boundaries = list(enumerate(without.hit))
        chosen = {at for at, dummy in ring.sample(boundaries, SAMPLED, key=lambda boundary: _operation(boundary[1]))}
        suffered: list[str] = []
        for at in itertools.count():
            if at < len(boundaries) and at not in chosen:
                continue
            if at >= len(boundaries) and not ring.IS_OUTER:
                break
            self._situation.prepare()
            run = self._run(Fault(kind, at, **options))
            if not run.hit:
                run.require_result().succeeded()
                break
            self._check_end(run, kind)
            self._mend(run.hit[0])
            suffered.append(run.hit[0])
        LOG.info("%s: %d times %s", type(self._situation).__name__, len(suffered), kind)
        return suffered

    def lose_connection(self) -> None:
        self._situation.prepare()
        assert self._run(heard=False).stdout == ""
        self._mend("the connection was lost")

    def _check_end(self, run: Run, kind: str) -> None:
        if kind in PROBLEMS:
            done = run.require_result()
            assert not done.status or PROBLEMS[kind] in done.msg, run.hit
        else:
            assert run.status == -getattr(signal, kind), run

    def _mend(self, where: str) -> None:
        interrupted, state = self._situation.find_interrupted(), self._state().without("^intents/")
        done = self._run().require_result().succeeded()
        difference = self._expected_state.difference(self._state())
        assert not difference, f"{where}\n{difference}"
        self._situation.check_report(interrupted, bool(interrupted or self._expected_state.difference(state)), done)


@pytest.fixture
def trial(
    node: EngineNode, blue: Namespace, kind: type[Situation], monkeypatch: pytest.MonkeyPatch
) -> t.Iterator[Trial]:
    # A fork has the environment of the test.
    monkeypatch.setenv(*libraries.request(libraries.provide()).popitem())
    with Forks() as forks:
        yield Trial(kind(node, blue), forks)


def _operation(boundary: str) -> str:
    """Return the operation of a boundary, with the program that it runs and the first argument."""
    operation, *subject = boundary.split()[2:5]
    return " ".join((operation, *subject)) if operation in PROCESSES else operation


def operations(suffered: t.Iterable[str]) -> set[str]:
    return {text.split()[2] for text in suffered}


@every_situation
def test_the_next_run_repairs_a_kill_at_any_boundary(node: EngineNode, trial: Trial) -> None:
    """Kill before each plugin, program, file operation and message to the kernel."""
    suffered = trial.inject_each("SIGKILL")
    assert operations(suffered) >= {"open", "rename", "run", "unlink"}
    node.run("gc", min_age=0).succeeded()
    assert [path for path in node.cache_dir.rglob(".*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("kind", "name", "node"),
    [(Add, "SIGTERM", EXECUTABLES), (Delete, "SIGHUP", EXECUTABLES), (Add, "SIGTERM", BUILTIN)],
    indirect=["node"],
)
def test_the_next_run_repairs_a_termination_around_any_plugin(trial: Trial, name: str) -> None:
    assert operations(trial.inject_each(name, among=PROCESSES)) == {"run"}


@writing
@pytest.mark.parametrize("disk", DISKS)
def test_the_next_run_repairs_any_reported_write_error(trial: Trial, disk: str) -> None:
    error, stays = DISKS[disk]
    assert operations(trial.inject_each(error, among=FILES, stays=stays)) >= {"open", "rename", "unlink"}


@add_or_delete
def test_the_next_run_repairs_a_lost_connection(trial: Trial) -> None:
    trial.lose_connection()


@pytest.mark.parametrize("kind", [Repair])
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_the_next_repair_finishes_one_killed_at_any_boundary(trial: Trial, name: str) -> None:
    """Kill around the lock and each program; rules of others stay where they are."""
    suffered = trial.inject_each(name)
    assert operations(suffered) >= {"open", "run"}
    for tool in ("iptables-restore", "ip6tables-restore", "nft -f"):
        assert any(f"/{tool}" in text for text in suffered)


@persistent
@REQUIRES_SYSTEMD
def test_boot_files_are_complete_or_absent_after_a_killed_run(restorable: EngineNode, trial: Trial) -> None:
    among = ("mkdir", "rename", "rmdir", "symlink", "unlink")
    assert operations(trial.inject_each("SIGKILL", among=among)) >= {"rename", "unlink"}
