# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chapter: the processor time of the executables of built-in plugins, beside that of Python."""

from __future__ import annotations

import functools
import json
import pathlib
import subprocess
import textwrap
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench import bench_playbook
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.bench.series import Series, interleaved
from ansible_collections.cni.node.tests.bench.table import Target, judged_row, table
from ansible_collections.cni.node.tests.fleet.place import PYTHON

TARGETS = {"VERSION": Target(40), "DEL": Target(60)}
# The only plugins whose DEL needs more keys than the name, without a delegated plugin, which is measured itself.
KEYS: dict[str, JsonObject] = {
    "host-local": {"ipam": {"type": "host-local", "subnet": "10.6.0.0/16"}},
    "static": {"ipam": {"type": "static"}},
}


def chapter(bench: Bench) -> str:
    directory = bench.node.top / "builtin"
    bench_playbook.play("executables", {"bench_bin_dir": str(directory)})
    executables = sorted(directory.iterdir())
    rounds = 3 * bench.effort.short_rounds
    python = "python"
    turns: dict[str, t.Callable[[], float]] = {
        python: functools.partial(_measure, [PYTHON, "-I", "-c", "pass"], {}, b"")
    }
    for path in executables:
        for command in TARGETS:
            turns[f"{path.name} {command}"] = functools.partial(_measure_plugin, path, command)
    for turn in turns.values():
        turn()  # reads the files
    series = {name: Series(tuple(values)) for name, values in interleaved(rounds, turns).items()}
    rows: list[list[t.Any]] = [["`python3 -I -c pass`", series[python], ""]]
    medians: dict[str, float] = {}
    for command, target in TARGETS.items():
        medians = {path.name: series[f"{path.name} {command}"].median for path in executables}
        slowest = max(medians, key=lambda name: medians[name])
        rows.append(judged_row(f"{command} of the slowest plugin, {slowest}", [series[f"{slowest} {command}"]], target))
    each = ", ".join(f"{name} {median:.0f}" for name, median in medians.items())
    return "\n\n".join(
        [
            f"Milliseconds of processor time, rounds: {rounds}",
            table(["", "", "target"], rows),
            "\n".join(textwrap.wrap(f"Medians of {command}: {each}.", 140, break_on_hyphens=False)),
        ]
    )


def _measure_plugin(path: pathlib.Path, command: str) -> float:
    environment = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": "none",
        "CNI_IFNAME": "eth0",
        "CNI_NETNS": "",
        "CNI_PATH": str(path.parent),
    }
    config = {"cniVersion": "1.0.0", "name": "start", "type": path.name, **KEYS.get(path.name, {})}
    return _measure([str(path)], environment, json.dumps(config).encode())


def _measure(argv: t.Sequence[str], environment: t.Mapping[str, str], request: bytes) -> float:
    before = bench_playbook.processor_seconds()
    subprocess.run(argv, env=environment, input=request, check=True, capture_output=True)
    return (bench_playbook.processor_seconds() - before) * 1000
