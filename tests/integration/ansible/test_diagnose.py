# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module and the playbook diagnose: what they show, in check mode, and for a container of no node."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import namespaces

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

DIAGNOSE = "cni.node.diagnose"


@pytest.fixture
def ends(node: EngineNode) -> t.Iterator[JsonObject]:
    """Attach the two ends of a way, red and blue."""
    node.write(reference_networks.network(reference_networks.bridge()))
    with namespaces("red", "blue") as made:
        node.attach(*(attachment("net", each) for each in made))
        yield {"from": "red", "to": "blue"}


def test_a_way_is_reached_then_broken_then_refused_as_a_mistake(project: Project, ends: JsonObject) -> None:
    done = project.play(
        [
            task("healthy", DIAGNOSE, ends),
            task("predicted", DIAGNOSE, ends, check_mode=True),
            task("break", "ansible.builtin.command", {"argv": ["ip", "link", "set", "cni0", "down"]}),
            task("broken", DIAGNOSE, ends),
            task("mistaken", DIAGNOSE, {**ends, "to": "blue:0"}, ignore_errors=True),
        ]
    )
    assert done["healthy"].ok().result["reached"] is True
    assert done["healthy"].msg == "red -> blue: reached"
    predicted = done["predicted"].ok().result
    assert {"reached", "broken"}.isdisjoint(predicted)
    assert predicted["answer"] == ""
    assert _broken(done["broken"]) == ("bridge", "node", "ip link set cni0 up")
    done["mistaken"].require_failure("to: 'blue:0': 0 is not a port of tcp", "expected: an address, or the name of")


def test_the_playbook_shows_the_way_on_the_node_that_has_the_container(project: Project, ends: JsonObject) -> None:
    subprocess.run(["ip", "-n", "blue", "link", "set", "eth0", "down"], check=True)
    done = project.run(DIAGNOSE, cni_node_from=ends["from"], cni_node_to=ends["to"])
    assert _broken(done["Follow the packet"]) == ("link", "blue", "ip -n blue link set eth0 up")
    assert "   to mend: ip -n blue link set eth0 up" in done["Show its way"].result["msg"]
    missing = project.run(DIAGNOSE, cni_node_from="green", cni_node_to=ends["to"])
    missing["Require a node that has the container"].require_failure(
        "from: 'green' is neither", "attachments: blue, red"
    )


def _broken(done: TaskRun) -> tuple[str, str, str]:
    step = done.ok().result["broken"]
    return step["check"], step["place"], step["command"]
