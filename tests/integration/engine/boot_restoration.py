# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Helpers of the reboot tests: the files that restore attachments, and the command that runs at boot."""

from __future__ import annotations

import configparser
import json
import pathlib
import shlex
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import Namespace

UNIT = pathlib.Path("/etc/systemd/system/cni-node-restore.service")
LINK = UNIT.parent / "multi-user.target.wants" / UNIT.name
RESOLV_CONF = pathlib.Path("/etc/netns/blue/resolv.conf")
FILES = [UNIT, LINK]
DNS = {"nameservers": ["10.1.0.1"], "search": ["example.org"]}
REQUIRES_SYSTEMD = pytest.mark.skipif(not pathlib.Path("/usr/lib/systemd/systemd").exists(), reason="install systemd")
# For each test that restores.
RESTORES = (pytest.mark.requires_root, pytest.mark.requires_plugins, REQUIRES_SYSTEMD)


def item(name: str = "blue", network: str = "net", **keys: t.Any) -> JsonObject:
    return {"network": network, "netns": name, "persist": True, **keys}


def boot(*, status: int = 0) -> str:
    """Run the unit's command as systemd does, and return its output."""
    done = subprocess.run(command(), check=False, capture_output=True, text=True, timeout=60, cwd="/", env={})
    assert (done.returncode, done.stderr) == (status, ""), done.stdout
    return done.stdout


def command() -> list[str]:
    unit = configparser.ConfigParser(interpolation=None)
    unit.read(UNIT)
    return shlex.split(unit["Service"]["ExecStart"])


def make(node: EngineNode, *names: str) -> None:
    node.run("netns", names=list(names)).succeeded()


def addresses(node: EngineNode) -> dict[str, list[str]]:
    return {
        path.name: [ip["address"] for ip in json.loads(path.read_text())["result"]["ips"]] for path in records(node)
    }


def records(node: EngineNode) -> list[pathlib.Path]:
    return sorted((node.cache_dir / "results").glob("[!.]*"))


def unfinished_intents(node: EngineNode) -> list[str]:
    """Return the unfinished intents; gc removes half-written files of killed runs."""
    return [path.name for path in node.intents() if path.name[0] != "."]


def interface_addresses(name: str, ifname: str = "eth0") -> list[str]:
    """Return the addresses of an interface from the kernel."""
    container = Namespace(name)
    return sorted(container.addresses(ifname)) if ifname in container.links() else []


def write_stalling_network(node: EngineNode, **answers: t.Any) -> None:
    """Write a network of bridge and a plugin `stall` with the given answers."""
    node.plugins.write("stall", **answers)
    node.write(reference_networks.network(reference_networks.bridge(), {"type": "stall"}))


def attach_behind_a_free_address(node: EngineNode) -> tuple[dict[str, list[str]], list[str]]:
    """Attach blue to the stalling network with the second address, the first being free; return `addresses` and the leases."""
    make(node, "red", "blue")
    node.attach(item("red"), item("blue"))
    node.detach(item("red"))
    return addresses(node), node.leases("net")
