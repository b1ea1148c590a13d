# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs of an automation controller: answers to surveys, a workflow, events, artifacts and secrets."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.tests.integration.ansible import releases
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import NODE_PYTHON
from ansible_collections.cni.node.tests.integration.ansible.job_runner import Job, JobRunner
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import empty_node
from ansible_collections.cni.node.tests.support import ring
from ansible_collections.cni.node.tests.support.namespaces import Namespace

PASSWORD, TOKEN = "hunter2", "0p3n-s3s4m3"
PLUGINS = ("bridge", "host-local", "loopback", "portmap")
RELEASE = "1.0.1"
PARTS = ["plugins", "networks", "attachments"]
HIDDEN = {"secret", "remove"}
RECORD = pathlib.Path("/var/lib/cni/results/dbnet-red-eth0")
# In characters and bytes, for two attachments. AWX stores every event in a database.
LARGEST_RESULT, LARGEST_JOB = 10_000, 400_000

# Jobs by name, in the order in which they ran.
Jobs = dict[str, Job]


def _progress_play() -> str:
    checks = {"attachments": "{{ cni_node_attachments }}", "workers": 1, "progress": 0.0001, "on_drift": "fail"}
    task = {"name": "Check in several calls", "cni.node.attachments": checks}
    return yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": [task]}])


def _run_all(runner: JobRunner, node: dict[str, t.Any]) -> Jobs:
    """Run jobs on a node from its beginning to its end.

    The answers are choices that are not the defaults, empty ones, or none.
    """
    runner.describe(**node)
    answers = {"cni_node_concerns": PARTS, "cni_node_restart_runtime": "true", "cni_node_serial": "1"}
    ran = {"provision": runner.launch("cni.node provision", answers)}
    Namespace("red").run("ip", "route", "delete", "default")
    ran |= runner.follow("cni.node repair drift")
    everything = {
        "cni_node_repair_owners": ["cni.node", "podman"],
        "cni_node_repair_resources": ["rules", "interfaces"],
    }
    ran["repair some"] = runner.launch("cni.node repair", {"cni_node_hosts": "nodes", **everything})
    ran["progress"] = runner.play("progress.yml")
    upgrade = {"cni_node_plugins_version": RELEASE, "cni_node_plugins_remove_needed": "true"}
    ran["upgrade"] = runner.launch("cni.node upgrade", {**upgrade, "cni_node_max_fail_percentage": 50})
    ran["gc"] = runner.launch("cni.node gc", {"cni_node_gc_owners": ["containerd", "podman"], "cni_node_gc_min_age": 0})
    secret = {"args": {"IgnoreUnknown": "1", "TOKEN": TOKEN}}
    items = [{"network": "dbnet", "netns": name, **secret} for name in ("red", "blue")]
    runner.describe(**node, cni_node_attachments=items, cni_node_no_log=True)
    empty = {"cni_node_hosts": "", "cni_node_serial": ""}
    ran["secret"] = runner.launch("cni.node provision", empty, verbosity=3)
    assert TOKEN in RECORD.read_text(encoding="utf-8")
    ran["remove"] = runner.launch("cni.node remove", {"cni_node_confirm": "true", **empty}, verbosity=3)
    return ran


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory, python: str) -> t.Iterator[Jobs]:
    directory = tmp_path_factory.mktemp("controller")
    archive = releases.release(directory / "www" / "plugins.tgz", *PLUGINS)
    runner = JobRunner(directory, NODE_PYTHON if ring.IS_OUTER else python)
    (runner.project / "progress.yml").write_text(_progress_play(), encoding="utf-8")
    with empty_node(), releases.served(archive.parent, f"me:{PASSWORD}") as server:
        node = {
            "cni_node_plugins_source": f"{server.url}/plugins.tgz".replace("//", f"//me:{PASSWORD}@"),
            "cni_node_plugins_checksum": releases.checksum(archive),
            "cni_node_plugins_version": RELEASE,
            "cni_node_packages": False,
            "cni_node_concerns": PARTS,
        }
        yield _run_all(runner, node)


