# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import os
import socket

import pytest

from ansible_collections.cni.node.plugins.module_utils._linux import syscall
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer


@pytest.fixture(autouse=True, scope="session")
def own_network() -> None:
    """Run as root, the tests have a network namespace of their own: none of them can cut this machine off its network."""
    if os.geteuid() != 0:
        return
    with contextlib.suppress(OSError):  # not allowed in some containers
        syscall.unshare(syscall.CLONE_NEWNET)
        with kernel_writer.connect() as writer:
            writer.set_up(socket.if_nametoindex("lo"))
