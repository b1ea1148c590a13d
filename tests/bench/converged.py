# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: a run that changes nothing."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.modules import attachments as module
from ansible_collections.cni.node.tests.bench import bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.bare import Bare
from ansible_collections.cni.node.tests.bench.contestants import EngineProcess
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table

EACH, OVER_PLUGINS = Target(0.5), Target(1.0)


def chapter(bench: Bench) -> str:
    node, many = bench.node, bench.effort.many
    network = bench_networks.noop(1)
    node.clean()
    items = node.attachments(network, many)
    engine, bare = EngineProcess(node, bench.workers), Bare(node, network, bench.workers)
    engine.run("ADD", items)
    bare.run("ADD", items)

    def turn() -> dict[str, float]:
        tasks = bench_playbook.play("converged", bench_playbook.variables(bench, items)).tasks
        ping, attach, hand_over = (tasks[name][-1] for name in ("Ping", "Attach", "Hand over"))
        return {
            "decide": engine.run("NOTHING", items),
            "module": _module(bench, items),
            "over ping": attach - ping,
            "hand over": hand_over - ping,
            "over hand over": attach - hand_over,
            "check": engine.run("CHECK", items),
            "plugins": bare.run("CHECK", items),
        }

    turns = interleaved(bench.effort.short_rounds, {"all": turn})["all"]
    node.clean()
    measured = {name: Series(tuple(given[name] for given in turns)) * (1000 / many) for name in turns[0]}
    never = {
        "the engine: read, compare, decide": measured["decide"],
        "the module as a process, its start included": measured["module"],
        "the task, over a task that only returns its arguments": measured["over hand over"],
        "the task, over `ansible.builtin.ping`": measured["over ping"],
    }
    rows = [judged_row(name, [series], EACH) for name, series in never.items()]
    rows.append(["the other task, over `ansible.builtin.ping`", str(measured["hand over"]), ""])
    always = measured["check"] - measured["plugins"]
    return "\n\n".join(
        [
            f"Milliseconds per attachment, {many} attachments, `check: never`, rounds: {bench.effort.short_rounds}",
            table(["", "ms", "target"], rows),
            f"The same with `check: always`, one plugin that does nothing, {bench.workers} workers:",
            table(
                ["", "ms", "target"],
                [
                    ["the engine", measured["check"], ""],
                    [f"the plugins' processes alone, {bench.workers} at a time", measured["plugins"], ""],
                    judged_row("the difference", [always], OVER_PLUGINS),
                ],
            ),
        ]
    )


def _module(bench: Bench, items: list[JsonObject]) -> float:
    with tempfile.TemporaryDirectory() as scratch:
        arguments = pathlib.Path(scratch, "arguments.json")
        options = {**bench_playbook.options(bench, items), "check": "never"}
        arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": options}), encoding="utf-8")
        argv = [sys.executable, "-m", module.__name__, os.fspath(arguments)]
        started = time.monotonic()
        done = subprocess.run(argv, check=True, capture_output=True)
        seconds = time.monotonic() - started
    if json.loads(done.stdout)["summary"] != {"unchanged": len(items)}:
        raise RuntimeError(f"not everything was unchanged: {json.loads(done.stdout)['msg']}")
    return seconds
