# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module gc on a node where others have network namespaces of their own, with links of any name the kernel takes."""

from __future__ import annotations

import subprocess

from ansible_collections.cni.node.tests.integration.ansible.playing import Project
from ansible_collections.cni.node.tests.integration.ansible.test_gc import (
    collected,
    full_network,
    lease,
    ports_of_the_bridge,
)
from ansible_collections.cni.node.tests.integration.engine.node import Node, remove
from ansible_collections.cni.node.tests.integration.engine.throwaway import inside
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespaces, rename_link

# No ASCII, no UTF-8, what JSON escapes, and what Python takes for the end of a line.
ODD = ("é".encode(), b"caf\xe9", b'quo"te\\', b"\x1b[2J", b"a\x85b", b"c\xc2\x85d")


def strange_links(stranger: Namespace) -> None:
    with inside(stranger.path):
        for number, name in enumerate(ODD):
            subprocess.run(["ip", "link", "add", f"v{number}", "type", "veth", "peer", f"p{number}"], check=True)
            rename_link(f"v{number}".encode(), name)
            for end in (name, f"p{number}".encode()):
                subprocess.run([b"ip", b"link", b"set", b"dev", end, b"up"], check=True)


def test_links_of_any_name_in_namespaces_of_others_keep_nothing_from_being_collected(
    node: Node, project: Project
) -> None:
    full_network(node)
    with namespaces("stranger", "lost") as (stranger, lost):
        strange_links(stranger)
        node.attach({"network": "net", "netns": "lost"})
        forgotten = lease("net", "10.1.0.77", "nobody\r\neth0")
        with lost.path.open("rb"):
            remove(lost, wait=False)
            done = collected(project)
        assert {one["kind"]: one["action"] for one in done.result["findings"]} == {
            "record": "deleted",
            "lease": "removed",
            "link": "removed",
        }
        assert (ports_of_the_bridge(), forgotten.exists()) == ([], False)
