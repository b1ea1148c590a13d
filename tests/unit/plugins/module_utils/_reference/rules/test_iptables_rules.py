# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables
from ansible_collections.cni.node.plugins.module_utils._reference.rules import iptables_rules
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import container_address
from ansible_collections.cni.node.plugins.module_utils._reference.rules.masquerading import describe_masquerading

ATTACHMENT = Attachment("net", "blue", "eth0", "")


@pytest.mark.parametrize("is_used", [True, False])
def test_a_chain_to_which_another_rule_jumps_stays(*, is_used: bool) -> None:
    own, newer = (
        describe_masquerading(
            ATTACHMENT, container_address(ipaddress.ip_interface(f"10.1.0.{host}/24")), "iptables"
        ).iptables
        for host in (2, 3)
    )
    jump, *rules = own
    lines = [rule.line for rule in (own[0], *newer[:is_used], *rules)]
    table = iptables.parse("\n".join(["*nat", *lines, "COMMIT"]))["nat"]
    commands = iptables_rules.plan_removal(iptables_rules.IptablesView(table), own)
    assert commands[0] == iptables.deletion(jump.line)
    assert (len(commands), commands[-1] == f"-X {jump.target}") == ((1, False) if is_used else (4, True))
