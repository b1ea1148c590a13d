# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run playbooks of the collection on this node with ansible-playbook, and return results and states."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import documented_returns
from ansible_collections.cni.node.tests.support import pages
from ansible_collections.cni.node.tests.support.state import State

PROGRAM = pathlib.Path(sys.executable).with_name("ansible-playbook")
# CNI_NODE_PYTHON names another Python for the modules, as a node may have one.
NODE_PYTHON = os.environ.get("CNI_NODE_PYTHON", sys.executable)
PREDICTED, AGAIN = ", predicted", ", again"
# Keys that check mode cannot predict, and keys that Ansible adds.
_UNPREDICTABLE = {"invocation", "warnings", "deprecations", "_ansible_no_log", "ansible_facts", "exception", "timing"}
_UNPREDICTABLE_OF_AN_ATTACHMENT = {"result", "seconds", "plugin_seconds", "builtin_plugins", "false_alarms"}
TOOK = re.compile(r"; [\d.]+ s, [\d.]+ s in plugins(, summed over \d+ workers)?")


@dataclasses.dataclass(frozen=True)
class TaskRun:
    """One task: its result, and the node's state right before and right after."""

    name: str
    module: str
    status: str
    result: JsonObject
    before: State
    after: State

    @property
    def changed(self) -> bool:
        return bool(self.result.get("changed"))

    @property
    def msg(self) -> str:
        return t.cast(str, self.result["msg"])

    @property
    def timeless(self) -> str:
        """Return the message without durations."""
        return TOOK.sub("", self.msg)

    @property
    def warnings(self) -> list[str]:
        return [str(warning) for warning in self.result.get("warnings", [])]

    @property
    def entries(self) -> list[JsonObject]:
        """Return the entries of the attachments."""
        return t.cast("list[JsonObject]", self.result["attachments"])

    @property
    def files(self) -> dict[str, str]:
        """Return the action of each network configuration, by the name of its file."""
        return {pathlib.Path(conflist["path"]).name: conflist["action"] for conflist in self.result["conflists"]}

    def actions(self) -> dict[str, str]:
        """Return the actions by container, or by container and interface if that is not eth0."""
        actions = {}
        for entry in self.entries:
            interface = "" if entry["ifname"] == "eth0" else f" {entry['ifname']}"
            actions[entry["container_id"] + interface] = entry["action"]
        return actions

    def ok(self) -> TaskRun:
        assert self.status == "ok", f"{self.name}: {self.result}"
        return self

    def require_failure(self, *fragments: str) -> str:
        """Return the message after asserting that the task failed with every fragment and without a traceback."""
        assert self.status == "failed", f"{self.name}: {self.result}"
        for fragment in fragments:
            assert fragment in self.msg, f"{fragment!r} is not in: {self.msg}"
        assert "Traceback" not in json.dumps(self.result)
        return self.msg

    def require_no_change(self) -> TaskRun:
        assert not self.changed, f"{self.name}: {self.result}"
        return self.require_unchanged_node()

    def require_unchanged_node(self) -> TaskRun:
        """Assert that the node has not changed, whatever the task reports."""
        difference = self.before.difference(self.after)
        assert difference == "", f"{self.name}: {difference}"
        return self

    def plan(self) -> JsonObject:
        """Return the part of a result that check mode predicts."""
        plan = {key: value for key, value in self.result.items() if key not in _UNPREDICTABLE}
        if isinstance(plan.get("attachments"), list):
            plan["attachments"] = [
                {key: value for key, value in attachment.items() if key not in _UNPREDICTABLE_OF_AN_ATTACHMENT}
                for attachment in plan["attachments"]
            ]
        return {**plan, "msg": self.timeless.replace("would be ", "")}


