# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair after firewalld has reloaded its rules, and of what firewalld has instead of rules of a plugin."""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import firewalld_node, reference_networks
from ansible_collections.cni.node.tests.integration.engine.connections import NEIGHBOUR, NODE, listen, neighbour
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import (
    NETWORK,
    as_other_runtime,
    flush,
    map_port,
    rules,
)
from ansible_collections.cni.node.tests.integration.engine.firewalld_node import firewall_cmd, firewalld
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [
    pytest.mark.requires_root,
    pytest.mark.requires_plugins,
    pytest.mark.skipif(bool(firewalld_node.find_missing_program()), reason=firewalld_node.find_missing_program()),
]

PLUGIN_CHOOSES = reference_networks.network(reference_networks.bridge(), {"type": "firewall"})
FIREWALL_RULE = "-A CNI-FORWARD -s 10.1.0.2/32 -j ACCEPT"


BACKENDS = ("iptables", "nftables")
OWNERS = {"own": True, "of another runtime": False}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, node: EngineNode) -> t.Iterator[None]:
    """Run firewalld with a backend, and let containers pass as an administrator would."""
    with firewalld(request.param, trusted="10.1.0.0/16"):
        yield


def with_each_pair(name: str, choices: t.Mapping[str, object]) -> pytest.MarkDecorator:
    """Return the parameters `backend`, `is_own` and `name`; the inner ring has each pair of two of their values."""
    combinations = []
    for indexes in itertools.product(range(len(BACKENDS)), range(len(OWNERS)), range(len(choices))):
        first, second, third = indexes
        backend, owner, choice = BACKENDS[first], list(OWNERS)[second], list(choices)[third]
        marks = pytest.mark.outer("repetition: each pair of values is in the inner ring") if sum(indexes) % 2 else ()
        values = (backend, OWNERS[owner], choices[choice])
        combinations.append(pytest.param(*values, marks=marks, id=f"{backend}-{owner}-{choice}"))
    return pytest.mark.parametrize(("backend", "is_own", name), combinations, indirect=["backend"])


@pytest.mark.usefixtures("backend")
@with_each_pair("reload", {"--reload": "--reload", "--complete-reload": "--complete-reload"})
def test_connections_survive_a_reload_of_firewalld_and_a_repair(
    node: EngineNode, blue: Namespace, reload: str, is_own: bool
) -> None:
    node.write(NETWORK)
    item = map_port(blue)
    with neighbour() as lan:
        node.attach(item)
        if not is_own:
            as_other_runtime(node, item)
        with listen(blue.path, 4, 80) as web, listen(lan.path, 4, 9000) as outside:
            connections = [
                web.connect(lan.path, NODE[4], 8080, source=NEIGHBOUR[4]),
                outside.connect(blue.path, NEIGHBOUR[4], 9000, source=NODE[4]),
            ]
            for connection in connections:
                connection.exchange()
            firewall_cmd(reload)
            assert "CNI-HOSTPORT-DNAT" not in rules()
            done = node.run("repair").succeeded()
            assert [entry["action"] for entry in done.entries] == ["repaired"]
            for connection in connections:
                connection.exchange()
            web.connect(lan.path, NODE[4], 8080, source=NEIGHBOUR[4])


def repair(node: EngineNode) -> list[list[str]]:
    return [entry["drift"] for entry in node.run("repair").succeeded().entries]


# The two have nothing to do with each other: each of one is tried with one of the other.
CHOICES: dict[str, tuple[JsonObject, str]] = {
    "chosen by the plugin": ({}, "--reload"),
    "configured": ({"backend": "firewalld"}, "--complete-reload"),
}
SOURCE = "10.1.0.2/32"


def sources() -> str:
    return subprocess.run(["firewall-cmd", "--get-active-zones"], check=True, capture_output=True, text=True).stdout


