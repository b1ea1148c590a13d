# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The engine in another process, on the same node."""

from __future__ import annotations

import contextlib
import subprocess
import typing as t

from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import child, close_stdin, read_line

PROGRAM = """
import pathlib, sys
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode

directory, command, name, container = sys.argv[1:]
node = ConformanceNode(pathlib.Path(directory))
network = node.network("a", "b", name=name)
attachment = node.attachment(container, network=name)
print("begun", flush=True)
if command == "ADD":
    node.runtime.add(network, attachment)
elif command == "CHECK":
    node.runtime.check(node.record(attachment))
elif command == "DEL":
    node.runtime.delete(node.record(attachment))
else:
    network_operations.gc(node.runtime, network)
print("done")
"""


@contextlib.contextmanager
def start_operation(
    node: ConformanceNode, command: str, container: str = "blue", network: str = "net"
) -> t.Iterator[subprocess.Popen[str]]:
    """Start a process that runs one operation with the plugins a and b, and prints "done" at its end."""
    with child(PROGRAM, node.directory, command, network, container) as process:
        assert read_line(process) == "begun"
        yield process


@contextlib.contextmanager
def hold_in_other_process(
    node: ConformanceNode, command: str, container: str = "blue", network: str = "net", plugin: str = "a"
) -> t.Iterator[subprocess.Popen[str]]:
    """Yield a process that is in the middle of an operation. After the block, let it finish unless it was killed."""
    with contextlib.ExitStack() as processes:
        with node.plugins.gate() as gate:
            node.write(plugin, **{command: ScriptedAnswer(hold=gate)})
            process = processes.enter_context(start_operation(node, command, container, network))
            node.plugins.wait_for_held(1)
            yield process
        assert close_stdin(process) == ("done" if process.returncode == 0 else "")
