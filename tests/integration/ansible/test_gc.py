# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module gc on what the real plugins leave: found with its evidence, collected once, and nothing of others touched."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import time
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.ansible.laboratory import open_network
from ansible_collections.cni.node.tests.integration.ansible.playing import Done, Json, Project, task, thrice
from ansible_collections.cni.node.tests.integration.engine import networks
from ansible_collections.cni.node.tests.integration.engine.node import Node
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace, namespaces
from ansible_collections.cni.node.tests.support.plugins import Answer

GC = "cni.node.gc"
LEASES = pathlib.Path("/var/lib/cni/networks")
NOW: Json = {"min_age": 0}


def collected(project: Project, **arguments: t.Any) -> Done:
    """The node's garbage, collected: check mode foretold it, and a second run finds none."""
    return project.play(thrice("gc", GC, arguments)).settled("gc").ok()


def found(done: Done) -> dict[str, str]:
    """What became of each thing that was found."""
    return {f"{one['kind']} {one['subject'].rpartition('/')[2]}": one["action"] for one in done.result["findings"]}


def evidence(done: Done) -> str:
    return "\n".join(one["evidence"] for one in done.result["findings"])


def lease(network: str, address: str, content: str, age: float = 3600) -> pathlib.Path:
    path = LEASES / network / address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="")
    os.utime(path, (time.time() - age,) * 2)
    return path


def full_network(node: Node, **keys: t.Any) -> None:
    node.write(networks.network(networks.bridge(ipMasq=True), networks.PORTMAP, **keys))


PORTS: Json = {"capability_args": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}}


def chains() -> str:
    saved = subprocess.run(["iptables-save", "-t", "nat"], check=True, capture_output=True, text=True).stdout
    return "\n".join(line for line in saved.splitlines() if 'id: ' in line)


def test_a_node_that_is_in_use_has_no_leaks(node: Node, project: Project) -> None:
    full_network(node)
    with namespace("blue"):
        node.attach({"network": "net", "netns": "blue", **PORTS})
        done = collected(project, **NOW).left_alone()
        assert (done.changed, done.result["findings"], done.msg) == (False, [], "nothing is left over")


def test_an_attachment_whose_namespace_is_gone_is_deleted_with_all_it_had(node: Node, project: Project) -> None:
    full_network(node)
    with namespaces("blue", "red") as (blue, dummy):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "red")))
        before = node.state()
        with namespace("lost"):
            node.attach({"network": "net", "netns": "lost", **PORTS})
        assert "lost" in chains()
        done = collected(project)
        assert found(done) == {"record net-lost-eth0": "deleted"}
        assert "its network namespace /run/netns/lost is gone" in evidence(done)
        assert "lost" not in chains()
        assert node.leases("net") == sorted(address.split("/")[0] for name in ("blue", "red") for address in Namespace(name).addresses("eth0"))
        blue.run("ping", "-c1", "-W5", "10.1.0.1")