@pytest.mark.usefixtures("backend")
@with_each_pair("choice", CHOICES)
def test_a_source_that_a_zone_has_lost_is_repaired(
    node: EngineNode, blue: Namespace, is_own: bool, choice: tuple[JsonObject, str]
) -> None:
    keys, reload = choice
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "firewall", **keys}))
    item = attachment("net", blue)
    node.attach(item)
    if not is_own:
        as_other_runtime(node, item)
    assert FIREWALL_RULE not in rules()
    assert SOURCE in sources()
    assert repair(node) == []
    firewall_cmd(reload)
    assert SOURCE not in sources()
    predicted = node.run("repair", _ansible_check_mode=True).succeeded()
    assert SOURCE not in sources()
    done = node.run("repair").succeeded()
    assert done.entries == predicted.entries
    assert [entry["drift"] for entry in done.entries] == [["10.1.0.2 is in no zone of firewalld"]]
    assert done.entries[0]["changes"] == [f"firewall-cmd --zone=trusted --add-source={SOURCE}"]
    assert SOURCE in sources()
    assert repair(node) == []
    if is_own:  # DEL of the plugin removes it, as it would one of its own
        node.detach(item)
        assert SOURCE not in sources()


@pytest.mark.usefixtures("backend")
def test_an_address_that_an_administrator_has_moved_to_another_zone_is_left_there(
    node: EngineNode, blue: Namespace
) -> None:
    node.write(PLUGIN_CHOOSES)
    node.attach(attachment("net", blue))
    firewall_cmd("--zone=internal", f"--change-source={SOURCE}")
    assert repair(node) == []
    assert node.attach(attachment("net", blue), check="drift")[0]["action"] in ("checked", "unchanged")


@pytest.mark.usefixtures("backend")
def test_a_zone_that_is_gone_is_an_error_of_the_attachment(node: EngineNode, blue: Namespace) -> None:
    firewall_cmd("--permanent", "--new-zone=pods")
    firewall_cmd("--reload")
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "firewall", "firewalldZone": "pods"}))
    node.attach(attachment("net", blue))
    firewall_cmd("--permanent", "--delete-zone=pods")
    firewall_cmd("--reload")
    node.run("repair").require_failure("INVALID_ZONE: pods")


@pytest.mark.usefixtures("backend")
def test_a_bridge_stays_isolated_while_firewalld_lets_its_containers_pass(node: EngineNode, blue: Namespace) -> None:
    isolating = {"type": "firewall", "backend": "firewalld", "ingressPolicy": "same-bridge"}
    node.write(reference_networks.network(reference_networks.bridge(), isolating))
    node.attach(attachment("net", blue))
    jump = "-j CNI-ISOLATION-STAGE-1"
    assert jump in rules()
    firewall_cmd("--reload")
    assert len(repair(node)[0]) == 2
    assert jump in rules()
    assert repair(node) == []


def test_rules_that_the_plugin_has_written_are_compared_while_firewalld_runs(node: EngineNode, blue: Namespace) -> None:
    node.write(PLUGIN_CHOOSES)
    node.attach(attachment("net", blue))
    saved = subprocess.run(["iptables-save"], capture_output=True, check=True).stdout
    with firewalld("nftables"):  # which flushes them when it starts
        subprocess.run(["iptables-restore"], input=saved, check=True)
        subprocess.run(["iptables", *FIREWALL_RULE.replace("-A", "-D", 1).split()], check=True)
        assert repair(node) == [["a rule that lets the traffic of 10.1.0.2 pass is gone"]]
        assert FIREWALL_RULE in rules()


@contextlib.contextmanager
def process_named_firewalld(at: Namespace, directory: pathlib.Path) -> t.Iterator[None]:
    program = directory / "firewalld"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen(at.argv(str(program), "60")) as process:
        try:
            until(
                lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text(encoding="ascii") == "firewalld\n" or None
            )
            yield
        finally:
            process.kill()


def test_rules_of_the_plugin_are_repaired_if_firewalld_runs_only_in_another_namespace(
    node: EngineNode, blue: Namespace, tmp_path: pathlib.Path
) -> None:
    node.write(PLUGIN_CHOOSES)
    node.attach(attachment("net", blue))
    with neighbour() as lan, process_named_firewalld(lan, tmp_path):
        flush()
        assert len(repair(node)) == 1
    assert FIREWALL_RULE in rules()
