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
    dhcp_checks,
    file_checks,
    ipv6_checks,
    link_checks,
    runtime_checks,
)
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import find_runtimes


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
        installed_socket: As `dhcp_checks.check`.

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
        findings += dhcp_checks.check(planned, tolerate_missing=tolerate_missing, installed_socket=installed_socket)
    # Looking for runtimes runs a program, and most directories give no reason to.
    find = functools.lru_cache(maxsize=1)(find_runtimes)
    for found in find() if planned.desired and runtime else ():
        if found.runtime.name == runtime:
            findings += runtime_checks.check(planned, found, plugin_dirs)
    return [*findings, *file_checks.check(planned, find, plugin_dirs)]
