# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each capability in the unit of the service that repairs is needed: without it, something that was lost stays lost."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import time
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import NETWORK, map_port, rules
from ansible_collections.cni.node.tests.integration.engine.watcher import capabilities, command, watch
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

# Without one of these, the kernel does not notify the service.
TO_LISTEN = ("CAP_NET_ADMIN", "CAP_NET_BROADCAST")
PRIVATE = pathlib.Path("/run/private")
NOBODY = 65534


@contextlib.contextmanager
def reach(namespace: Namespace, capability: str) -> t.Iterator[str]:
    """Return a path of the network namespace that leads there only with the capability, if it concerns paths."""
    if capability == "CAP_SYS_PTRACE":
        with subprocess.Popen(namespace.argv("sleep", "infinity")) as process:
            path = f"/proc/{process.pid}/ns/net"
            try:
                until(lambda: os.path.samefile(path, namespace.path) or None)
                yield path
            finally:
                process.kill()
    elif capability == "CAP_DAC_READ_SEARCH":
        PRIVATE.mkdir(mode=0o700)
        os.chown(PRIVATE, NOBODY, NOBODY)
        path = f"{PRIVATE}/{namespace.name}"
        pathlib.Path(path).touch()
        subprocess.run(["mount", "--bind", namespace.path, path], check=True)
        try:
            yield path
        finally:
            subprocess.run(["umount", path], check=True)
    else:
        yield str(namespace.path)


@pytest.mark.parametrize("capability", [name for name in capabilities() if name not in TO_LISTEN])
def test_a_loss_remains_without(
    capability: str, request: pytest.FixtureRequest, node: EngineNode, blue: Namespace
) -> None:
    if capability == "CAP_NET_RAW":
        request.getfixturevalue("legacy_iptables")
    node.write(NETWORK)
    with reach(blue, capability) as path:
        node.attach({**map_port(blue), "netns": path})
        before = rules(), blue.routes()
        with watch(without=capability):
            subprocess.run(["iptables", "--table", "nat", "--flush"], check=True)
            blue.run("ip", "route", "del", "default")
            time.sleep(3)
            assert before != (rules(), blue.routes())
        with watch() as watcher:
            watcher.await_line("repaired: ")
            assert before == (rules(), blue.routes())


@pytest.mark.parametrize("capability", TO_LISTEN)
def test_the_service_does_not_start_without(capability: str, node: EngineNode) -> None:
    libraries.provide()
    done = subprocess.run(command(without=capability), check=False, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert "listen to the kernel's notifications: Operation not permitted" in done.stdout
