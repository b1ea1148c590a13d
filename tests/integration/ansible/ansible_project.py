# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs playbooks of the collection on this node with the real ansible-playbook, and gives back all that came of it."""

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

from ansible_collections.cni.node.tests.integration.ansible import returned
from ansible_collections.cni.node.tests.support import state
from ansible_collections.cni.node.tests.support.state import State

Json = dict[str, t.Any]

HERE = pathlib.Path(__file__).parent
COLLECTIONS = next(path.parent for path in pathlib.Path(state.__file__).parents if path.name == "ansible_collections")
PROGRAM = pathlib.Path(sys.executable).with_name("ansible-playbook")
# The modules run on another Python than the tests where CNI_NODE_PYTHON names one, as on a node they may.
NODE_PYTHON = os.environ.get("CNI_NODE_PYTHON", sys.executable)
PREDICTED, AGAIN = ", predicted", ", again"
# What only carrying it out brings to light, and what Ansible adds.
_UNPREDICTABLE = {"invocation", "warnings", "deprecations", "_ansible_no_log", "ansible_facts", "exception", "timing"}
_UNPREDICTABLE_OF_AN_ATTACHMENT = {"result", "seconds", "plugin_seconds", "false_alarms"}
_TOOK = re.compile(r"; [\d.]+ s, [\d.]+ s in plugins and [\d.]+ s outside(, summed over \d+ workers)?")


@dataclasses.dataclass(frozen=True)
class TaskRun:
    """One task: how it ended, and the node right before and right after."""

    name: str
    module: str
    status: str
    result: Json
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
        """The message without what it says of times."""
        return _TOOK.sub("", self.msg)

    @property
    def warnings(self) -> list[str]:
        return [str(warning) for warning in self.result.get("warnings", [])]

    @property
    def entries(self) -> list[Json]:
        """Of each attachment."""
        return t.cast("list[Json]", self.result["attachments"])

    @property
    def files(self) -> dict[str, str]:
        """Of each network configuration, its file's name and what became of it."""
        return {pathlib.Path(one["path"]).name: one["action"] for one in self.result["conflists"]}

    def actions(self) -> dict[str, str]:
        """By container, or by container and interface where that is not eth0."""
        return {
            " ".join([one["container_id"], *([one["ifname"]] if one["ifname"] != "eth0" else [])]): one["action"]
            for one in self.entries
        }

    def ok(self) -> TaskRun:
        assert self.status == "ok", f"{self.name}: {self.result}"
        return self

    def failed(self, *fragments: str) -> str:
        """The message; it has every fragment and no traceback."""
        assert self.status == "failed", f"{self.name}: {self.result}"
        for fragment in fragments:
            assert fragment in self.msg, f"{fragment!r} is not in: {self.msg}"
        assert "Traceback" not in json.dumps(self.result)
        return self.msg

    def did_nothing(self) -> TaskRun:
        assert not self.changed, f"{self.name}: {self.result}"
        return self.left_alone()

    def left_alone(self) -> TaskRun:
        """The node, whatever it says it did."""
        difference = self.before.difference(self.after)
        assert difference == "", f"{self.name}: {difference}"
        return self

    def plan(self) -> Json:
        """What check mode can say of a run."""
        plan = {key: value for key, value in self.result.items() if key not in _UNPREDICTABLE}
        if isinstance(plan.get("attachments"), list):
            plan["attachments"] = [
                {key: value for key, value in one.items() if key not in _UNPREDICTABLE_OF_AN_ATTACHMENT}
                for one in plan["attachments"]
            ]
        return {**plan, "msg": self.timeless.replace("would be ", "")}


@dataclasses.dataclass(frozen=True)
class PlaybookRun:
    """A run of ansible-playbook."""

    status: int
    output: str
    tasks: list[TaskRun]

    def __getitem__(self, name: str) -> TaskRun:
        found = [task for task in self.tasks if task.name == name]
        assert len(found) == 1, f"{len(found)} tasks are named {name!r}: {self.output}"
        return found[0]

    def succeeded(self) -> PlaybookRun:
        assert self.status == 0, self.output
        return self

    def settled(self, name: str) -> TaskRun:
        """Of a task given by `thrice`: check mode foretold it and did nothing; a second run had nothing to do."""
        predicted, done, again = (self[name + suffix] for suffix in (PREDICTED, "", AGAIN))
        predicted.left_alone()
        assert predicted.status == done.status, f"{predicted.result}\n{done.result}"
        assert predicted.plan() == done.plan(), f"{predicted.plan()}\n{done.plan()}"
        again.ok().did_nothing()
        return done


def thrice(name: str, module: str, arguments: Json, **keywords: t.Any) -> list[Json]:
    """The task in check mode, for real, and once more."""
    task = {module: arguments, **keywords}
    return [
        {"name": name + PREDICTED, "check_mode": True, **task},
        {"name": name, **task},
        {"name": name + AGAIN, **task},
    ]


def task(name: str, module: str, arguments: Json, **keywords: t.Any) -> Json:
    return {"name": name, module: arguments, **keywords}


class Project:
    """A directory with playbooks and what lies beside them."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.inventory = "node,"

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def play(self, tasks: t.Sequence[Json], *options: str, **keywords: t.Any) -> PlaybookRun:
        """A play of these tasks to its end, whether they fail or not."""
        play = {"hosts": "all", "gather_facts": False, "ignore_errors": True, "tasks": list(tasks), **keywords}
        return self.run(str(self.write("play.yml", yaml.safe_dump([play], sort_keys=False))), *options)

    def run(self, playbook: str, *options: str, **variables: t.Any) -> PlaybookRun:
        """A playbook by its path, or by its fully qualified name."""
        given = self.write("variables.json", json.dumps(variables))
        record = self.write("record", "")
        argv = [str(PROGRAM), "-i", self.inventory, "-c", "local", "-e", f"@{given}", *options, playbook]
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
        problems = [text for one in tasks for text in returned.problems(one.module, one.status, one.result)]
        assert problems == [], problems
        return PlaybookRun(done.returncode, done.stdout, tasks)

    def _environment(self, record: pathlib.Path) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
        return {
            **kept,
            "ANSIBLE_HOME": str(self.path / ".ansible"),
            "ANSIBLE_ASYNC_DIR": str(self.path / ".ansible" / "async"),
            "ANSIBLE_REMOTE_TEMP": str(self.path / ".ansible" / "remote"),
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_PIPELINING": "true",
            "ANSIBLE_PYTHON_INTERPRETER": NODE_PYTHON,
            "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callbacks"),
            "ANSIBLE_CALLBACKS_ENABLED": "recorder",
            "ANSIBLE_NOCOLOR": "true",
            "CNI_TEST_RECORD": str(record),
        }


def _tasks(record: pathlib.Path) -> list[TaskRun]:
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    states = [State(line["state"]) for line in lines]
    return [
        TaskRun(line["name"], line["module"], line["status"], line["result"], before, after)
        for line, before, after in zip(lines[1:], states, states[1:])
    ]
