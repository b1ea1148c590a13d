# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot import program, unit_files
from ansible_collections.cni.node.plugins.module_utils._node.files.change import (
    FileChange,
    apply,
    plan_change,
    remove_empty,
)

_PROGRAM_NAME: t.Final = os.path.basename(NODE_PATHS.restore_program)
_LIST: t.Final = "# cache_dirs: "

# Firewalls start before network-pre.target and flush rules then; container runtimes may request the same addresses.
_TEXT: t.Final = """\
# Written by cni.node for the attachments with persist: changes are overwritten, use a drop-in instead.
{listed}
[Unit]
Description=Restore the CNI attachments of network namespaces
After=network-pre.target network.target
Before=containerd.service crio.service docker.service podman.service podman-restart.service kubelet.service
RequiresMountsFor={mounts}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={command}

[Install]
WantedBy=multi-user.target
"""


def require_systemd(systemd_dir: str) -> None:
    """Require systemd, which restores attachments at boot.

    Args:
        systemd_dir: A directory that exists while systemd is running.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    purpose = "persist requires systemd on the node, which restores attachments after a reboot"
    unit_files.require_systemd(systemd_dir, purpose, "leave out persist, and run this task after each boot")


class SystemdUnit:
    """The unit that restores attachments at boot, its link and its program."""

    def __init__(self, paths: NodePaths) -> None:
        self._paths = paths

    def read_cache_dirs(self) -> list[str]:
        """Return the cache directories that the unit restores from."""
        try:
            return [str(path) for paths in unit_files.read_comments(self._paths.restore_unit, _LIST) for path in paths]
        except TypeError:  # the unit was edited; this run overwrites it
            return []

    def read_program_path(self) -> str:
        """Return the path of the program that the unit runs, or the default path."""
        return unit_files.read_program_path(self._paths.restore_unit, self._paths.restore_program)

    def plan_changes(self, directories: t.Sequence[str], program_dir: str | None = None) -> list[FileChange]:
        """Plan the changes of the program, the unit and its link, in the order in which to apply them.

        Args:
            program_dir: Directory of the program; None to leave it where it is.
        """
        before = self.read_program_path()
        path = os.path.join(program_dir, _PROGRAM_NAME) if program_dir else before
        files = (
            {path: program.build(), self._paths.restore_unit: self._unit(directories, path).encode()}
            if directories
            else {}
        )
        # Later runs read the paths of the other files from the unit, so it is written first and removed last.
        current = [plan_change(file, files.get(file)) for file in (self._paths.restore_unit, path)]
        current.append(
            unit_files.plan_link(self._paths.restore_link, self._paths.restore_unit if directories else None)
        )
        moved = [plan_change(file, None) for file in sorted({before, self._paths.restore_program} - {path})]
        changes = [*current, *moved] if directories else [*moved, *reversed(current)]
        return [change for change in changes if change.changed]

    def carry_out(self, changes: t.Sequence[FileChange]) -> None:
        """Apply changes, and reload systemd if it is running."""
        for change in changes:
            if change.path == self._paths.restore_link:
                unit_files.apply_link(change)
                continue
            if change.path == self._paths.restore_unit and change.after is None:
                remove_empty(os.path.dirname(self.read_program_path()))
            apply(change)
            if unit_files.is_program(change.path) and change.after is None:
                remove_empty(os.path.dirname(change.path))
        if changes:
            unit_files.systemctl(self._paths, "daemon-reload")

    def _unit(self, directories: t.Sequence[str], path: str) -> str:
        comment = "" if path == self._paths.restore_program else f"\n{unit_files.PROGRAM_KEY}{json.dumps(path)}"
        return _TEXT.format(
            listed=f"{_LIST}{json.dumps(directories)}{comment}",
            mounts=unit_files.mounts(os.path.dirname(path), *directories),
            command=unit_files.python_command(path, *directories),
        )


__all__ = ("SystemdUnit", "require_systemd")
