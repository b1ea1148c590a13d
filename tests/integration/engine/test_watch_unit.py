# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unit of the service that repairs whenever something is lost, under a real systemd with all of its restrictions."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import REQUIRES_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import flush, map_port, rules
from ansible_collections.cni.node.tests.integration.engine.systemd_node import Systemd, start_systemd
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins, REQUIRES_SYSTEMD]

UNIT = "cni-node-watch.service"


@pytest.fixture
def with_unit(node: EngineNode, attached: JsonObject) -> t.Iterator[EngineNode]:
    libraries.provide()
    node.run("repair", repair_on=["change"]).succeeded()
    yield node
    node.run("repair", repair_on=[]).succeeded()
    assert not pathlib.Path("/etc/systemd/system", UNIT).exists()


@pytest.fixture
def systemd(with_unit: EngineNode) -> t.Iterator[Systemd]:
    with start_systemd(UNIT) as started:
        yield started


def test_systemd_finds_no_mistake_in_the_unit(with_unit: EngineNode) -> None:
    done = subprocess.run(["systemd-analyze", "verify", UNIT], check=False, capture_output=True, text=True)
    assert UNIT not in done.stderr, done.stderr


def test_it_repairs_rules_links_and_routes(systemd: Systemd, node: EngineNode, blue: Namespace) -> None:
    time.sleep(1)
    before = rules()
    flush()
    assert "removed by nft" in systemd.await_lines(1)[0]
    subprocess.run(["ip", "link", "del", "cni0"], check=True)
    systemd.await_lines(2)
    assert links()["cni0"]["operstate"] == "UP"
    blue.run("ip", "route", "del", "default")
    systemd.await_lines(3)
    assert "default" in blue.run("ip", "route").stdout
    assert rules() == before
    assert [line.partition(":")[0] for line in systemd.lines()] == ["repaired"] * 3
    first, *others = node.run("node_info", gather=["repairs"]).succeeded().result["repairs"]
    assert (first["container_id"], first["by"][0].split()[0]) == ("blue", "nft")
    assert len(others) == 2


def test_it_starts_again_after_a_kill(systemd: Systemd) -> None:
    before = rules()
    systemd.systemctl("kill", f"--signal={signal.SIGKILL.name}")
    flush()
    systemd.await_lines(1)
    assert rules() == before
    assert systemd.show("NRestarts") == "1"


def test_a_stop_ends_it_at_once(systemd: Systemd) -> None:
    started = time.monotonic()
    systemd.systemctl("stop")
    assert time.monotonic() - started < 5
    assert (systemd.show("ActiveState"), systemd.show("Result")) == ("inactive", "success")


def test_a_new_namespace_is_reached_although_the_unit_has_its_own_mounts(systemd: Systemd, node: EngineNode) -> None:
    green = Namespace("green")
    subprocess.run(["ip", "netns", "add", "green"], check=True)
    try:
        node.attach(map_port(green, 1))
        green.run("ip", "route", "del", "default")
        systemd.await_lines(1)
        until(lambda: "default" in green.run("ip", "route").stdout or None, 20)
    finally:
        subprocess.run(["ip", "netns", "del", "green"], check=True)
