# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a run was killed during ADD or DEL, the next one cleans up and finishes, and nothing leaks."""

from __future__ import annotations

import contextlib
import fcntl
import pathlib
import signal
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.exclusion import file_name
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    EngineNode,
    attachment,
    remove,
    replace,
    wait_for_result,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedCall
from ansible_collections.cni.node.tests.support.state import State
from ansible_collections.cni.node.tests.support.until import until
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import wait_until_dead

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

BRIDGE, STALL = reference_networks.bridge(), {"type": "stall"}
# ADD runs them from first to last, DEL in the reverse order.
CONFIGURATIONS = {
    "bridge, then stall": reference_networks.network(BRIDGE, STALL),
    "stall, then bridge": reference_networks.network(STALL, BRIDGE),
}
either_order = pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
either_check = pytest.mark.parametrize("check", ["always", "never"])
LOST = r"^blue$|^/run/netns/blue "
IN_ADD = "an earlier run was interrupted at ADD"
IN_DEL = "an earlier run was interrupted at DEL"


@pytest.fixture
def item(node: EngineNode, blue: Namespace) -> JsonObject:
    node.plugins.write("stall")
    return attachment("net", blue)


def kill_in(node: EngineNode, command: str, item: JsonObject, by: int = signal.SIGKILL, **options: t.Any) -> None:
    """Run the module, and kill it while `stall` is in the middle of a command; `stall` then runs to its end."""
    node.plugins.forget()
    with node.plugins.gate() as gate:
        held: JsonObject = {command: ScriptedAnswer(hold=gate)}
        node.plugins.write("stall", **held)
        running = node.start("attachments", attachments=[item], **options)
        (call,) = node.plugins.wait_for_held(1)
        running.send_signal(by)
        assert (running.communicate(), running.returncode) == (("", ""), -by)
    until(lambda: not pathlib.Path(f"/proc/{call.pid}").exists() or None)
    assert (call.command, [path.name for path in node.intents()]) == (command, ["net-blue-eth0"])
    node.plugins.write("stall")


def prepare(node: EngineNode, item: JsonObject, configuration: JsonObject) -> State:
    node.write(configuration)
    return node.attach_and_detach(item)


@either_check
@either_order
def test_an_interrupted_add_is_undone_and_repeated(
    node: EngineNode, blue: Namespace, item: JsonObject, configuration: JsonObject, check: str
) -> None:
    before = prepare(node, item, configuration)
    kill_in(node, "ADD", item)
    assert not node.record_of(item).exists()
    (entry,) = node.attach(item, check=check)
    assert (entry["action"], entry["changed"], entry["reason"]) == ("recreated", True, IN_ADD)
    blue.run("ping", "-c1", "-W5", "10.1.0.1")
    assert (len(node.leases("net")), node.intents()) == (1, [])
    assert node.attach(item)[0]["action"] == "checked"
    node.detach(item)
    assert before.difference(node.state()) == ""


@either_order
def test_an_interrupted_add_is_undone_if_no_longer_requested(
    node: EngineNode, item: JsonObject, configuration: JsonObject
) -> None:
    before = prepare(node, item, configuration)
    kill_in(node, "ADD", item)
    assert node.detach(item)[0]["action"] == "removed"
    assert before.difference(node.state()) == ""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_add_is_purged(node: EngineNode, item: JsonObject, by: int) -> None:
    before = prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    kill_in(node, "ADD", item, by)
    (entry,) = node.attach(purge=True)
    assert (entry["container_id"], entry["action"]) == ("blue", "removed")
    assert before.difference(node.state()) == ""


def test_an_interrupted_add_is_undone_with_its_own_configuration(node: EngineNode, item: JsonObject) -> None:
    before = prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    kill_in(node, "ADD", item)
    (node.conf_dir / "10-net.conflist").unlink()
    assert node.detach(item)[0]["action"] == "removed"
    node.write(CONFIGURATIONS["bridge, then stall"])
    assert before.difference(node.state()) == ""


def test_a_repeated_add_leaves_no_rule_of_the_plugin_firewall(node: EngineNode, item: JsonObject) -> None:
    """Remove the rule, which firewall finds by the result alone; the next ADD has another address."""
    before = prepare(node, item, reference_networks.network(BRIDGE, reference_networks.FIREWALL, STALL))
    kill_in(node, "ADD", item)
    (lost,) = node.leases("net")
    (entry,) = node.attach(item)
    assert (entry["action"], entry["reason"]) == ("recreated", IN_ADD)
    assert node.leases("net") != [lost]
    node.detach(item)
    assert before.difference(node.state()) == ""


@contextlib.contextmanager
def outlive_run(node: EngineNode, item: JsonObject) -> t.Iterator[ScriptedCall]:
    """Yield a plugin in ADD whose run was killed; it continues at the end of the block."""
    node.plugins.forget()
    with node.plugins.gate() as gate:
        node.plugins.write("stall", ADD=ScriptedAnswer(hold=gate))
        running = node.start("attachments", attachments=[item])
        (call,) = node.plugins.wait_for_held(1)
        running.kill()
        running.communicate()
        yield call


def _is_locked(path: pathlib.Path) -> bool:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _wait_for_process_scans(pid: int) -> None:
    read = set()

    def often() -> bool | None:
        read.add(pathlib.Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()[0])
        return len(read) > 40 or None

    until(often)


