# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rulebook, with ansible-rulebook itself, from an alert to the launch of a workflow at a stand-in for a controller."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import typing as t
import urllib.error
import urllib.parse
import urllib.request

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support import awx, installed, web_server
from ansible_collections.cni.node.tests.support.until import until
from tools.paths import tool

TOKEN = "sesame"
# Seconds, for a virtual machine of Java on a busy computer.
STARTS_WITHIN = 300


class Controller(t.NamedTuple):
    """The address of a stand-in for a controller, and the parameters of each launch."""

    url: str
    launches: list[JsonObject]


@contextlib.contextmanager
def controller(workflows: t.Collection[str]) -> t.Iterator[Controller]:
    """Run a stand-in for a controller that has only these workflows."""
    launches: list[JsonObject] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *arguments: t.Any) -> None:
            pass

        def answer(self, content: JsonObject) -> None:
            data = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            url = urllib.parse.urlparse(self.path)
            job = {"id": 7, "url": "/api/v2/workflow_jobs/7/", "status": "successful", "artifacts": {}, "created": ""}
            name = urllib.parse.parse_qs(url.query).get("name", [""])[0]
            if url.path.endswith("unified_job_templates/"):
                self.answer({"results": [describe_workflow(name)] if name in workflows else []})
            else:
                self.answer({**job, "version": "4.6.0", "results": [job]})

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            launches.append({"path": self.path, **sent})
            self.answer({"id": 7, "url": "/api/v2/workflow_jobs/7/", "status": "pending"})

    with web_server.serve(Handler) as url:
        yield Controller(url, launches)


def describe_workflow(name: str) -> JsonObject:
    prompts = {f"ask_{what}_on_launch": what == "limit" for what in ("limit", "labels", "inventory", "variables")}
    return {
        "id": 1,
        "type": "workflow_job_template",
        "name": name,
        "summary_fields": {"organization": {"name": "Default"}},
        "related": {"launch": "/launch/"},
        **prompts,
    }


@contextlib.contextmanager
def played(collections: pathlib.Path, directory: pathlib.Path, url: str) -> t.Iterator[str]:
    """Run the rulebook of the installed collection; yield the address of its webhook when it listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    variables = directory / "variables.json"
    values = {"webhook_token": TOKEN, "webhook_host": "127.0.0.1", "webhook_port": port}
    variables.write_text(json.dumps(values), encoding="utf-8")
    command = [tool("ansible-rulebook"), "--rulebook", "cni.node.repair_drift", "--vars", variables]
    environment = {
        **os.environ,
        "PATH": f"{tool('ansible-galaxy').parent}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "EDA_JOB_TEMPLATE_REFRESH_DELAY": "0.05",
    }
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(
            [*map(str, command), "--controller-url", url, "--controller-token", "x"],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        address = f"http://127.0.0.1:{port}/alerts"
        try:
            until(lambda: send(address, {}, "wrong") if process.poll() is None else "ended", STARTS_WITHIN)
            assert process.poll() is None, (directory / "log").read_text(encoding="utf-8")
            yield address
        finally:
            process.terminate()


def send(address: str, content: JsonObject, token: str = TOKEN) -> int | None:
    """Return the status with which a webhook answers, or None if it does not listen."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(address, json.dumps(content).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code
    except urllib.error.URLError:
        return None


def alert(instance: str, name: str = "CniNodeDrift", status: str = "firing") -> JsonObject:
    return {"status": status, "labels": {"alertname": name, "instance": instance}}


def test_an_alert_starts_the_configured_workflow_once_for_each_node(
    collections: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is missing: run tools/system-packages rulebook")
    config = installed.root(collections) / "extensions" / "controller" / "config" / "workflows.yml"
    names = [workflow["name"] for workflow in awx.load(config)["controller_workflows"]]
    alerts = [
        alert("one:9100"),
        alert("two"),
        alert("one:9100"),
        alert("three:9100", name="DiskFull"),
        alert("four:9100", status="resolved"),
    ]
    with controller(names) as stand_in, played(collections, tmp_path, stand_in.url) as address:
        assert send(address, {"alerts": [alert("five:9100")]}, token="wrong") == 401
        assert send(address, {"alerts": [*alerts, alert("last:9100")]}) == 200
        until(lambda: True if any(launch["limit"] == "last" for launch in stand_in.launches) else None)
    assert sorted(launch["limit"] for launch in stand_in.launches) == ["last", "one", "two"]
    assert all(launch["extra_vars"] == {} and launch["path"] == "/launch/" for launch in stand_in.launches)
