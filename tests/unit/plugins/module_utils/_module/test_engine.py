# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The standard error of plugins that succeeded is kept by attachment, is safe to show, and has a limited size."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters, ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._module.engine import StderrLog
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins

BLUE, RED = (Attachment("net", name, "eth0") for name in ("blue", "red"))
REQUEST = b'{"cniVersion": "1.0.0", "name": "net", "type": "lab"}'


@pytest.fixture
def plugins(tmp_path: pathlib.Path) -> ScriptedPlugins:
    return ScriptedPlugins(tmp_path / "bin")


def executor(plugins: ScriptedPlugins, log: StderrLog | None) -> ProcessExecutor:
    return ProcessExecutor([str(plugins.path)], 30, listener=log)


def test_stderr_of_each_call_is_kept_with_its_attachment(plugins: ScriptedPlugins) -> None:
    plugins.write(
        "lab",
        ADD=ScriptedAnswer(stderr="no \x1b[2J IPv6\n\n"),
        CHECK=ScriptedAnswer(stderr=" \n"),
        DEL=ScriptedAnswer(stderr="gone\nnow\n"),
    )
    log = StderrLog()
    for command, attachment in (("ADD", BLUE), ("CHECK", BLUE), ("DEL", BLUE), ("DEL", RED), ("ADD", None)):
        executor(plugins, log).execute("lab", REQUEST, Parameters(command, attachment))
    gone = {"type": "lab", "command": "DEL", "text": "gone\nnow"}
    assert log.entries(BLUE.key) == [{"type": "lab", "command": "ADD", "text": "no \\x1b[2J IPv6"}, gone]
    assert log.entries(RED.key) == [gone]
    assert (log.entries(("net", "none", "eth0")), log.omitted) == ([], 0)


def test_output_of_a_failed_plugin_is_only_in_its_error(plugins: ScriptedPlugins) -> None:
    plugins.write("lab", ADD=ScriptedAnswer(stderr="why\n", exit=1))
    log = StderrLog()
    error = error_of(executor(plugins, log).execute, "lab", REQUEST, Parameters("ADD", BLUE))
    assert ("why" in error.details, log.entries(BLUE.key)) == (True, [])


def test_the_output_of_one_and_of_all_plugins_is_limited(plugins: ScriptedPlugins) -> None:
    plugins.write("lab", ADD=ScriptedAnswer(stderr_bytes=1024 * 1024))
    log = StderrLog(40 * 1024)
    for dummy in range(4):
        executor(plugins, log).execute("lab", REQUEST, Parameters("ADD", BLUE))
    texts = [entry["text"] for entry in log.entries(BLUE.key)]
    assert [len(text) <= 16 * 1024 for text in texts] == [True, True]
    assert log.omitted == 2


def test_stderr_is_dropped_without_a_listener(plugins: ScriptedPlugins) -> None:
    plugins.write("lab", ADD=ScriptedAnswer(stderr="no IPv6\n"))
    executor(plugins, None).execute("lab", REQUEST, Parameters("ADD", BLUE))
