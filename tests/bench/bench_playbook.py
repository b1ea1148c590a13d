# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a playbook of the benchmarks or of the collection, by default over the local connection, and measure it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import typing as t
import xml.etree.ElementTree

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.bench.effort import Bench
from ansible_collections.cni.node.tests.fleet.place import PYTHON

PLAYBOOKS = pathlib.Path(__file__).with_name("playbooks")
LOCALHOST = ("--inventory", "localhost,")
CALLS = "calls"


@dataclasses.dataclass(frozen=True)
class TimedPlaybook:
    """Times of a playbook.

    Attributes:
        seconds: Of the whole command.
        processor_seconds: Of `ansible-playbook` and its processes; over SSH, that is the controller's share.
        tasks: Seconds of every run of each task, by its name.
        calls: Remote calls.
    """

    seconds: float
    processor_seconds: float
    tasks: dict[str, list[float]]
    calls: int


def play(
    name: str,
    variables: t.Mapping[str, t.Any],
    options: t.Sequence[str] = LOCALHOST,
    *,
    pipelining: bool = True,
    sent: pathlib.Path | None = None,
) -> TimedPlaybook:
    """Run a playbook.

    Args:
        name: The file below `playbooks`, or the collection's playbook with its full name.
        variables: Extra variables.
        options: Of `ansible-playbook`.
        pipelining: Whether modules are sent through the connection only.
        sent: The directory where files that Ansible sends to this node stay; without pipelining only.
    """
    with tempfile.TemporaryDirectory() as scratch:
        given = pathlib.Path(scratch, "variables.json")
        given.write_text(json.dumps(variables), encoding="utf-8")
        path = name if "." in name else str(PLAYBOOKS / f"{name}.yml")
        playbook = [path, "--extra-vars", f"@{given}"]
        program = pathlib.Path(sys.executable).with_name("ansible-playbook")
        argv = [str(program), *options, *playbook]
        environment = _environment(scratch, pipelining)
        if sent:
            environment |= {"ANSIBLE_KEEP_REMOTE_FILES": "true", "ANSIBLE_REMOTE_TMP": str(sent)}
        started, used = time.monotonic(), processor_seconds()
        done = subprocess.run(argv, env=environment, check=False, capture_output=True, text=True)
        seconds, processor = time.monotonic() - started, processor_seconds() - used
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(playbook)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return TimedPlaybook(
            seconds,
            processor,
            _tasks(pathlib.Path(scratch)),
            int(pathlib.Path(scratch, CALLS).read_text(encoding="utf-8")),
        )


def processor_seconds() -> float:
    """Return the processor time of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
        "ANSIBLE_PYTHON_INTERPRETER": PYTHON,
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
