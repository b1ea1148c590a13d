# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module gc on a node with foreign network namespaces and links of any name that the kernel accepts."""

from __future__ import annotations

import hashlib
import subprocess

import pytest

from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.ansible.test_gc import (
    collect,
    full_network,
    lease,
    ports_of_the_bridge,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, remove
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import inside
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip, links, namespaces, rename_link

# Non-ASCII, invalid UTF-8, characters that JSON escapes, and line ends in Python's sense.
ODD = ("é".encode(), b"caf\xe9", b'quo"te\\', b"\x1b[2J", b"a\x85b", b"c\xc2\x85d")


def strange_links(stranger: Namespace) -> None:
    with inside(stranger.path):
        for number, name in enumerate(ODD):
            subprocess.run(["ip", "link", "add", f"v{number}", "type", "veth", "peer", f"p{number}"], check=True)
            rename_link(f"v{number}".encode(), name)
            for end in (name, f"p{number}".encode()):
                subprocess.run([b"ip", b"link", b"set", b"dev", end, b"up"], check=True)


def test_odd_link_names_in_foreign_namespaces_do_not_stop_collection(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespaces("stranger", "lost", "unrecorded") as (stranger, lost, unrecorded):
        strange_links(stranger)
        node.attach(*({"network": "net", "netns": name} for name in ("lost", "unrecorded")))
        (node.cache_dir / "results" / "net-unrecorded-eth0").unlink()
        forgotten = lease("net", "10.1.0.77", "nobody\r\neth0")
        with lost.path.open("rb"), unrecorded.path.open("rb"):
            for container in (lost, unrecorded):
                remove(container, wait=False)
            done = collect(project)
        assert {finding["kind"]: finding["action"] for finding in done.result["findings"]} == {
            "record": "deleted",
            "lease": "removed",
            "chain": "removed",
            "link": "removed",
        }
        assert (ports_of_the_bridge(), forgotten.exists()) == ([], False)


@pytest.mark.parametrize("name", [*ODD, b"it's"])
def test_odd_link_names_on_the_node_do_not_protect_links_of_bandwidth(node: EngineNode, name: bytes) -> None:
    """Collect although tc prints invalid JSON for some of these names."""
    node.write(reference_networks.network(reference_networks.bridge(), reference_networks.BANDWIDTH))
    with namespaces("blue", "lost"):
        node.attach(*({"network": "net", "netns": container} for container in ("blue", "lost")))
        of = {
            container: f"bwp{hashlib.sha512(f'net{container}'.encode()).hexdigest()[:12]}"
            for container in ("blue", "lost")
        }
        for container in ("blue", "lost"):
            (node.cache_dir / "results" / f"net-{container}-eth0").unlink()
        ip("-n", "lost", "link", "delete", "eth0")
        sender = next(link for link in veths() if qdiscs(link))
        rename_link(sender.encode(), name)
        done = node.run("gc", min_age=0).succeeded()
        actions = {
            finding["subject"]: finding["action"]
            for finding in done.result["findings"]
            if finding["subject"] in of.values()
        }
        assert actions == {of["blue"]: "kept", of["lost"]: "removed"}


def veths() -> list[str]:
    return [name for name in links() if name.startswith("veth")]


def qdiscs(link: str) -> bool:
    shown = subprocess.run(["tc", "qdisc", "show", "dev", link, "ingress"], check=True, capture_output=True, text=True)
    return "ingress" in shown.stdout
