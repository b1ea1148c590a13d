# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A daemon runs if a process accepts connections to its socket. The corpus of the level node has the networks."""

from __future__ import annotations

import json
import pathlib
import socket

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.dhcp_daemon import (
    find_fault,
    require_daemons,
)


def listen(path: pathlib.Path, backlog: int = 1) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(backlog)
    return listener


def network(path: pathlib.Path) -> NetworkConfiguration:
    ipam = {"type": "dhcp", "daemonSocketPath": str(path)}
    keys = {"cniVersion": "1.0.0", "name": "lan", "plugins": [{"type": "macvlan", "ipam": ipam}]}
    return config.parse(json.dumps(keys).encode(), "lan.conflist")


def test_a_missing_file_and_a_socket_without_a_process_are_told_apart(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "dhcp.sock"
    assert find_fault(str(path)) == f"{path} does not exist"
    with listen(path):
        assert find_fault(str(path)) == ""
    assert find_fault(str(path)) == f"no process listens on {path}"


def test_a_listening_socket_whose_queue_is_full_counts_as_running(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "dhcp.sock"
    with listen(path, 0), socket.socket(socket.AF_UNIX) as first:
        first.connect(str(path))
        assert find_fault(str(path)) == ""


@pytest.mark.parametrize("path", [f"/{'x' * 108}", "/run/\udc80\ud800", "/dev/null/dhcp.sock"], ids=ascii)
def test_a_path_that_cannot_be_connected_to_has_a_reason(path: str) -> None:
    assert " cannot be connected to: " in find_fault(path)


def test_a_network_without_its_daemon_is_refused_with_the_remedy(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "dhcp.sock"
    with pytest.raises(CniError) as caught:
        require_daemons(network(path))
    assert (caught.value.code, caught.value.msg) == (
        Code.NOT_AVAILABLE,
        f"network lan: the daemon of the plugin dhcp does not run: {path} does not exist",
    )
    assert "cni_node_dhcp" in caught.value.details
    with listen(path):
        require_daemons(network(path))
