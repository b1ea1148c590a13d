# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module node_info says why packets of attachments that have drifted are lost, and sends none."""

from __future__ import annotations

import contextlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis import drift_diagnosis
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import list_ips
from ansible_collections.cni.node.tests.integration.engine.connections import NEIGHBOUR
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.test_diagnosis import BRIDGE, MACVLAN, MAPPED, PTP, site
from ansible_collections.cni.node.tests.support.namespaces import namespaces

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

UPLINK = f"ip route add default via {NEIGHBOUR[4]}"
REPAIR = "run cni.node.repair"
GATEWAY = "10.1.0.1 (icmp)"
MASQUERADE_RULES = "iptables -t nat -S POSTROUTING | sed -n 's/^-A/iptables -t nat -D/p' | sh"


class Loss(t.NamedTuple):
    """A loss of an attachment, and the last step of the way that is broken then."""

    commands: str
    container: str
    way: tuple[str, str]
    check: str
    place: str
    command: str
    plugins: t.Sequence[JsonObject] = BRIDGE


LOSSES: dict[str, Loss] = {
    "bridge": Loss("ip link set cni0 down", "web", ("web", GATEWAY), "bridge", "node", "ip link set cni0 up"),
    "interface": Loss(
        "ip -n web link set eth0 down", "web", ("web", GATEWAY), "link", "web", "ip -n web link set eth0 up"
    ),
    "address": Loss(
        "ip -n client -4 address flush dev eth0",
        "client",
        ("client", GATEWAY),
        "address",
        "client",
        "ip -n client address add {client}/16 dev eth0",
    ),
    "default route": Loss(
        "ip -n client route delete default",
        "client",
        ("client", f"{NEIGHBOUR[4]} (icmp)"),
        "route",
        "client",
        "ip -n client route add default via 10.1.0.1",
    ),
    "port rules": Loss(
        "iptables -t nat -F PREROUTING", "web", (NEIGHBOUR[4], f"{MAPPED}/tcp"), "host_port", "node", REPAIR
    ),
    "masquerade rules": Loss(
        MASQUERADE_RULES, "client", ("client", f"{NEIGHBOUR[4]} (icmp)"), "masquerade", "node", REPAIR
    ),
    "route of the node": Loss("ip route delete {web}", "web", ("web", GATEWAY), "route", "node", REPAIR, PTP),
    "address of a macvlan": Loss(
        "ip -n web address flush dev eth0",
        "web",
        ("web", GATEWAY),
        "address",
        "web",
        "ip -n web address add {web}/16 dev eth0",
        MACVLAN,
    ),
}


def gather(node: EngineNode) -> list[JsonObject]:
    diagnoses: list[JsonObject] = node.run("node_info", gather=["diagnoses"]).succeeded().result["diagnoses"]
    return diagnoses


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_broken_step_of_what_an_attachment_has_lost_is_named(node: EngineNode, loss: Loss) -> None:
    with site(node, *loss.plugins) as made:
        made.run(UPLINK)
        assert gather(node) == []
        made.run(loss.commands)
        found = {diagnosis["container_id"]: diagnosis for diagnosis in gather(node)}[loss.container]
        addresses = {name: values[0] for name, values in made.addresses.items()}
        *steps, last = found["steps"]
        assert (found["from"], found["to"]) == (loss.way[0], loss.way[1].format(**addresses)), found
        assert (last["state"], last["check"], last["place"]) == ("broken", loss.check, loss.place), found
        assert last["command"] == loss.command.format(**addresses)
        assert "broken" not in [step["state"] for step in steps]
        assert {step["check"] for step in steps}.isdisjoint({"answer"})


def test_drift_that_loses_no_packet_has_a_way_without_a_broken_step_and_none_is_sent(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        made.run(f"{UPLINK}; ip6tables -t nat -F")
        made.run("ip neighbour flush all; ip -n client neighbour flush all")
        (found,) = (each for each in gather(node) if each["container_id"] == "client")
        assert (found["from"], found["to"]) == ("client", f"{NEIGHBOUR[4]} (icmp)")
        assert {step["state"] for step in found["steps"]} == {"ok", "unknown"}
        assert "no packet was sent" in found["steps"][-1]["found"]
        for where in ((), ("-n", "client")):
            command = ["ip", *where, "neighbour", "show", "nud", "all", "to", "10.1.0.0/16"]
            assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == ""


def test_an_attachment_that_takes_too_long_is_not_followed_further(node: EngineNode) -> None:
    with site(node, *BRIDGE) as made:
        made.run("ip link set {web_end} down")
        drifted = node.run("node_info", gather=["attachments"]).succeeded().entries
        (found,) = drift_diagnosis.diagnose_drifted(NODE_PATHS, str(node.cache_dir), drifted, seconds=0)
        assert [step["found"] for step in found["steps"][1:]] == ["not followed further, because it takes too long"]


def test_an_attachment_that_cannot_be_followed_is_named_and_does_not_keep_the_others_from_it(
    node: EngineNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    with site(node, *BRIDGE) as made:
        made.run("ip link set cni0 down")
        drifted = node.run("node_info", gather=["attachments"]).succeeded().entries

        def refuse_one(record: Record) -> t.Any:
            if record.attachment.container_id == "web":
                return list_ips(record)
            raise LookupError(record)

        monkeypatch.setattr(drift_diagnosis, "list_ips", refuse_one)
        found = drift_diagnosis.diagnose_drifted(NODE_PATHS, str(node.cache_dir), drifted)
        steps = {each["container_id"]: each["steps"][-1] for each in found}
        assert steps["web"]["found"] == "cni0 is down"
        assert (steps["client"]["state"], steps["client"]["place"]) == ("unknown", "node")
        assert steps["client"]["found"].startswith("not followed: unexpected LookupError")


def test_ten_attachments_of_a_node_are_diagnosed_at_most(node: EngineNode) -> None:
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(site(node, *BRIDGE))
        more = stack.enter_context(namespaces(*(f"more{number}" for number in range(12))))
        node.attach(*(attachment("net", each) for each in more), builtin="always")
        made.run("ip link set cni0 down")
        diagnoses = gather(node)
        assert len(diagnoses) == 10
        assert {each["steps"][-1]["found"] for each in diagnoses} == {"cni0 is down"}
