# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a playbook, by default over the local connection, and measure it and its tasks."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import typing as t
import xml.etree.ElementTree

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench.effort import Bench

PLAYBOOKS = pathlib.Path(__file__).with_name("playbooks")
LOCALHOST = ("--inventory", "localhost,")
CALLS = "calls"


@dataclasses.dataclass(frozen=True)
class TimedPlaybook:
    """Seconds of the whole command and of every run of each task, and the number of remote calls."""

    seconds: float
    tasks: dict[str, list[float]]
    calls: int


def play(
    name: str, variables: t.Mapping[str, t.Any], options: t.Sequence[str] = LOCALHOST, *, pipelining: bool = True
) -> TimedPlaybook:
    with tempfile.TemporaryDirectory() as scratch:
        given = pathlib.Path(scratch, "variables.json")
        given.write_text(json.dumps(variables), encoding="utf-8")
        playbook = [str(PLAYBOOKS / f"{name}.yml"), "--extra-vars", f"@{given}"]
        program = pathlib.Path(sys.executable).with_name("ansible-playbook")
        argv = [str(program), *options, *playbook]
        started = time.monotonic()
        done = subprocess.run(argv, env=_environment(scratch, pipelining), check=False, capture_output=True, text=True)
        seconds = time.monotonic() - started
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(playbook)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return TimedPlaybook(
            seconds, _tasks(pathlib.Path(scratch)), int(pathlib.Path(scratch, CALLS).read_text(encoding="utf-8"))
        )


def options(bench: Bench, items: list[JsonObject]) -> JsonObject:
    """Return the arguments of the module `attachments`."""
    node = bench.node
    return {
        "attachments": items,
        "conf_dir": str(node.conf_dir),
        "plugin_dirs": list(node.plugin_dirs),
        "cache_dir": str(node.cache_dir),
    }


def variables(bench: Bench, items: list[JsonObject]) -> JsonObject:
    """Return the arguments as variables of the playbooks."""
    return {f"bench_{name}": value for name, value in options(bench, items).items()}


def _environment(scratch: str, pipelining: bool) -> dict[str, str]:
    return {
        **os.environ,
        "ANSIBLE_HOME": f"{scratch}/home",
        "ANSIBLE_REMOTE_TMP": f"{scratch}/remote",
        "ANSIBLE_PIPELINING": str(pipelining),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.junit,calls",
        "ANSIBLE_CALLBACK_PLUGINS": str(PLAYBOOKS.with_name("callbacks")),
        "CNI_BENCH_CALLS": f"{scratch}/{CALLS}",
        "JUNIT_OUTPUT_DIR": scratch,
        "JUNIT_HIDE_TASK_ARGUMENTS": "true",
    }


def _tasks(report_dir: pathlib.Path) -> dict[str, list[float]]:
    """Return the seconds of each task. The callback of ansible-core names a test case `[HOST] PLAY: TASK ARGUMENTS`."""
    (report,) = report_dir.glob("*.xml")
    tasks: dict[str, list[float]] = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = case.get("name", "").split(": ", 1)[1]
        with contextlib.suppress(TypeError):
            tasks.setdefault(name, []).append(float(case.get("time", "")))
    return tasks