def test_a_plugin_that_outlives_its_run_is_waited_for(node: EngineNode, item: JsonObject) -> None:
    before = prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    lock = node.cache_dir / "cni.node" / "locks" / file_name("container", item["container_id"])
    with outlive_run(node, item):
        running = node.start("attachments", attachments=[{**item, "state": "absent"}])
        until(lambda: _is_locked(lock) or None)
        _wait_for_process_scans(running.pid)
        release_time = time.monotonic()
    assert wait_for_result(running).succeeded().entries[0]["action"] == "removed"
    add, delete = node.plugins.calls("stall")
    assert (add.command, delete.command, delete.started > release_time) == ("ADD", "DEL", True)
    assert before.difference(node.state()) == ""


def test_a_plugin_that_outlives_its_run_for_too_long_is_killed(node: EngineNode, item: JsonObject) -> None:
    before = prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    with outlive_run(node, item) as orphan:
        assert node.detach(item, timeout=5)[0]["action"] == "removed"
        wait_until_dead(orphan.pid)
        assert before.difference(node.state()) == ""


def test_an_interrupted_add_is_repeated_in_another_namespace(
    node: EngineNode, blue: Namespace, item: JsonObject
) -> None:
    before = prepare(node, item, reference_networks.network(reference_networks.bridge(ipMasq=True), STALL))
    kill_in(node, "ADD", item)
    replace(blue)
    assert node.attach(item)[0]["action"] == "recreated"
    assert len(node.leases("net")) == 1
    node.detach(item)
    assert before.difference(node.state()) == ""


def test_an_interrupted_add_is_undone_without_its_namespace(
    node: EngineNode, blue: Namespace, item: JsonObject
) -> None:
    """Undo without values that plugins read from the interface, because no record has them yet."""
    before = prepare(node, item, reference_networks.network(reference_networks.bridge(ipMasq=True), STALL)).without(
        LOST
    )
    kill_in(node, "ADD", item)
    remove(blue)
    assert node.detach(item)[0]["action"] == "removed"
    assert before.difference(node.state().without(LOST)) == ""


def test_an_add_killed_repeatedly_leaks_nothing(node: EngineNode, item: JsonObject) -> None:
    before = prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    for command in ("ADD", "DEL", "ADD", "DEL"):
        kill_in(node, command, item)
        assert len(node.leases("net")) <= 1
    assert node.attach(item)[0]["action"] == "recreated"
    assert len(node.leases("net")) == 1
    node.detach(item)
    assert before.difference(node.state()) == ""


def test_one_of_two_runs_repeats_an_interrupted_add_and_the_other_checks(node: EngineNode, item: JsonObject) -> None:
    before = prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    kill_in(node, "ADD", item)
    node.plugins.forget()
    with node.plugins.gate() as gate:
        node.plugins.write("stall", ADD=ScriptedAnswer(hold=gate))
        running = [node.start("attachments", attachments=[item]) for dummy in range(2)]
        node.plugins.wait_for_held(1)
    entries = [wait_for_result(process).succeeded().entries[0] for process in running]
    assert sorted(entry["action"] for entry in entries) == ["checked", "recreated"]
    assert [call.command for call in node.plugins.calls("stall")] == ["DEL", "ADD", "CHECK", "CHECK"]
    node.detach(item)
    assert before.difference(node.state()) == ""


@either_check
@either_order
def test_an_interrupted_delete_is_finished(
    node: EngineNode, item: JsonObject, configuration: JsonObject, check: str
) -> None:
    before = prepare(node, item, configuration)
    node.attach(item)
    kill_in(node, "DEL", {**item, "state": "absent"})
    (entry,) = node.detach(item, check=check)
    assert (entry["action"], entry["reason"]) == ("removed", IN_DEL)
    assert before.difference(node.state()) == ""


@either_check
@either_order
def test_a_half_deleted_attachment_is_not_treated_as_complete(
    node: EngineNode, blue: Namespace, item: JsonObject, configuration: JsonObject, check: str
) -> None:
    before = prepare(node, item, configuration)
    node.attach(item)
    kill_in(node, "DEL", {**item, "state": "absent"})
    assert node.record_of(item).exists()
    (entry,) = node.attach(item, check=check)
    assert (entry["action"], entry["reason"]) == ("recreated", IN_DEL)
    blue.run("ping", "-c1", "-W5", "10.1.0.1")
    assert (len(node.leases("net")), node.intents()) == (1, [])
    assert node.attach(item)[0]["action"] == "checked"
    node.detach(item)
    assert before.difference(node.state()) == ""


def test_an_interrupted_operation_is_reported(node: EngineNode, item: JsonObject) -> None:
    prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    kill_in(node, "ADD", item)
    (entry,) = node.run("node_info", gather=["attachments"]).succeeded().entries
    assert (entry["container_id"], entry["interrupted"], entry["own"]) == ("blue", "ADD", True)


def test_check_mode_predicts_the_repetition_of_an_interrupted_add(node: EngineNode, item: JsonObject) -> None:
    prepare(node, item, CONFIGURATIONS["bridge, then stall"])
    kill_in(node, "ADD", item)
    before = node.state()
    (entry,) = node.attach(item, _ansible_check_mode=True)
    assert (entry["action"], entry["changed"], entry["reason"]) == ("recreated", True, IN_ADD)
    assert before.difference(node.state()) == ""
