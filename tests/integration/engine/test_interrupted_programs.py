# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs that start from the library end by the signal that interrupts them, and print nothing."""

from __future__ import annotations

import fcntl
import pathlib
import signal
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._node.boot import command_file
from ansible_collections.cni.node.plugins.module_utils._node.plugins import sources
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.until import until

COMMAND, PLUGIN = "/run/cni-node", "/run/bridge"


@pytest.fixture
def locked(node: EngineNode, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Library]:
    """Return a library whose lock is held, as during its removal, so that each program waits."""
    library = libraries.provide()
    monkeypatch.setenv(*libraries.request(library).popitem())
    command_file.set_up(COMMAND, {}, dry_run=False)
    pathlib.Path(PLUGIN).write_bytes(sources.make_builtin_plugins(sys.executable, library)["bridge"])
    pathlib.Path(PLUGIN).chmod(0o755)
    monkeypatch.setenv("CNI_COMMAND", "VERSION")
    with open(f"{library.path}/.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield library


def is_waiting(process: subprocess.Popen[str]) -> bool:
    locks = pathlib.Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return any("->" in line and f" {process.pid} " in line for line in locks)


@pytest.mark.parametrize("program", ["command", "restore", "plugin"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_program_ends_without_a_traceback(locked: Library, program: str, number: signal.Signals) -> None:
    argv = {
        "command": [COMMAND, "status"],
        "restore": [sys.executable, "-I", locked.path, "/var/lib/cni"],
        "plugin": [PLUGIN],
    }[program]
    # Shells let their background processes ignore the signal, this one perhaps among them.
    full = ["env", "--default-signal=INT", *argv]
    with subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: is_waiting(process) or None)
        process.send_signal(number)
        assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == -number
