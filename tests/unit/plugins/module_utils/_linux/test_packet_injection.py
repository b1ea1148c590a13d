# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import packet_injection


def test_a_link_without_an_ethernet_address_takes_no_packet() -> None:
    with pytest.raises(CniError, match="carries no Ethernet"):
        packet_injection.inject(1, "", b"\x45")
