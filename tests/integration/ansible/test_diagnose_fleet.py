# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook diagnose follows a packet from a container on one node to a container on another."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.fleet import main
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project, task
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import empty_node
from ansible_collections.cni.node.tests.integration.fleet import test_fleet
from ansible_collections.cni.node.tests.integration.fleet.test_fleet import fleet, log_in
from ansible_collections.cni.node.tests.support.warm_python import WarmProgram

pytestmark = test_fleet.pytestmark

DIAGNOSE = "cni.node.diagnose"
NODE2 = "198.18.0.3"
LISTEN = (
    "ip netns exec blue setsid python3 -c 'import socket, time; s = socket.create_server((\"\", 80)); time.sleep(600)' "
    ">/dev/null 2>&1 &"
)
MAPPED = {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}
TWIN = {"network": "routed", "netns": "twin"}
CONTAINERS = {
    "node1": [{"network": "routed", "netns": "red"}, {"network": "hidden", "netns": "white"}, TWIN],
    "node2": [{"network": "routed", "netns": "blue", "capability_args": MAPPED}, TWIN],
}
# Undoes everything that a test has broken on the second node.
MEND = (
    "sysctl -qw net.ipv4.ip_forward=1; iptables -F FORWARD; iptables-restore </run/rules; ip route replace 10.85.1.0/24 via 198.18.0.2; "
    "ip -n blue link set eth0 up; ip -n blue route replace default via 10.85.2.1"
)


class Site:
    """Two nodes with routes to the containers of each other."""

    def __init__(self, project: Project, top: pathlib.Path) -> None:
        self._project, self._top = project, top
        fleet(top, "up", "2")
        listed = main.inventory(top)["fleet"]
        nodes = {node: {"ansible_host": f"198.18.0.{number}"} for node, number in (("node1", 2), ("node2", 3))}
        variables = {**listed["vars"], "ansible_connection": "ssh"}
        project.inventory = str(
            project.write("fleet.yml", yaml.safe_dump({"all": {"hosts": nodes, "vars": variables}}))
        )
        project.run("cni.node.provision", containers=CONTAINERS, **self._variables()).succeeded()
        self.run("node1", f"ip route add 10.85.2.0/24 via {NODE2}")
        self.run("node2", "ip route add 10.85.1.0/24 via 198.18.0.2")
        self.run("node2", f"iptables-save >/run/rules; {LISTEN}")

    @staticmethod
    def _variables() -> JsonObject:
        ends = "{{ inventory_hostname[-1] }}"
        networks = [
            ("routed", reference_networks.bridge(ipam=_ipam(f"10.85.{ends}.0/24"))),
            ("hidden", reference_networks.bridge(bridge="cni9", ipMasq=True, ipam=_ipam(f"10.86.{ends}.0/24"))),
        ]
        return {
            "cni_node_concerns": ["networks", "attachments"],
            "cni_node_verify": False,
            "cni_node_conflists": [
                {"config": {"cniVersion": "1.0.0", "name": name, "plugins": [plugin, reference_networks.PORTMAP]}}
                for name, plugin in networks
            ],
            "cni_node_netns": "{{ containers[inventory_hostname] | map(attribute='netns') }}",
            "cni_node_attachments": "{{ containers[inventory_hostname] }}",
        }

    def run(self, node: str, commands: str) -> None:
        log_in(self._top, node, commands)

    def diagnose(self, source: str, destination: str, *options: str) -> PlaybookRun:
        return self._project.run(DIAGNOSE, *options, cni_node_from=source, cni_node_to=destination)

    def diagnose_each(self, ways: t.Sequence[JsonObject]) -> PlaybookRun:
        """Diagnose one way after the other in one play."""
        role = {"name": "cni.node.cni_node", "tasks_from": "diagnose"}
        ends = {"cni_node_from": "{{ way.source }}", "cni_node_to": "{{ way.destination }}"}
        loop = {"loop": list(ways), "loop_control": {"loop_var": "way"}, "vars": ends}
        return self._project.play([task("Diagnose", "ansible.builtin.include_role", role, **loop)])


def _ipam(subnet: str) -> JsonObject:
    return {"type": "host-local", "subnet": subnet, "routes": [{"dst": "0.0.0.0/0"}]}


@pytest.fixture(scope="module")
def site(warm_playbook: WarmProgram, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Site]:
    path = tmp_path_factory.mktemp("fleet")
    # An overlay cannot lie on an overlay, and /tmp is one here.
    top = pathlib.Path("/run") / path.name
    with empty_node():
        try:
            yield Site(Project(path, warm_playbook.path), top)
        finally:
            fleet(top, "down")


