# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The unit of the service that repairs attachments whenever they lose something."""

from __future__ import annotations

import os

SERVICE = "cni-node-watch.service"

# It compares all attachments when it starts, so a restart misses nothing. A service that ends again and again is given up
# after some minutes: systemctl shows it as failed.
# MemoryMax= includes the process of a repair and its programs; the one that stays has less than 25 MiB.
_TEXT = """\
[Unit]
Description=Repair CNI attachments whenever they lose something
After=network.target cni-node-restore.service
RequiresMountsFor={mounts}
StartLimitIntervalSec=5min
StartLimitBurst=30

[Service]
Type=notify
ExecStart={command}
Restart=always
RestartSec=1s
OOMPolicy=continue
MemoryMax=1G
TasksMax=256
SyslogLevel=notice
LogLevelMax=notice
# What it has repaired, for metrics and reports.
RuntimeDirectory={runtime_directory}
RuntimeDirectoryPreserve=yes

# Locks of repairs and files of iptables are in /run, records and leases in the others.
ProtectSystem=strict
ReadWritePaths=-/run {writable}
ProtectHome=read-only
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
UMask=0077
# The network namespaces of containers.
RestrictNamespaces=net
# systemd and firewalld; the kernel; iptables, and settings of both protocols.
RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET AF_INET6
# CAP_NET_ADMIN: change links, addresses, routes, rules and settings of the network.
# CAP_NET_BROADCAST: be notified of changes inside the network namespaces of containers.
# CAP_NET_RAW: legacy iptables opens a raw socket.
# CAP_SYS_ADMIN: enter the network namespaces of containers.
# CAP_SYS_PTRACE: see which processes run plugins, and open network namespaces by /proc.
# CAP_DAC_READ_SEARCH: reach network namespaces whose files are in directories of other users.
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BROADCAST CAP_NET_RAW CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_DAC_READ_SEARCH

[Install]
WantedBy=multi-user.target
"""


def describe(command: str, mounts: str, writable: str, state_path: str) -> str:
    """Return the text of the unit.

    Args:
        command: What it runs, as `unit_files.python_command` returns it.
        mounts, writable: Paths that it needs, and those that it writes to, as `unit_files.mounts` returns them.
        state_path: The file of `WatchState`.
    """
    runtime_directory = os.path.basename(os.path.dirname(state_path))
    return _TEXT.format(command=command, mounts=mounts, writable=writable, runtime_directory=runtime_directory)
