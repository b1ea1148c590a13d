# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import json
import os
import re
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.boot import zipapp as boot_zipapp
from ansible_collections.cni.node.plugins.module_utils._node.files.change import (
    FileChange,
    apply,
    plan_change,
    remove_empty,
)

_PROGRAM_NAME: t.Final = os.path.basename(NODE_PATHS.restore_program)
_INSTALLED: t.Final = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
_LIST: t.Final = "# cache_dirs: "
# The path of the program, if it is not the default.
_PROGRAM: t.Final = "# program: "
_PYTHON: t.Final = "/usr/bin/python3"
_PLAIN: t.Final = re.compile(r"[A-Za-z0-9_./+-]+")

# Modules refuse paths with control characters; a unit of an earlier release may have one.
_CONTROL: t.Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

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
    if not any(map(os.path.exists, (systemd_dir, *_INSTALLED))):
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            "persist requires systemd on the node, which restores attachments after a reboot",
            f"looked for {', '.join((systemd_dir, *_INSTALLED))}; leave out persist, and run this task after each boot",
        )


class SystemdUnit:
    """The unit that restores attachments at boot, its link and its program."""

    def __init__(self, paths: NodePaths) -> None:
        self._paths = paths

    def read_cache_dirs(self) -> list[str]:
        """Return the cache directories that the unit restores from."""
        try:
            return [str(path) for paths in self._read_comments(_LIST) for path in paths]
        except TypeError:  # the unit was edited; this run overwrites it
            return []

    def read_program_path(self) -> str:
        """Return the path of the program that the unit runs, or the default path."""
        return next(
            (path for path in self._read_comments(_PROGRAM) if isinstance(path, str) and os.path.isabs(path)),
            self._paths.restore_program,
        )

    def _read_comments(self, key: str) -> list[t.Any]:
        """Return the values that comments of the unit have for a key."""
        lines = (durable.read(self._paths.restore_unit) or b"").decode("utf-8", "replace").splitlines()
        try:
            return [json.loads(line[len(key) :]) for line in lines if line.startswith(key)]
        except ValueError:
            return []

    def plan_changes(self, directories: t.Sequence[str], program_dir: str | None = None) -> list[FileChange]:
        """Plan the changes of the program, the unit and its link, in the order in which to apply them.

        Args:
            program_dir: Directory of the program; None to leave it where it is.
        """
        before = self.read_program_path()
        path = os.path.join(program_dir, _PROGRAM_NAME) if program_dir else before
        files = (
            {path: boot_zipapp.build(), self._paths.restore_unit: self._unit(directories, path).encode()}
            if directories
            else {}
        )
        # Later runs read the paths of the other files from the unit, so it is written first and removed last.
        current = [plan_change(file, files.get(file)) for file in (self._paths.restore_unit, path)]
        current.append(self._link(self._paths.restore_unit if directories else None))
        moved = [plan_change(file, None) for file in sorted({before, self._paths.restore_program} - {path})]
        changes = [*current, *moved] if directories else [*moved, *reversed(current)]
        return [change for change in changes if change.changed]

    def carry_out(self, changes: t.Sequence[FileChange]) -> None:
        """Apply changes, and reload systemd if it is running."""
        for change in changes:
            if change.path == self._paths.restore_link:
                _apply_link(change)
                continue
            if change.path == self._paths.restore_unit and change.after is None:
                remove_empty(os.path.dirname(self.read_program_path()))
            apply(change)
            if is_program(change.path) and change.after is None:
                remove_empty(os.path.dirname(change.path))
        systemctl = program.find("systemctl")
        if changes and systemctl and os.path.isdir(self._paths.systemd_dir):
            program.output([systemctl, "daemon-reload"])

    def _unit(self, directories: t.Sequence[str], path: str) -> str:
        command = [sys.executable or _PYTHON, "-I", path, *directories]
        mounts = [os.path.dirname(path), *directories]
        comment = "" if path == self._paths.restore_program else f"\n{_PROGRAM}{json.dumps(path)}"
        return _TEXT.format(
            listed=f"{_LIST}{json.dumps(directories)}{comment}",
            # RequiresMountsFor= has no escapes for control characters.
            mounts=" ".join(_quote(mount) for mount in mounts if not _CONTROL.search(mount)),
            command=" ".join(_CONTROL.sub(_escape, _quote(word)).replace("$", "$$") for word in command),
        )

    def _link(self, target: str | None) -> FileChange:
        try:
            before: bytes | None = os.readlink(self._paths.restore_link).encode()
        except FileNotFoundError:
            before = None
        except OSError as exc:
            raise io_error("read the link", self._paths.restore_link, exc) from exc
        after = None if target is None else target.encode()
        action = "unchanged" if before == after else "removed" if after is None else "changed" if before else "created"
        return FileChange("", self._paths.restore_link, action, before, after)


def is_program(path: str) -> bool:
    """Return whether a path is that of the program."""
    return os.path.basename(path) == _PROGRAM_NAME


def _quote(word: str) -> str:
    """Quote a word of a line in a unit (systemd.syntax(7))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if _PLAIN.fullmatch(word) else f'"{escaped}"'


def _escape(character: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character[0].encode())


def _apply_link(change: FileChange) -> None:
    if change.before is not None:
        durable.remove(change.path)
    if change.after is not None:
        durable.make_directory(os.path.dirname(change.path))
        try:
            os.symlink(change.after, change.path)
            durable.sync_directory(os.path.dirname(change.path))
        except OSError as exc:
            raise io_error("make the link", change.path, exc) from exc


__all__ = ("SystemdUnit", "is_program", "require_systemd")