@dataclasses.dataclass(frozen=True)
class PlaybookRun:
    """A run of ansible-playbook."""

    status: int
    output: str
    tasks: list[TaskRun]

    def __getitem__(self, name: str) -> TaskRun:
        matches = [task for task in self.tasks if task.name == name]
        assert len(matches) == 1, f"{len(matches)} tasks are named {name!r}: {self.output}"
        return matches[0]

    def succeeded(self) -> PlaybookRun:
        assert self.status == 0, self.output
        return self

    def require_converged(self, name: str) -> TaskRun:
        """Return a task of `thrice` after asserting that check mode predicted it and that a second run changed nothing."""
        predicted, done, again = (self[name + suffix] for suffix in (PREDICTED, "", AGAIN))
        predicted.require_unchanged_node()
        assert predicted.status == done.status, f"{predicted.result}\n{done.result}"
        assert predicted.plan() == done.plan(), f"{predicted.plan()}\n{done.plan()}"
        again.ok().require_no_change()
        return done


def thrice(name: str, module: str, arguments: JsonObject, **keywords: t.Any) -> list[JsonObject]:
    """Return the task in check mode, for real, and once more."""
    task = {module: arguments, **keywords}
    return [
        {"name": name + PREDICTED, "check_mode": True, **task},
        {"name": name, **task},
        {"name": name + AGAIN, **task},
    ]


def task(name: str, module: str, arguments: JsonObject, **keywords: t.Any) -> JsonObject:
    return {"name": name, module: arguments, **keywords}


class Project:
    """A directory with playbooks and their files.

    Attributes:
        inventory: The inventory of its playbooks.
        program: The program that runs them.
        python: The interpreter of modules on the node.
    """

    def __init__(self, path: pathlib.Path, program: pathlib.Path = PROGRAM, python: str = NODE_PYTHON) -> None:
        self.path = path
        self.inventory = "node,"
        self.program, self.python = program, python

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def play(self, tasks: t.Sequence[JsonObject], *options: str, **keywords: t.Any) -> PlaybookRun:
        """Play the tasks to the end, even if some fail."""
        play = {"hosts": "all", "gather_facts": False, "ignore_errors": True, "tasks": list(tasks), **keywords}
        return self.run(str(self.write("play.yml", yaml.safe_dump([play], sort_keys=False))), *options)

    def run(self, playbook: str, *options: str, **variables: t.Any) -> PlaybookRun:
        """Run a playbook by its path or its fully qualified name."""
        given = self.write("variables.json", json.dumps(variables))
        record = self.write("record", "")
        argv = [str(self.program), "-i", self.inventory, "-c", "local", "-e", f"@{given}", *options, playbook]
        done = subprocess.run(
            argv,
            check=False,
            cwd=self.path,
            env=self._environment(record),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        tasks = _tasks(record)
        problems = [
            text for task in tasks for text in documented_returns.problems(task.module, task.status, task.result)
        ]
        assert problems == [], problems
        return PlaybookRun(done.returncode, done.stdout, tasks)

    def _environment(self, record: pathlib.Path) -> dict[str, str]:
        return {
            **environment(self.path / ".ansible", is_warm=self.program != PROGRAM),
            "ANSIBLE_PYTHON_INTERPRETER": self.python,
            "CNI_TEST_RECORD": str(record),
        }


def environment(home: pathlib.Path, *, is_warm: bool) -> dict[str, str]:
    """Return the environment of all projects.

    Args:
        home: The directory for Ansible's own files.
        is_warm: Whether a warm program runs them: then with pipelining, which starts fewer processes for each task.
    """
    return {
        **pages.reader_environment(home),
        "ANSIBLE_ASYNC_DIR": str(home / "async"),
        "ANSIBLE_CALLBACK_PLUGINS": str(pathlib.Path(pages.__file__).with_name("callbacks")),
        "ANSIBLE_CALLBACKS_ENABLED": "recorder",
        "ANSIBLE_PIPELINING": str(is_warm),
    }


def _tasks(record: pathlib.Path) -> list[TaskRun]:
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    states = [State(line["state"]) for line in lines]
    return [
        TaskRun(line["name"], line["module"], line["status"], line["result"], before, after)
        for line, before, after in zip(lines[1:], states, states[1:])
    ]
