# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare network configurations with the node, by all checks of the room."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._node.conflists import (
    address_checks,
    bridge_checks,
    file_checks,
    ipv6_checks,
    link_checks,
)
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime, find_runtimes
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import dhcp_daemon


def check(
    planned: PlannedDirectory,
    *,
    tolerate_missing: bool,
    runtime: str = "",
    plugin_dirs: t.Sequence[str] = (),
    installed_socket: str = "",
) -> list[Finding]:
    """Compare network configurations with the node: its links, addresses, routes and settings, its daemon of dhcp, other files, runtimes.

    Args:
        runtime: The container runtime that the networks are for, if any.
        plugin_dirs: The directories of plugins that the task uses.
        tolerate_missing: Report missing links, devices, settings and daemons as tolerated: another task may still create them.
        installed_socket: The socket of the daemon of dhcp that this task installs, if any.

    Raises:
        CniError: ``IO_FAILURE`` if the kernel does not answer.
    """
    findings: list[Finding] = []
    if planned.desired:
        view = rtnetlink.snapshot()
        findings += link_checks.check(planned, view, tolerate_missing=tolerate_missing)
        findings += address_checks.check(planned, view)
        findings += bridge_checks.check(planned, view)
        findings += ipv6_checks.check(planned, view, tolerate_missing=tolerate_missing)
        findings += _check_dhcp(planned, tolerate_missing=tolerate_missing, installed_socket=installed_socket)
    # Looking for runtimes runs a program, and most directories give no reason to.
    find = functools.lru_cache(maxsize=1)(find_runtimes)
    for found in find() if planned.desired and runtime else ():
        if found.runtime.name == runtime:
            findings += find_unused_directories(planned, found, plugin_dirs)
    return [*findings, *file_checks.check(planned, find, plugin_dirs)]


def _check_dhcp(planned: PlannedDirectory, *, tolerate_missing: bool, installed_socket: str) -> t.Iterator[Finding]:
    """Find networks whose addresses come from dhcp while its daemon does not run.

    Args:
        tolerate_missing: Report it as tolerated: another task may still start the daemon.
        installed_socket: As of `check`.
    """
    for network in planned.desired:
        for daemon in dhcp_daemon.find_daemons(network):
            if daemon.fault and daemon.socket != installed_socket:
                yield Finding(
                    "dhcp-daemon-missing",
                    network.source,
                    daemon.path,
                    f"{daemon.message}, so that ADD fails",
                    daemon.hint,
                    daemon.socket,
                    daemon.plugin,
                    is_tolerated=tolerate_missing,
                )


def find_unused_directories(
    planned: PlannedDirectory, found: FoundRuntime, plugin_dirs: t.Iterable[str]
) -> t.Iterator[Finding]:
    """Find directories of a task that the runtime which the networks are for does not use."""
    title = found.runtime.title
    if not found.reads(planned.path):
        message = f"{title} reads networks in {found.conf_path}, {found.conf_dir.origin}, and not here"
        yield Finding("unread-directory", planned.path, "", message, f"set conf_dir to {found.conf_path}")
    if not any(map(found.searches, plugin_dirs)):
        where = f"{', '.join(found.searched_dirs)}, {found.plugin_dirs.origin}"
        message = f"{title} looks for plugins in {where}, and in none of plugin_dirs"
        yield Finding("unsearched-plugins", planned.path, "", message, "install them there, and set plugin_dirs to it")
