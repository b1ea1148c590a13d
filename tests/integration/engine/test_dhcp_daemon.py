# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The installed units run the real daemon of the plugin dhcp, and its absence is reported before ADD fails."""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import pathlib
import shlex
import socket
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import REQUIRES_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine.engine_node import PLUGIN_DIRS, EngineNode

SOCKET = pathlib.Path("/run/cni/dhcp.sock")
UNITS = [pathlib.Path(f"/etc/systemd/system/cni-node-dhcp.{kind}") for kind in ("service", "socket")]
EXECUTABLES = [path for path in (pathlib.Path(directory, "dhcp") for directory in PLUGIN_DIRS) if path.exists()]
LAN: JsonObject = {**reference_networks.network(reference_networks.bridge(ipam={"type": "dhcp"}), name="lan")}
STRICT: JsonObject = {"conflists": [{"config": LAN}], "validate": {"strict": True}}

pytestmark = pytest.mark.skipif(not EXECUTABLES, reason="install containernetworking-plugins")


@pytest.fixture
def with_units(node: EngineNode) -> t.Iterator[EngineNode]:
    """Remove the units after the test, whatever its outcome."""
    yield node
    node.run("conflists", conflists=[], purge=True).succeeded()
    assert not any(path.exists() for path in UNITS)


@contextlib.contextmanager
def activate_socket() -> t.Iterator[None]:
    """Listen on the socket of the socket unit, and run the command of the service, as systemd does for both."""
    service, unit = (_read(path) for path in UNITS)
    path = pathlib.Path(unit["Socket"]["ListenStream"])
    path.parent.mkdir()
    command = shlex.split(service["Service"]["ExecStart"])
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        pass_socket = f'exec env LISTEN_PID=$$ LISTEN_FDS=1 "$@" 3<&{listener.fileno()}'
        argv = ["bash", "-c", pass_socket, "bash", *command]
        daemon = subprocess.Popen(argv, pass_fds=[listener.fileno()], cwd="/")
    try:
        yield
    finally:
        daemon.kill()
        daemon.wait()


def _read(path: pathlib.Path) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(path)
    return unit


def release_lease() -> JsonObject | None:
    """Run DEL of the plugin, and return its error, if any."""
    environment = {
        **os.environ,
        "CNI_COMMAND": "DEL",
        "CNI_CONTAINERID": "blue",
        "CNI_NETNS": "/run/netns/blue",
        "CNI_IFNAME": "eth0",
        "CNI_PATH": str(EXECUTABLES[0].parent),
    }
    (plugin,) = LAN["plugins"]
    request = json.dumps({**plugin, "cniVersion": "1.0.0", "name": "lan"})
    done = subprocess.run(
        [EXECUTABLES[0]], env=environment, input=request, capture_output=True, text=True, check=False, timeout=60
    )
    return json.loads(done.stdout) if done.returncode else None


@REQUIRES_SYSTEMD
def test_the_installed_units_run_a_daemon_that_answers_the_plugin(with_units: EngineNode) -> None:
    wanted = {"conflists": [], "dhcp_daemon": True}
    with_units.run("conflists", **wanted).succeeded()
    error = release_lease()
    assert error is not None
    assert "error dialing DHCP daemon" in error["msg"]
    with activate_socket():
        assert release_lease() is None
        assert with_units.run("conflists", **wanted).succeeded().result["changed"] is False
        with_units.run("conflists", **STRICT).succeeded()


@REQUIRES_SYSTEMD
def test_a_network_without_its_daemon_is_reported_with_the_reason(with_units: EngineNode) -> None:
    missing = f"{SOCKET} does not exist"
    refused = with_units.run("conflists", **STRICT).require_failure(missing, "(dhcp-daemon-missing)", "cni_node_dhcp")
    assert "dialing" not in refused
    lax = {**STRICT, "validate": {}}
    (finding,) = with_units.run("conflists", **lax).succeeded().result["findings"]
    assert (finding["code"], finding["severity"]) == ("dhcp-daemon-missing", "warning")
    with_units.run("conflists", **STRICT, _ansible_check_mode=True).succeeded()
    verified = with_units.run("verify").require_failure(f"the daemon of the plugin dhcp does not run: {missing}")
    assert "dialing" not in verified
    with_units.run("conflists", conflists=[], dhcp_daemon=True).succeeded()
    with activate_socket():
        with_units.run("conflists", **STRICT).succeeded()
    with_units.run("conflists", **STRICT).require_failure(f"no process listens on {SOCKET}")
    with_units.run("verify").require_failure(f"no process listens on {SOCKET}", "provision with cni_node_dhcp: true")
