# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names and messages from other programs are shown as visible text and never lose a result."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import re
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project, task
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import open_network
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import inside
from ansible_collections.cni.node.tests.support import web_server
from ansible_collections.cni.node.tests.support.namespaces import namespace, namespaces, rename_link
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

ATTACHMENTS, INFO = "cni.node.attachments", "cni.node.node_info"
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Clears the screen and reverses the direction of writing.
TRICK, SHOWN = "\x1b[2J\u202egone", r"\x1b[2J\u202egone"


def require_safe_text(played: PlaybookRun) -> PlaybookRun:
    """Assert that the terminal and the result have only visible text."""
    for text in texts([played.output, *(run.result for run in played.tasks)]):
        assert not UNSAFE.search(text), ascii(text)
    return played


def texts(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from texts(part)


def test_a_change_is_reported_despite_an_undecodable_link_name(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    arguments = {"attachments": [{"network": "net", "netns": "blue"}]}
    with namespace("blue") as blue:
        assert project.play([task("attach", ATTACHMENTS, arguments)]).succeeded()["attach"].changed
        with inside(blue.path):
            rename_link(b"eth0", b"caf\xe9\x1b[2J")
        again = require_safe_text(project.play([task("again", ATTACHMENTS, arguments)]).succeeded())["again"]
    assert again.changed
    assert again.actions() == {"blue": "recreated"}
    assert r"caf\udce9\x1b[2J" in again.entries[0]["reason"]


def test_a_plugins_message_cannot_control_the_terminal(node: EngineNode, project: Project) -> None:
    error = {"code": 100, "msg": f"msg {TRICK}", "details": f"first {TRICK}\nsecond\r"}
    open_network(node, "loud", ADD=ScriptedAnswer(error=error, stderr=f"stderr {TRICK}"))
    extra = {"ips": [{"address": "10.9.0.2/24"}], f"odd{TRICK}": TRICK}
    open_network(node, "odd", ADD=ScriptedAnswer(result=extra))
    with namespaces("red", "blue"):
        items = [{"network": "loud", "netns": "red"}, {"network": "odd", "netns": "blue"}]
        tasks = [task("attach", ATTACHMENTS, {"attachments": items}), task("look", INFO, {"gather": ["attachments"]})]
        played = require_safe_text(project.play(tasks, "--diff"))
    done = played["attach"]
    assert done.actions() == {"red": "failed", "blue": "added"}
    done.require_failure(f"msg {SHOWN}; first {SHOWN}\nsecond\\r")
    assert done.entries[1]["result"][f"odd{SHOWN}"] == SHOWN


def test_a_servers_answer_cannot_control_the_terminal(node: EngineNode, project: Project) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *arguments: t.Any) -> None:
            pass

        def do_GET(self) -> None:
            self.wfile.write(b"HTTP/1.1 404 not \x1b[2J\x9bhere\r\nContent-Length: 0\r\n\r\n")

    with web_server.serve(Handler) as url:
        arguments = {"source": f"{url}/plugins.tgz", "checksum": "sha256:" + "0" * 64}
        played = require_safe_text(project.play([task("install", "cni.node.plugins", arguments)]))
    played["install"].require_failure(r"the server returned 404 not \x1b[2J\x9bhere")


NAMES = {
    b"10-\x1b[31mred.conflist": r"10-\x1b[31mred.conflist",
    b"20-two\nlines.conflist": r"20-two\nlines.conflist",
    b"30-caf\xe9.conflist": r"30-caf\udce9.conflist",
}


@pytest.mark.parametrize(
    "content", [b"{", json.dumps(reference_networks.network(reference_networks.bridge(), name="odd")).encode()]
)
def test_file_names_of_the_node_are_shown_on_one_line(node: EngineNode, project: Project, content: bytes) -> None:
    for name in NAMES:
        pathlib.Path(os.fsdecode(os.fsencode(node.conf_dir) + b"/" + name)).write_bytes(content)
    conflist: JsonObject = {"config": reference_networks.network(reference_networks.bridge(bridge="br1"), name="net")}
    with namespace("blue"):
        played = require_safe_text(
            project.play(
                [
                    task("look", INFO, {}),
                    task("attach", ATTACHMENTS, {"attachments": [{"network": "none", "netns": "blue"}]}),
                    task("collect", "cni.node.gc", {}),
                    task("verify", "cni.node.verify", {"networks": ["none"]}),
                    task("write", "cni.node.conflists", {"conflists": [conflist]}),
                    task("purge", "cni.node.conflists", {"purge": True}),
                ],
                "--diff",
            )
        )
    # A line end stays in data; in a message it would start another line.
    shown = {text.replace(r"\n", "\n") for text in NAMES.values()}
    assert {os.path.basename(network["path"]) for network in played["look"].result["networks"]} == shown
    if content == b"{":
        for text in NAMES.values():
            played["attach"].require_failure(f"{node.conf_dir}/{text}")
            assert any(text in warning for warning in played["write"].warnings), played["write"].warnings


def test_file_names_of_the_controller_are_shown_on_one_line(project: Project, tmp_path: pathlib.Path) -> None:
    directory = tmp_path / "files"
    directory.mkdir()
    for name in NAMES:
        pathlib.Path(os.fsdecode(os.fsencode(directory) + b"/" + name)).write_bytes(b"{")
    files = "query('ansible.builtin.fileglob', directory ~ '/*')"
    findings = f"{files} | cni.node.conflist_findings(files=true)"
    tasks = [
        task("find", "ansible.builtin.debug", {"msg": f"{{{{ {findings} }}}}"}),
        task(
            "refuse", "ansible.builtin.assert", {"that": f"({findings}) | map(attribute='file') | unique | count == 3"}
        ),
    ]
    played = require_safe_text(project.play(tasks, vars={"directory": str(directory)}).succeeded())
    assert all(json.dumps(name)[1:-1] in played.output for name in NAMES.values()), played.output
    validated = require_safe_text(project.run("cni.node.validate", cni_node_conflist_files=str(directory)))
    assert validated.status != 0
