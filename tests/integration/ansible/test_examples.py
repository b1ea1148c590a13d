# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the examples of every module's documentation unchanged."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible import documentation
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import namespace

# Examples by number or slice, in an order in which each finds its prerequisites.
ORDER: list[tuple[str, slice]] = [
    ("kernel", slice(None)),
    ("plugins", slice(4, 5)),
    ("netns", slice(1)),
    ("conflists", slice(2)),
    ("attachments", slice(4)),
    ("diagnose", slice(None)),
    ("bundle", slice(None)),
    ("command", slice(None)),
    ("attachments", slice(4, None)),
    ("repair", slice(None)),
    ("verify", slice(None)),
    ("gc", slice(None)),
    ("node_info", slice(None)),
    ("show", slice(None)),
    ("metrics", slice(None)),
    ("preflight_info", slice(1)),
    ("conflists", slice(2, 3)),
    ("netns", slice(1, None)),
    ("plugins", slice(8, None)),
    ("launcher", slice(None)),
    ("library", slice(None)),
]
# Examples that need the internet, an upstream archive, a previous release, a container runtime or a link of the node.
ELSEWHERE: list[tuple[str, slice]] = [
    ("plugins", slice(4)),
    ("plugins", slice(5, 8)),
    ("preflight_info", slice(1, None)),
    ("conflists", slice(3, None)),
]
TEMPLATE = """\
{
  "cniVersion": "1.0.0",
  "name": "dbnet",
  "plugins": [
    {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": {"type": "host-local", "subnet": "{{ subnet }}"}},
    {"type": "tuning", "capabilities": {"mac": true}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
"""
MINE = [{"network": "dbnet", "netns": "green"}]


def _tasks() -> t.Iterator[JsonObject]:
    for module, which in ORDER:
        yield from documentation.examples(module)[which]


def test_every_module_has_examples_in_this_order() -> None:
    listed = [task for module, which in ORDER + ELSEWHERE for task in documentation.examples(module)[which]]
    assert {module for module, dummy in ORDER} == set(documentation.NAMES)
    assert len(listed) == sum(len(documentation.examples(module)) for module in documentation.NAMES)


def test_the_examples_run_one_after_the_other(node: EngineNode, project: Project) -> None:
    project.write("templates/dbnet.conflist.j2", TEMPLATE)
    tasks = list(_tasks())
    played = project.play(tasks, ignore_errors=False, vars={"my_attachments": MINE}).succeeded()
    assert [task.name for task in played.tasks] == [task["name"] for task in tasks]
    assert [task.name for task in played.tasks if task.module == "cni.node.netns" and not task.changed] == []
    made = played["Attach two namespaces to a network"].ok()
    assert made.actions() == {"red": "added", "blue": "added"}
    assert made.entries[1]["result"]["interfaces"][-1]["mac"] == "00:11:22:33:44:66"
    played["Check an attachment without changing anything"].require_no_change()
    assert played["Keep these attachments and remove all others that this collection made"].actions() == {
        "green": "recreated",
        "red": "removed",
    }
    last = played.tasks[-1].after.sections
    assert list(node.conf_dir.iterdir()) == []
    assert last["namespaces"] == ["green", "red"]
    # The next test's node has the same units.
    node.run("repair", on_reload="absent").succeeded()


def test_the_example_that_changes_nothing_adds_no_attachment(node: EngineNode, project: Project) -> None:
    (example,) = [task for task in documentation.examples("attachments") if "without changing anything" in task["name"]]
    node.write(reference_networks.network(reference_networks.bridge(), name="dbnet"))
    with namespace("red") as red:
        played = project.play([example]).succeeded()
        assert played[example["name"]].result["summary"] == {"added": 1}
        assert red.links().keys() == {"lo"}