def lines_of(played: PlaybookRun) -> list[str]:
    lines: list[str] = played.succeeded()["Show its way"].result["msg"]
    return lines


def count_calls(played: PlaybookRun) -> int:
    return sum(task.module == DIAGNOSE and task.status == "ok" for task in played.tasks)


@pytest.mark.parametrize(
    ("source", "destination", "calls", "arrival"),
    [
        ("red", "blue:80", 4, "-> node route      ok       packets from 10.85.1.2 arrive on eth0"),
        ("red", f"{NODE2}:8080", 3, f"-> node host_port  ok       {NODE2}:8080/tcp is forwarded to 10.85.2.2:80/tcp"),
        ("white", f"{NODE2}:8080", 3, "-> node route      ok       packets from 198.18.0.2 arrive on eth0"),
        ("white", "red", 2, ""),
    ],
    ids=["name", "host port", "masquerade", "same node"],
)
def test_both_halves_of_a_way_that_works_are_lines_of(
    site: Site, source: str, destination: str, calls: int, arrival: str
) -> None:
    site.run("node2", MEND)
    played = site.diagnose(source, destination)
    lines = lines_of(played)
    assert lines[-1] == f"{source} -> {destination}: reached"
    assert [line for line in lines if line.endswith(":")] == ["node1:", *(["node2:", "node1:"] if arrival else [])]
    assert not arrival or arrival in lines
    assert count_calls(played) == calls


FORWARDING = "net.ipv4.ip_forward is 0"
BREAKS = {
    "forwarding": ("sysctl -w net.ipv4.ip_forward=0", "blue:80", f"on node2 in node: {FORWARDING}"),
    "port mapping": (
        "iptables -t nat -F",
        f"{NODE2}:8080",
        "on node2 in node: port 8080/tcp is mapped to blue, but not",
    ),
    "way back": ("ip route delete 10.85.1.0/24", "blue:80", "on node2 in node: no route to 10.85.1.2"),
    "container": ("ip -n blue link set eth0 down", "blue:80", "on node2 in blue: eth0 is down"),
    "nothing listens": ("true", "blue:81", "on node2 in blue: nothing listens on port 81/tcp"),
    "rule for the answer": (
        "iptables -I FORWARD -p tcp --sport 80 -j DROP",
        "blue:80",
        "on node2 in node, on the way back: dropped by: tcp sport 80 counter",
    ),
    "rule": (
        "iptables -I FORWARD -s 10.85.1.2 -j DROP",
        "blue:80",
        "on node2 in node: dropped by: ip saddr 10.85.1.2 counter",
    ),
}


@pytest.mark.parametrize(("commands", "destination", "broken"), BREAKS.values(), ids=BREAKS)
def test_the_node_and_the_step_that_is_broken_are_named(
    site: Site, commands: str, destination: str, broken: str
) -> None:
    site.run("node2", f"{MEND}; {commands}")
    lines = lines_of(site.diagnose("red", destination))
    assert f"red -> {destination}: broken {broken}" in lines[-1], lines


def test_a_second_diagnosis_of_a_run_uses_only_results_of_its_own(site: Site) -> None:
    site.run("node2", MEND)
    ways = [{"source": "red", "destination": "blue:80"}, {"source": "white", "destination": "red"}]
    played = site.diagnose_each(ways)
    first, second = (task.result["msg"] for task in played.tasks if task.name == "Show its way")
    assert first[1].startswith("-> red address ")
    assert second[1].startswith("-> white address ")
    assert (first[-1], second[-1]) == ("red -> blue:80: reached", "white -> red: reached")


def test_check_mode_follows_the_packet_without_sending_one(site: Site) -> None:
    site.run("node2", "sysctl -w net.ipv4.ip_forward=0")
    lines = lines_of(site.diagnose("red", "blue:80", "--check"))
    assert lines[-1] == f"red -> blue:80: broken on node2 in node: {FORWARDING}"


@pytest.mark.parametrize(
    ("source", "destination", "refusal"),
    [
        ("nobody", "blue", "no node has it; node1: from: 'nobody' is neither an attachment"),
        ("red", "nobody:80", "no node has it; node1: to: 'nobody' is neither an address"),
        ("twin", "blue", "from: 'twin' is on node1 and node2; expected: an end that one node has"),
        ("node", "blue", "from: 'node' is on node1 and node2; expected: an end that one node has"),
        ("192.0.2.7", "192.0.2.8", "no node has 192.0.2.7 or 192.0.2.8"),
    ],
)
def test_an_end_that_no_node_or_more_than_one_has_is_refused(
    site: Site, source: str, destination: str, refusal: str
) -> None:
    played = site.diagnose(source, destination)
    assert refusal in played["Require a node that has the container"].require_failure()
