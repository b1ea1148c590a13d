# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The units of the daemon of the plugin dhcp."""

from __future__ import annotations

import os
import pathlib
import socket

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot import dhcp_units, unit_files
from ansible_collections.cni.node.plugins.module_utils._node.boot.dhcp_units import SERVICE, SOCKET_UNIT

EXECUTABLE = "/opt/cni/bin/dhcp"
FILES = {SERVICE: "created", SOCKET_UNIT: "created", f"sockets.target.wants/{SOCKET_UNIT}": "created"}
STARTED = {"dhcp.sock": "started"}


@pytest.fixture
def paths(root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> NodePaths:
    """Return the paths of a node on which systemd is running."""
    paths = NodePaths.below(str(root))
    for path in (paths.systemd_dir, os.path.dirname(paths.dhcp_socket)):
        pathlib.Path(path).mkdir(parents=True)
    # The path of a socket has 108 bytes at most.
    monkeypatch.chdir(root)
    return paths._replace(dhcp_socket=os.path.relpath(paths.dhcp_socket))


@pytest.fixture
def systemctl(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the calls of systemctl."""
    calls: list[str] = []
    monkeypatch.setattr(unit_files, "systemctl", lambda dummy, *arguments: calls.append(" ".join(arguments)))
    return calls


def settle(paths: NodePaths, executable: str | None = EXECUTABLE) -> tuple[dict[str, str], list[str]]:
    """Set the units up, and return the actions by file, and the warnings; a dry run predicts both."""
    predicted = dhcp_units.set_up(paths, executable, 5, dry_run=True)
    done = dhcp_units.set_up(paths, executable, 5, dry_run=False)
    assert predicted == done
    changes, warnings = done
    return {_name(paths, change.path): change.action for change in changes}, warnings


def _name(paths: NodePaths, path: str) -> str:
    directory = paths.unit_dir if path.startswith(paths.unit_dir) else os.path.dirname(paths.dhcp_socket)
    return os.path.relpath(path, directory)


def listen(paths: NodePaths) -> socket.socket:
    """Listen as systemd does for the socket unit."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(paths.dhcp_socket)
    listener.listen()
    return listener


def read(paths: NodePaths, name: str) -> list[str]:
    return (pathlib.Path(paths.unit_dir) / name).read_text(encoding="utf-8").splitlines()


def test_the_units_are_written_once_and_removed_completely(paths: NodePaths, systemctl: list[str]) -> None:
    assert settle(paths) == ({**FILES, **STARTED}, [])
    assert systemctl == ["daemon-reload", f"start {SOCKET_UNIT}"]
    modes = {(pathlib.Path(paths.unit_dir) / name).stat().st_mode & 0o777 for name in (SERVICE, SOCKET_UNIT)}
    assert modes == {0o644}
    systemctl.clear()
    with listen(paths):
        assert settle(paths) == ({}, [])
        assert systemctl == []
        assert settle(paths, None) == (dict.fromkeys(FILES, "removed"), [])
    assert systemctl == [f"stop {SOCKET_UNIT} {SERVICE}", "daemon-reload"]
    assert os.listdir(paths.unit_dir) == []
    assert settle(paths, None) == ({}, [])


def test_the_socket_starts_the_executable_of_the_plugin_dir(paths: NodePaths, systemctl: list[str]) -> None:
    settle(paths, "/srv/100% cni/dhcp")
    assert 'ExecStart="/srv/100%% cni/dhcp" daemon' in read(paths, SERVICE)
    assert f"ListenStream={paths.dhcp_socket}" in read(paths, SOCKET_UNIT)
    assert os.readlink(f"{paths.unit_dir}/sockets.target.wants/{SOCKET_UNIT}") == f"{paths.unit_dir}/{SOCKET_UNIT}"


def test_a_socket_that_was_stopped_is_started_again(paths: NodePaths, systemctl: list[str]) -> None:
    settle(paths)
    systemctl.clear()
    assert settle(paths) == (STARTED, [])
    assert systemctl == ["daemon-reload", f"start {SOCKET_UNIT}"]


def test_a_running_daemon_is_not_restarted_for_another_executable(paths: NodePaths, systemctl: list[str]) -> None:
    settle(paths)
    systemctl.clear()
    with listen(paths):
        assert settle(paths, "/usr/lib/cni/dhcp") == ({SERVICE: "changed"}, [])
    assert systemctl == ["daemon-reload"]


def test_the_daemon_of_another_program_is_left_alone(paths: NodePaths, systemctl: list[str]) -> None:
    with listen(paths):
        changes, (warning,) = settle(paths)
        assert (changes, systemctl, os.path.exists(paths.unit_dir)) == ({}, [], False)
        assert settle(paths, None) == ({}, [])
    assert warning.startswith(f"dhcp_daemon: another daemon listens on {paths.dhcp_socket} already")


def test_files_of_others_are_not_removed(paths: NodePaths, systemctl: list[str]) -> None:
    settle(paths)
    wants = pathlib.Path(paths.unit_dir) / "sockets.target.wants"
    others = [wants.parent / "cni-dhcp.socket", wants / "cni-dhcp.socket"]
    for path in others:
        path.write_text("[Socket]\n", encoding="utf-8")
    settle(paths, None)
    assert sorted(path for path in wants.parent.rglob("*") if path.is_file()) == sorted(others)


def test_units_of_a_node_that_is_not_booted_are_enabled_and_a_warning_says_so(
    paths: NodePaths, systemctl: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.rmdir(paths.systemd_dir)
    monkeypatch.setattr(unit_files, "require_systemd", lambda *dummy: None)
    changes, (warning,) = settle(paths)
    assert changes == FILES
    assert warning.startswith(f"systemd is not running: {SOCKET_UNIT} listens on {paths.dhcp_socket} from the ")
    assert settle(paths) == ({}, [warning])


def test_without_systemd_units_are_refused(paths: NodePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    os.rmdir(paths.systemd_dir)
    monkeypatch.setattr(os.path, "exists", lambda dummy: False)
    with pytest.raises(CniError, match="dhcp_daemon requires systemd"):
        dhcp_units.set_up(paths, EXECUTABLE, 5, dry_run=True)
    assert dhcp_units.set_up(paths, None, 5, dry_run=True) == ([], [])
