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
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._node.boot import paths as boot_paths
from ansible_collections.cni.node.plugins.module_utils._node.boot import zipapp as boot_zipapp
from ansible_collections.cni.node.plugins.module_utils._node.files.change import (
    FileChange,
    apply,
    plan_change,
    remove_empty,
)

_RUNNING: t.Final = "/run/systemd/system"
_INSTALLED: t.Final = ("/usr/lib/systemd/systemd", "/lib/systemd/systemd")
_LIST: t.Final = "# cache_dirs: "
# Where the program is, if it is not at its usual place.
_PROGRAM: t.Final = "# program: "
_PYTHON: t.Final = "/usr/bin/python3"
_PLAIN: t.Final = re.compile(r"[A-Za-z0-9_./+-]+")

# No module takes a path with them; a unit of before may list one.
_CONTROL: t.Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

# Firewalls come before network-pre.target and take rules away as they start; runtimes may want the same addresses.
_TEXT: t.Final = """\
# Written by cni.node for the attachments with persist: what is changed here gets lost, so use a drop-in.
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


def require_systemd() -> None:
    """Refuse a node on which nothing would restore an attachment.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if not any(map(os.path.exists, (_RUNNING, *_INSTALLED))):
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            "persist: there is no systemd on this node, and nothing else restores attachments after a reboot",
            f"looked for {', '.join((_RUNNING, *_INSTALLED))}; leave out persist, and run this task after each boot",
        )


def cache_dirs() -> list[str]:
    """Return the cache directories that the unit restores from."""
    try:
        return [str(path) for paths in _noted(_LIST) for path in paths]
    except TypeError:  # somebody has changed it, and it is about to be written anew
        return []


def program_path() -> str:
    """Return where the program is, or where it usually is."""
    return next(
        (path for path in _noted(_PROGRAM) if isinstance(path, str) and os.path.isabs(path)), boot_paths.PROGRAM
    )


def _noted(key: str) -> list[t.Any]:
    """Return the values that comments of the unit have for a key."""
    lines = (durable.read(boot_paths.UNIT) or b"").decode("utf-8", "replace").splitlines()
    try:
        return [json.loads(line[len(key) :]) for line in lines if line.startswith(key)]
    except ValueError:
        return []


def changes(directories: t.Sequence[str], program_dir: str | None = None) -> list[FileChange]:
    """Return what becomes of the program, the unit and its link, in the order in which they are to be carried out.

    Args:
        program_dir: Where the program is to be; None to leave it where it is.
    """
    before = program_path()
    path = os.path.join(program_dir, boot_paths.PROGRAM_NAME) if program_dir else before
    files = {path: boot_zipapp.content(), boot_paths.UNIT: _unit(directories, path).encode()} if directories else {}
    # A later run looks for the unit: it comes first and goes last.
    found = [plan_change(one, files.get(one)) for one in (boot_paths.UNIT, path)]
    found.append(_link(boot_paths.UNIT if directories else None))
    moved = [plan_change(one, None) for one in sorted({before, boot_paths.PROGRAM} - {path})]
    return [change for change in ([*found, *moved] if directories else [*moved, *reversed(found)]) if change.changed]


def carry_out(changed: t.Sequence[FileChange]) -> None:
    """Carry out changes, and tell systemd where it runs."""
    for change in changed:
        if change.path == boot_paths.LINK:
            _apply_link(change)
            continue
        if change.path == boot_paths.UNIT and change.after is None:
            remove_empty(os.path.dirname(program_path()))
        apply(change)
        if is_program(change.path) and change.after is None:
            remove_empty(os.path.dirname(change.path))
    systemctl = program.find("systemctl")
    if changed and systemctl and os.path.isdir(_RUNNING):
        program.output([systemctl, "daemon-reload"])


def is_program(path: str) -> bool:
    """Return whether a file that changes is the program."""
    return os.path.basename(path) == boot_paths.PROGRAM_NAME


def _unit(directories: t.Sequence[str], path: str) -> str:
    command = [sys.executable or _PYTHON, "-I", path, *directories]
    mounts = [os.path.dirname(path), *directories]
    noted = "" if path == boot_paths.PROGRAM else f"\n{_PROGRAM}{json.dumps(path)}"
    return _TEXT.format(
        listed=f"{_LIST}{json.dumps(directories)}{noted}",
        # It has no escapes for control characters there.
        mounts=" ".join(_quoted(mount) for mount in mounts if not _CONTROL.search(mount)),
        command=" ".join(_CONTROL.sub(_escaped, _quoted(word)).replace("$", "$$") for word in command),
    )


def _quoted(word: str) -> str:
    """Write a word of a unit's line (systemd.syntax(7))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if _PLAIN.fullmatch(word) else f'"{escaped}"'


def _escaped(character: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character[0].encode())


def _link(target: str | None) -> FileChange:
    try:
        before: bytes | None = os.readlink(boot_paths.LINK).encode()
    except FileNotFoundError:
        before = None
    except OSError as exc:
        raise io_error("read the link", boot_paths.LINK, exc) from exc
    after = None if target is None else target.encode()
    action = "unchanged" if before == after else "removed" if after is None else "changed" if before else "created"
    return FileChange("", boot_paths.LINK, action, before, after)


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


__all__ = ("cache_dirs", "carry_out", "changes", "is_program", "program_path", "require_systemd")
