# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The units that run the daemon of the plugin dhcp, as its project recommends them."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot import unit_files
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, plan_change
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.dhcp_daemon import find_fault

SOCKET_UNIT = "cni-node-dhcp.socket"
SERVICE = "cni-node-dhcp.service"
_BANNER = (
    "# Written by cni.node for dhcp_daemon of cni.node.conflists: changes are overwritten, use a drop-in instead.\n"
)
_DOCUMENTATION = "https://github.com/containernetworking/plugins/tree/main/plugins/ipam/dhcp"
# A daemon that ends removes the file of its socket: PartOf= stops the socket, too, and the next start makes the file again.
_SOCKET_TEXT = """\
[Unit]
Description=Socket of the DHCP daemon of CNI
Documentation={documentation}
PartOf={service}

[Socket]
ListenStream={socket}
SocketMode=0600
RemoveOnStop=true

[Install]
WantedBy=sockets.target
"""
_SERVICE_TEXT = """\
[Unit]
Description=DHCP daemon of CNI
Documentation={documentation}
After=network.target {socket_unit}
Requires={socket_unit}
RequiresMountsFor={mounts}

[Service]
ExecStart={command}
"""


def set_up(
    paths: NodePaths, executable: str | None, timeout: float, *, dry_run: bool
) -> tuple[list[FileChange], list[str]]:
    """Install the units and start the socket, or remove both if `executable` is None.

    Args:
        executable: Path of the plugin dhcp.
        timeout: Seconds to wait for another run that prepares files for boot.

    Returns:
        The changes made, or predicted in a dry run, and warnings.

    Raises:
        CniError: ``INVALID_ENVIRONMENT`` without systemd; ``IO_FAILURE``; ``TRY_AGAIN`` after the timeout.
    """
    units = DhcpUnits(paths)
    warnings: list[str] = []
    if executable is not None:
        purpose = "dhcp_daemon requires systemd on the node, which runs the daemon"
        advice = "leave out dhcp_daemon, and start the daemon as this node starts services"
        unit_files.require_systemd(paths.systemd_dir, purpose, advice)
        if units.is_taken():
            return [], [
                f"dhcp_daemon: another daemon listens on {paths.dhcp_socket} already, so no units are installed"
            ]
        if not units.can_start() and find_fault(paths.dhcp_socket):
            warnings.append(
                f"systemd is not running: {SOCKET_UNIT} listens on {paths.dhcp_socket} from the next boot on"
            )
    changes = units.plan_changes(executable)
    if changes and not dry_run:
        with hold_lock(paths.restore_lock, exclusive=True, timeout=timeout, what="the set-up of the daemon of dhcp"):
            changes = units.plan_changes(executable)
            units.carry_out(changes)
    return changes, warnings


class DhcpUnits:
    """The units of the daemon, and the link that enables its socket."""

    def __init__(self, paths: NodePaths) -> None:
        self._paths = paths
        self._socket_unit, self._service, self._link = (
            os.path.join(paths.unit_dir, name) for name in (SOCKET_UNIT, SERVICE, f"sockets.target.wants/{SOCKET_UNIT}")
        )

    def is_taken(self) -> bool:
        """Return whether a daemon runs that these units have not started."""
        return not os.path.lexists(self._socket_unit) and not find_fault(self._paths.dhcp_socket)

    def can_start(self) -> bool:
        """Return whether systemd is running."""
        return os.path.isdir(self._paths.systemd_dir)

    def plan_changes(self, executable: str | None) -> list[FileChange]:
        """Plan all changes, in the order in which to apply them; the start of the socket is the last one."""
        texts = {} if executable is None else self._texts(executable)
        files = [plan_change(path, texts.get(path)) for path in (self._service, self._socket_unit)]
        link = unit_files.plan_link(self._link, self._socket_unit if texts else None)
        if executable is None:
            return unit_files.plan(self._paths, (link, *files[::-1]))
        changes = unit_files.plan(self._paths, (*files, link))
        if self.can_start() and find_fault(self._paths.dhcp_socket):
            listens = f"{SOCKET_UNIT} listens\n".encode()
            changes.append(
                FileChange("", self._paths.dhcp_socket, unit_files.STARTED, b"no process listens\n", listens)
            )
        return changes

    def carry_out(self, changes: t.Sequence[FileChange]) -> None:
        """Apply changes, as `unit_files.carry_out`.

        A running daemon is not restarted, because it would forget its leases.
        """
        removed = [change.path for change in changes if change.after is None]
        stopped = [os.path.basename(path) for path in (self._socket_unit, self._service) if path in removed]
        starts = any(change.action == unit_files.STARTED for change in changes)
        unit_files.carry_out(self._paths, changes, stopped=stopped, then=["start", SOCKET_UNIT] if starts else ())

    def _texts(self, executable: str) -> dict[str, bytes]:
        """Return the content of each unit by its path."""
        socket_text = _SOCKET_TEXT.format(documentation=_DOCUMENTATION, service=SERVICE, socket=self._paths.dhcp_socket)
        service_text = _SERVICE_TEXT.format(
            documentation=_DOCUMENTATION,
            socket_unit=SOCKET_UNIT,
            mounts=unit_files.mounts(os.path.dirname(executable)),
            command=unit_files.command(executable, "daemon"),
        )
        texts = {self._socket_unit: socket_text, self._service: service_text}
        return {path: (_BANNER + text).encode() for path, text in texts.items()}
