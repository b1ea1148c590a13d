# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The packet whose way a diagnosis follows."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.ip_address import IpAddress

ICMP, TCP, UDP, SCTP = PROTOCOLS = ("icmp", "tcp", "udp", "sctp")


class Packet(t.NamedTuple):
    """A packet.

    Attributes:
        source: None until the kernel has chosen one.
        port, source_port: 0 for ICMP.
    """

    protocol: str
    source: IpAddress | None
    destination: IpAddress
    port: int = 0
    source_port: int = 0

    def __str__(self) -> str:
        host = f"[{self.destination}]" if self.destination.version == 6 and self.port else str(self.destination)
        return f"{host}:{self.port}/{self.protocol}" if self.port else f"{host} ({self.protocol})"

    @property
    def target(self) -> str:
        """The destination in the form in which an operator gives it."""
        host = f"[{self.destination}]" if self.destination.version == 6 else str(self.destination)
        return f"{host}:{self.port}/{self.protocol}" if self.port else f"{host}/{self.protocol}"

    @property
    def answer(self) -> Packet:
        """The packet that answers this one."""
        return Packet(self.protocol, self.destination, t.cast(IpAddress, self.source), self.source_port, self.port)
