# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Built-in plugins are executables to libcni and to the plugins of the distribution."""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.builtin.networks import CASES, Case, complete_state, prepare
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode
from ansible_collections.cni.node.tests.support.libcni import Libcni
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins, pytest.mark.interop]

DISTRIBUTION = pathlib.Path("/usr/lib/cni")
EXAMPLE = Case(
    (reference_networks.bridge(), reference_networks.TUNING, reference_networks.PORTMAP),
    (),
    {"capability_args": reference_networks.CAPABILITY_ARGS},
)


def only(libcni: Libcni, directory: pathlib.Path) -> Libcni:
    return dataclasses.replace(libcni, plugin_dirs=(str(directory),))


@pytest.mark.parametrize("case", [EXAMPLE, CASES["everything"]], ids=["the example", "everything"])
def test_libcni_adds_checks_and_deletes_with_built_in_plugins(
    node: EngineNode, there: Engine, libcni: Libcni, programs: pathlib.Path, blue: Namespace, case: Case
) -> None:
    item = prepare(node, blue, case)
    there.add(item)
    there.delete(item)
    before = complete_state(node, blue)
    built_in = only(libcni, programs)
    (result,) = built_in.run("ADD", [item]).results
    assert [interface["name"] for interface in result["interfaces"]][:3:2] == ["cni0", "eth0"]
    assert built_in.run("CHECK", [item]).results == [None]
    subprocess.run(["iptables", "-t", "nat", "-F", "CNI-HOSTPORT-DNAT"], check=True)
    (error,) = built_in.run("CHECK", [item]).errors
    assert error is not None
    assert "the rule that maps host port 8080/tcp to 10.1.0.3:80 is gone" in error["msg"]
    assert built_in.run("DEL", [item]).results == [None]
    assert before.difference(complete_state(node, blue)) == ""
    assert built_in.run("DEL", [item]).results == [None]


def test_libcni_gets_the_error_of_a_built_in_plugin(
    node: EngineNode, libcni: Libcni, programs: pathlib.Path, blue: Namespace
) -> None:
    configuration = reference_networks.bridge(bridge="lo")
    node.write(reference_networks.network(configuration))
    item = {"network": "net", "container_id": "blue", "ifname": "eth0", "netns": str(blue.path)}
    before = complete_state(node, blue)
    (error,) = only(libcni, programs).run("ADD", [item]).errors
    assert error is not None
    assert "the link lo exists, and is not a bridge" in error["msg"]
    assert before.difference(complete_state(node, blue)) == ""


@pytest.fixture
def mixed(
    tmp_path: pathlib.Path, programs: pathlib.Path, request: pytest.FixtureRequest
) -> t.Callable[[str], pathlib.Path]:
    """Return a function that makes a directory of plugins, of which some are built in, and log their commands."""

    def make(builtin: str) -> pathlib.Path:
        directory = tmp_path / "plugins"
        directory.mkdir()
        for name in ("bridge", "host-local"):
            program = (programs if name == builtin else DISTRIBUTION) / name
            log = tmp_path / f"{name}.log"
            path = directory / name
            path.write_text(f'#!/bin/sh\necho "$CNI_COMMAND" >>{log}\nexec {program}\n', encoding="utf-8")
            path.chmod(0o755)
        return directory

    return make


@pytest.mark.parametrize("builtin", ["bridge", "host-local"])
def test_bridge_delegates_to_host_local_if_only_one_of_them_is_built_in(
    node: EngineNode,
    libcni: Libcni,
    mixed: t.Callable[[str], pathlib.Path],
    blue: Namespace,
    tmp_path: pathlib.Path,
    builtin: str,
) -> None:
    item: JsonObject = prepare(node, blue, CASES["bridge as gateway of both families"])
    before = node.attach_and_detach(item)
    both = only(libcni, mixed(builtin))
    (result,) = both.run("ADD", [item]).results
    assert [ip["address"] for ip in result["ips"]] == ["10.1.0.3/16", "fd00:1::3/64"]
    assert node.leases("net") == ["10.1.0.3"]
    assert both.run("CHECK", [item]).results == [None]
    assert both.run("DEL", [item]).results == [None]
    assert before.difference(node.state()) == ""
    for name in ("bridge", "host-local"):
        commands = (tmp_path / f"{name}.log").read_text(encoding="utf-8").split()
        assert [command for command in commands if command != "VERSION"] == ["ADD", "CHECK", "DEL"]
