# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: tasks on a node that needs no change, beside `ansible.builtin.ping`."""

from __future__ import annotations

import pathlib
import tempfile
import typing as t

from ansible_collections.cni.node.tests.bench import bench_networks, bench_playbook
from ansible_collections.cni.node.tests.bench.contestants import EngineProcess, start_over
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table
from ansible_collections.cni.node.tests.fleet import archives

FIRST, AGAIN, OTHERS = Target(1.6), Target(1.25), Target(1.5)
# KiB over those of ping.
SENT = Target(20)
COUNT = 20
PING, NEVER, ALWAYS = "Ping", "Module attachments, check: never", "Module attachments, check: always"


def chapter(bench: Bench) -> str:
    network = bench_networks.example(bench.node.leases)
    items = bench.node.attachments(network, COUNT)
    engine = EngineProcess(bench.node, bench.workers)
    start_over(bench.node, engine, items)
    variables = {
        **bench_playbook.variables(bench, items),
        "bench_network": network,
        "bench_installed": str(bench.node.top / "installed"),
        "bench_source": str(archives.installed()[0].parent),
    }
    with tempfile.TemporaryDirectory() as sent:
        # Sends the library, and changes the node: both are done when the measurement begins.
        bench_playbook.play("modules", variables, pipelining=False, sent=pathlib.Path(sent))
        payloads = [_measure_payload(pathlib.Path(sent), name) for name in ("ping", "launcher")]
    runs = [bench_playbook.play("modules", variables).tasks for dummy in range(bench.effort.short_rounds)]
    engine.run("DEL", items)
    bench.node.clean()
    first = {name: Series(tuple(run[name][0] for run in runs)) for name in runs[0]}
    again = {name: Series(tuple(seconds for run in runs for seconds in run[name][1:])) for name in runs[0]}
    rows = [
        _row(f"{PING}, first of a run", first[PING], first[PING]),
        _row(f"{NEVER}, first of a run", first[NEVER], first[PING], FIRST),
        _row(PING, again[PING], again[PING]),
        _row(NEVER, again[NEVER], again[PING], AGAIN),
        _row(ALWAYS, again[ALWAYS], again[PING]),
        *(_row(name, again[name], again[PING], OTHERS) for name in again if name not in (PING, NEVER, ALWAYS)),
    ]
    ping, launcher = payloads
    over_ping = judged_row("", [launcher - ping], SENT)[1:]
    rows.append([f"KiB sent for each later call of any module, over the {ping} of ping", "", *over_ping])
    calls = len(again[PING].values)
    title = f"{COUNT} attachments to the example, runs: {len(runs)}, later calls of each task: {calls}"
    return f"{title}\n\n{table(['task', 'seconds', 'times ping', 'target'], rows)}"


def _row(name: str, seconds: Series, ping: Series, target: Target | None = None) -> list[t.Any]:
    ratio = seconds / ping
    if target:
        return [name, seconds, *judged_row("", [ratio], target)[1:]]
    return [name, seconds, "" if seconds is ping else ratio, ""]


def _measure_payload(sent: pathlib.Path, name: str) -> Series:
    """Return the KiB of the module that Ansible has sent; each of its calls sends the same."""
    sizes = {path.stat().st_size for path in sent.glob(f"*/AnsiballZ_{name}.py")}
    return Series((max(sizes) / 1024,))
