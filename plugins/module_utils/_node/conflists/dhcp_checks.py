# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find networks that need the daemon of dhcp while it does not run."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import dhcp_daemon


def check(planned: PlannedDirectory, *, tolerate_missing: bool, installed_socket: str = "") -> t.Iterator[Finding]:
    """Find networks whose addresses come from dhcp while its daemon does not run.

    Args:
        tolerate_missing: Report it as tolerated: another task may still start the daemon.
        installed_socket: The socket of the daemon that this task installs, if any.
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
