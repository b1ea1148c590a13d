# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the playbooks of the controller's project as jobs, with ansible-runner, as AWX does."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import typing as t

import ansible_runner
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import NODE_PYTHON
from ansible_collections.cni.node.tests.support import awx, installed

# Answers by variable, "" for an empty one.
Answers = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Job:
    """A finished job."""

    status: str
    rc: int
    artifacts: pathlib.Path
    events: list[JsonObject]

    @property
    def output(self) -> str:
        return (self.artifacts / "stdout").read_text(encoding="utf-8")

    def results(self, task: str = "") -> list[JsonObject]:
        """Return the data of the events that end a task of this collection's modules, or the named task.

        The module that shows what others return is left out.
        """
        ended = [event for event in self.events if event["event"] in {"runner_on_ok", "runner_on_failed"}]
        data = [t.cast(JsonObject, event["event_data"]) for event in ended]
        return [
            entry
            for entry in data
            if (entry["task"] == task if task else entry["task_action"].startswith("cni.node."))
            and entry["task_action"] != "cni.node.show"
        ]

    def succeeded(self) -> Job:
        assert (self.status, self.rc) == ("successful", 0), self.output
        return self


class JobRunner:
    """A controller with the configuration that the collection brings, and an inventory of this machine."""

    def __init__(self, directory: pathlib.Path, python: str = NODE_PYTHON) -> None:
        """
        Args:
            python: The interpreter of modules on the node.
        """
        self._python = python
        self.collections = installed.install(directory)
        brought = installed.root(self.collections) / "extensions" / "controller"
        self._directory = directory / "private"
        self.project = pathlib.Path(shutil.copytree(brought / "project", self._directory / "project"))
        config = brought / "config"
        self.templates: dict[str, JsonObject] = {
            template["name"]: template for template in awx.load(config / "job_templates.yml")["controller_templates"]
        }
        self.workflows: dict[str, JsonObject] = {
            workflow["name"]: workflow for workflow in awx.load(config / "workflows.yml")["controller_workflows"]
        }
        self._jobs = 0

    def describe(self, **variables: t.Any) -> None:
        """Write the inventory: this machine, as the example of the project describes its nodes, with changes."""
        example = awx.load(self.project / "inventory" / "group_vars" / "nodes.yml")
        connection = {"ansible_connection": "local", "ansible_python_interpreter": self._python}
        host = {**connection, **example, **variables}
        path = self._directory / "inventory" / "hosts.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"nodes": {"hosts": {"node": host}}}), encoding="utf-8")

    def launch(self, template: str, answers: Answers | None = None, **options: t.Any) -> Job:
        """Run the job of a template with the answers to its survey; a question without one gets its default, if that is valid."""
        description = self.templates[template]
        variables = awx.complete_answers(description["survey_spec"], answers or {})
        return self.play(description["playbook"], variables, **options)

    def play(self, playbook: str, variables: Answers | None = None, **options: t.Any) -> Job:
        """Run a playbook of the project."""
        self._jobs += 1
        environment = {
            "ANSIBLE_COLLECTIONS_PATH": str(self.collections),
            "ANSIBLE_HOME": str(self._directory / "home"),
            "ANSIBLE_REMOTE_TEMP": str(self._directory / "home" / "remote"),
        }
        for name, content in (("extravars", awx.extra_variables(variables or {})), ("envvars", yaml.dump(environment))):
            path = self._directory / "env" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        run = ansible_runner.run(
            private_data_dir=str(self._directory),
            playbook=playbook,
            ident=str(self._jobs),
            quiet=True,
            # By default, the runner handles SIGINT and SIGTERM from now on, and the tests could not be interrupted.
            cancel_callback=lambda: False,
            **options,
        )
        artifacts = self._directory / "artifacts" / str(self._jobs)
        return Job(run.status, run.rc, artifacts, list(run.events))

    def follow(self, workflow: str) -> list[tuple[str, Job]]:
        """Run the jobs of a workflow; return them with the identifiers of their nodes."""
        nodes = {node["identifier"]: node for node in self.workflows[workflow]["simplified_workflow_nodes"]}
        linked = {name for node in nodes.values() for key in node if key.endswith("_nodes") for name in node[key]}
        waiting = sorted(nodes.keys() - linked)
        ran = []
        while waiting:
            identifier = waiting.pop(0)
            node = nodes[identifier]
            job = self.launch(node["unified_job_template"])
            ran.append((identifier, job))
            ending = "success_nodes" if job.status == "successful" else "failure_nodes"
            waiting += [*node.get(ending, []), *node.get("always_nodes", [])]
        return ran
