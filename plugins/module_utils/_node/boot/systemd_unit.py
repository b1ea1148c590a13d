# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The unit that restores attachments at boot."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._node.boot import unit_files
from ansible_collections.cni.node.plugins.module_utils._node.files.change import Done, FileChange, plan_change
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import OWNERS, RUNTIMES

_LIST = "# cache_dirs: "

# Podman has no service, and starts containers with these.
_UNITS_OF_PODMAN = ("podman.service", "podman-restart.service")
# Firewalls start before network-pre.target and flush rules then; container runtimes may request the same addresses.
_TEXT = """\
# Written by cni.node for the attachments with persist: changes are overwritten, use a drop-in instead.
{listed}
[Unit]
Description=Restore the CNI attachments of network namespaces
After=network-pre.target network.target
Before={runtimes}
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
    """The unit that restores attachments at boot, and its link."""

    def __init__(self, paths: NodePaths) -> None:
        self._paths = paths

    def read_cache_dirs(self) -> list[str]:
        """Return the cache directories that the unit restores from."""
        listed = unit_files.read_comments(self._paths.restore_unit, _LIST)
        # If the unit was edited, this run overwrites it.
        return [path for paths in listed if isinstance(paths, list) for path in paths if isinstance(path, str)]

    def plan_changes(self, directories: t.Sequence[str], library: Library | None) -> list[FileChange]:
        """Plan the changes of the unit and its link, in the order in which to apply them.

        Args:
            directories: Cache directories to restore from; if there are none, the unit is removed.
            library: What the unit runs; may be None without directories.
        """
        text = _describe_unit(directories, library).encode() if library and directories else None
        unit = plan_change(self._paths.restore_unit, text)
        link = unit_files.plan_link(self._paths.restore_link, self._paths.restore_unit if text else None)
        # The unit lists the directories, so it is written first and removed last.
        return unit_files.plan(self._paths, (unit, link) if text else (link, unit))

    def carry_out(self, changes: t.Sequence[FileChange], done: Done | None = None) -> None:
        """Apply changes, as `unit_files.carry_out`."""
        unit_files.carry_out(self._paths, changes, done=done)


def _describe_unit(directories: t.Sequence[str], library: Library) -> str:
    return _TEXT.format(
        listed=f"{_LIST}{json.dumps(directories)}",
        runtimes=" ".join(_list_units()),
        mounts=unit_files.mounts(library.top, *directories),
        command=unit_files.python_command(library.path, *directories),
    )


def _list_units() -> list[str]:
    """Return the units that start containers, of all runtimes."""
    groups = [*(runtime.units for runtime in RUNTIMES), *(owner.units for owner in OWNERS), _UNITS_OF_PODMAN]
    return sorted({unit for units in groups for unit in units})
