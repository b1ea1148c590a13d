# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.diagnosis import Diagnosis
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import Check, broken, ok, unknown


def test_lines_show_each_step_and_how_to_mend_the_broken_one() -> None:
    steps = (
        ok(Check.ROUTE, "web", "10.1.0.3 dev eth0"),
        broken(Check.FORWARDING, "node", "net.ipv4.ip_forward is 0", "1", "sysctl -w net/ipv4/ip_forward=1"),
    )
    assert Diagnosis("web", "db:80", steps, "silent").lines == [
        "-> web route        ok       10.1.0.3 dev eth0",
        "-> node forwarding  broken   net.ipv4.ip_forward is 0",
        "   needed: 1",
        "   to mend: sysctl -w net/ipv4/ip_forward=1",
        "web -> db:80: broken in node: net.ipv4.ip_forward is 0",
    ]


def test_a_way_without_an_answer_is_not_known_to_reach() -> None:
    steps = (unknown(Check.FIREWALL, "node", "no packet was sent"),)
    assert Diagnosis("web", "db:80", steps, "").is_reached is None
    assert Diagnosis("web", "db:80", steps, "answered").is_reached is True
    assert Diagnosis("web", "db:80", steps, "answered").broken is None


def test_names_from_a_container_cannot_control_the_terminal_or_the_shell() -> None:
    step = broken(
        Check.LINK,
        "web",
        "\x1b[2Jeth0 is down",
        "up",
        Place("/run/netns/web", "web").command("ip", "link", "set", "a;reboot", "up"),
    )
    shown = "\n".join(Diagnosis("web", "db", (step,), "").lines)
    assert "\x1b" not in shown
    assert "ip -n web link set 'a;reboot' up" in shown


def test_commands_run_in_the_namespace_of_the_place() -> None:
    assert Place("/x", "node").command("ip", "link") == "ip link"
    assert Place("/x", "web").set("net/ipv4/ip_forward", 1) == "ip netns exec web sysctl -w net/ipv4/ip_forward=1"
    assert Place("/x", "/proc/7/ns/net").command("ip", "link") == "nsenter --net=/proc/7/ns/net ip link"
