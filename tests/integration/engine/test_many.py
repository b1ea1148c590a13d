# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""So many containers that they are shared among processes: all is reported, and a killed run is completed."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import namespaces
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

COUNT = 40
# Read by Python at its start: it makes every disk a slow one, for whose flushes many threads wait.
SLOW_DISK = """
import os, time

def fsync(descriptor, fsync=os.fsync):
    fsync(descriptor)
    time.sleep(0.002)

os.fsync = fsync
"""
PORTMAP = {"type": "portmap", "capabilities": {"portMappings": True}}


@pytest.fixture
def items(node: EngineNode) -> t.Iterator[list[JsonObject]]:
    node.write(reference_networks.network(reference_networks.bridge(), PORTMAP))
    with namespaces(*(f"many{number}" for number in range(COUNT))) as made:
        yield [
            attachment(
                "net",
                container,
                capability_args={"portMappings": [{"hostPort": 9000 + number, "containerPort": 80, "protocol": "tcp"}]},
            )
            for number, container in enumerate(made)
        ]


@pytest.fixture
def slow_disk(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the disk slow for the modules that are run."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_DISK, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


def children(pid: int) -> list[int]:
    """Return the processes that a process of this run has forked and not those that it runs."""
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in text.split() if b"ansible" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.parametrize("node", ["never", "always"], indirect=True)
def test_each_container_has_its_own_result_whichever_process_worked_on_it(
    node: EngineNode, items: list[JsonObject]
) -> None:
    before = node.attach_and_detach(items[0])
    taken = {**items[7], "capability_args": items[6]["capability_args"]}
    done = node.run("attachments", attachments=[*items[:7], taken, *items[8:]], workers=4)
    done.require_failure(f"attachments: {COUNT - 2} added, 2 failed")
    assert [entry["container_id"] for entry in done.entries] == [item["container_id"] for item in items]
    assert [entry["action"] for entry in done.entries] == ["added"] * 6 + ["failed"] * 2 + ["added"] * (COUNT - 8)
    added = [entry for entry in done.entries if entry["action"] == "added"]
    assert len({entry["result"]["ips"][0]["address"] for entry in added}) == COUNT - 2
    assert all(entry["seconds"] > 0 for entry in added)
    is_builtin = node.builtin == "always"
    assert {bool(entry["builtin_plugins"]) for entry in added} == {is_builtin}
    assert done.result["timing"]["plugins"] > 0
    again = node.attach(*items, workers=4)
    assert [entry["action"] for entry in again] == ["checked"] * 6 + ["added"] * 2 + ["checked"] * (COUNT - 8)
    assert {entry["action"] for entry in node.detach(*items, workers=4)} == {"removed"}
    assert before.difference(node.state()) == ""


@pytest.mark.usefixtures("slow_disk")
@pytest.mark.parametrize("node", ["always"], indirect=True)
@pytest.mark.parametrize("victim", ["the run", "one of its processes"])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_after_a_process_was_killed_the_next_run_completes_all(
    node: EngineNode, items: list[JsonObject], state: str, victim: str
) -> None:
    before = node.attach_and_detach(items[0])
    if state == "absent":
        node.attach(*items)
    process = node.start("attachments", attachments=[{**item, "state": state} for item in items], workers=4)
    (child,) = until(lambda: children(process.pid) or None)
    changed = random.Random().randrange(1, COUNT // 2)
    records = node.cache_dir / "results"
    until(lambda: abs(len(list(records.glob("net-*"))) - (COUNT if state == "absent" else 0)) >= changed or None)
    _kill(process.pid if victim == "the run" else child)
    process.communicate(timeout=60)
    until(lambda: not pathlib.Path(f"/proc/{child}/root").exists() or None)
    entries = node.attach(*({**item, "state": state} for item in items), workers=4)
    node.run("gc", min_age=0).succeeded()  # of half-written files
    expected = {"added", "recreated", "checked"} if state == "present" else {"removed", "unchanged"}
    assert {entry["action"] for entry in entries} <= expected
    assert (len(node.leases("net")), node.intents()) == (COUNT if state == "present" else 0, [])
    node.detach(*items)
    assert before.difference(node.state()) == ""


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
        os.kill(pid, signal.SIGKILL)
