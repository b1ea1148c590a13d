# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Let the node forward packets of containers."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpInterface
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._reference.state.interfaces import FORWARDING


def enable(interfaces: t.Iterable[IpInterface]) -> None:
    """Switch forwarding on for the families of addresses, unless it is on.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    for family in sorted({interface.version for interface in interfaces}):
        if sysctl.read_at(FORWARDING[family]) != "1":
            sysctl.write_at(FORWARDING[family], "1")


__all__ = ("enable",)
