# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find out whether what this process mounts becomes visible to the rest of the node."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import netns

REMEDY = (
    "run Ansible outside of it; in a systemd service, leave out PrivateMounts, PrivateTmp, ProtectSystem and other settings that"
    " give it mounts of its own"
)


def require_visible(directory: str, proc: str = "/proc") -> None:
    """Refuse to mount in a directory if the node would not see the mount.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``.
    """
    if not is_visible(directory, proc):
        raise CniError(
            Code.INVALID_ENVIRONMENT,
            f"the node would not see network namespaces in {directory}: this task runs in a mount namespace of its own, from which"
            " no mount reaches that of process 1",
            REMEDY,
        )


def is_visible(directory: str, proc: str = "/proc") -> bool:
    """Return whether process 1 sees what this process mounts in a directory; true if this is unknown.

    Args:
        proc: Where the kernel describes processes; another directory in tests.
    """
    try:
        if _is_namespace_of_process_1(proc):
            return True
        own_shared, dummy = _read_groups(f"{proc}/self/mountinfo", directory)
        shared, master = _read_groups(f"{proc}/1/mountinfo", directory)
    except OSError:  # this user may not look at process 1
        return True
    return bool(own_shared) and own_shared in (shared, master)


def find_hidden(namespaces: t.Iterable[str], proc: str = "/proc") -> list[str]:
    """Return the paths of network namespaces that process 1 has mounted nowhere; none if this is unknown.

    Args:
        namespaces: Their paths. One below ``/proc`` is never hidden: it belongs to a process.
    """
    try:
        if _is_namespace_of_process_1(proc):
            return []
        with open(f"{proc}/1/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
            mounted = {line.split(" ")[3] for line in lines}
    except OSError:
        return []
    return [
        path
        for path in namespaces
        if (inode := netns.inode(path))  # otherwise it is gone by now
        and not os.path.realpath(path).startswith("/proc/")
        and f"net:[{inode}]" not in mounted
    ]


def _is_namespace_of_process_1(proc: str) -> bool:
    """Return whether this process is in the mount namespace of process 1."""
    return os.readlink(f"{proc}/self/ns/mnt") == os.readlink(f"{proc}/1/ns/mnt")


def _read_groups(mountinfo: str, directory: str) -> tuple[str, str]:
    """Return the peer group of the mount that has a directory, and the group that it receives mounts from, or "" each."""
    covering: list[str] = []
    longest = -1
    with open(mountinfo, encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for line in lines:
            fields = line.split(" ")
            point = fields[4].rstrip("/")
            # A later mount hides an earlier one at the same place.
            if len(point) >= longest and f"{directory}/".startswith(f"{point}/"):
                covering, longest = fields[6 : fields.index("-")], len(point)
    groups = dict(tag.split(":", 1) for tag in covering if ":" in tag)
    return groups.get("shared", ""), groups.get("master", "")