def test_jobs_provision_a_node_and_remove_everything(jobs: Jobs) -> None:
    provisioned = jobs["provision"].succeeded()
    messages = [entry["res"]["msg"].split(";")[0] for entry in provisioned.results()]
    assert messages == [
        "plugins 1.0.1: 4 installed",
        "1 of 1 network configurations changed",
        "2 of 2 network namespaces created",
        "attachments: 2 added",
        "networks: 1 verified",
        "1 release, 1 network, 2 attachments",
    ]
    for name in ("repair some", "upgrade", "gc", "secret", "remove"):
        jobs[name].succeeded()
    assert not RECORD.exists()


def test_the_workflow_repairs_drift_and_succeeds(jobs: Jobs) -> None:
    steps = ("verify", "report", "repair", "verify again")
    assert [(name, job.status) for name, job in jobs.items() if name in steps] == [
        ("verify", "failed"),
        *((name, "successful") for name in steps[1:]),
    ]
    lost = "the route to 0.0.0.0/0 is missing"
    assert lost in jobs["verify"].output
    assert lost in jobs["report"].output
    (repaired,) = jobs["repair"].results("Repair the attachments")
    assert repaired["res"]["msg"] == "attachments: 1 repaired, 1 unchanged"


def test_an_unanswered_question_leaves_the_value_of_the_inventory(jobs: Jobs) -> None:
    """The first job answers the question for the parts of the node, the other one does not."""
    for name in ("provision", "secret"):
        assert jobs[name].results("Write the networks")
        assert not jobs[name].results("Prepare the kernel")


def test_the_installed_collection_runs(jobs: Jobs) -> None:
    job = jobs["provision"]
    installed = job.artifacts.parents[2] / "collections"
    assert {entry["task_path"].startswith(f"{installed}/") for entry in job.results()} == {True}


def test_every_event_of_a_module_is_small_and_has_a_message(jobs: Jobs) -> None:
    results = [entry for name, job in jobs.items() if name not in HIDDEN for entry in job.results()]
    assert results
    for entry in results:
        assert isinstance(entry["res"]["msg"], str), entry
        assert len(json.dumps(entry["res"])) < LARGEST_RESULT, entry["task"]


def test_a_progress_line_is_an_event(jobs: Jobs) -> None:
    (line,) = [event for event in jobs["progress"].events if "[node] attachments: 1 of 2, " in event["stdout"]]
    assert line["event"] == "verbose"
    (checked,) = jobs["progress"].succeeded().results()
    assert checked["res"]["msg"].startswith("attachments: 2 checked; ")


@pytest.mark.parametrize("name", ["provision", "verify", "remove"])
def test_artifacts_are_small_and_no_fact_is_cached(jobs: Jobs, name: str) -> None:
    job = jobs[name]
    files = {str(path.relative_to(job.artifacts)): path for path in job.artifacts.rglob("*") if path.is_file()}
    assert files["status"].read_text(encoding="utf-8") == job.status
    assert files["rc"].read_text(encoding="utf-8") == str(job.rc)
    assert [path for path in files if path.startswith("fact_cache")] == []
    assert sum(path.stat().st_size for path in files.values()) < LARGEST_JOB


def test_no_artifact_has_a_secret(jobs: Jobs) -> None:
    """The source of the plugins has a password, which is never shown; the rest is hidden with cni_node_no_log."""
    written = [path for job in jobs.values() for path in job.artifacts.rglob("*") if path.is_file()]
    for secret in (PASSWORD, TOKEN):
        assert [path for path in written if secret.encode() in path.read_bytes()] == []
    for name in HIDDEN:
        hidden = [entry for entry in jobs[name].results() if "censored" in entry["res"]]
        assert hidden
