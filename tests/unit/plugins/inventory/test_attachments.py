# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory of attachments, as ansible-inventory reads it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest

pytest.importorskip("ansible.plugins.inventory", reason="there is no controller here: install ansible-core")

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.support import pages
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report import example_fleet
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils.test_attachment_hosts import make_report

TEMPLATE = "{{ lookup('pipe', 'touch /tmp/evaluated') }}"
NODES = """\
[nodes]
one ansible_host="{{ inventory_hostname }}.example.com" ansible_become_password=secret ansible_become_method=su colour=blue
two
[nodes:vars]
ansible_user=admin
"""


class Inventory:
    """A directory with the inventory of two nodes and one of attachments."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.write("nodes", NODES)
        self.write("group_vars/all.json", json.dumps({"ansible_port": 2222}))

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(
        self, program: str, *arguments: str, before: t.Sequence[str] = (), **options: t.Any
    ) -> subprocess.CompletedProcess[str]:
        self.write("x.cni_node.yml", json.dumps({"plugin": "cni.node.attachments", **options}))
        argv = [sys.executable, "-m", "ansible", program, *self._options(*before), *arguments]
        environment = {
            **pages.reader_environment(self.directory / "home"),
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
        }
        return subprocess.run(argv, check=False, capture_output=True, text=True, cwd="/", env=environment)

    def _options(self, *before: str) -> list[str]:
        """Return the options with all inventories; paths in a file do not depend on the working directory."""
        return [word for name in (*before, "nodes", "x.cni_node.yml") for word in ("-i", str(self.directory / name))]

    def list(self, **options: t.Any) -> JsonObject:
        done = self.run("inventory", "--list", **options)
        assert done.returncode == 0, done.stderr
        return t.cast("JsonObject", json.loads(done.stdout))


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> Inventory:
    red = example_fleet.attachment("dbnet", "red", ports=["8080->80/tcp"])
    evil = example_fleet.attachment(TEMPLATE, TEMPLATE, netns=f"/run/netns/{TEMPLATE}", addresses=[TEMPLATE])
    made = Inventory(tmp_path)
    made.write("report.json", json.dumps(make_report(one=[red], three=[evil])))
    return made


def test_attachments_are_hosts_that_are_reached_as_their_nodes(inventory: Inventory) -> None:
    listed = inventory.list(
        report="report.json",
        compose={"first": "cni_attachment.addresses[0]"},
        groups={"web": "'8080->80/tcp' in cni_attachment.ports"},
        keyed_groups=[{"key": "cni_attachment.ifname", "prefix": "interface"}],
        strict=True,
    )
    for group in ("cni_network_dbnet", "cni_node_one", "web"):
        assert listed[group]["hosts"] == ["one.red.eth0"]
    assert len(listed["interface_eth0"]["hosts"]) == len(listed["cni_owner_cni_node"]["hosts"]) == 2
    variables = listed["_meta"]["hostvars"]["one.red.eth0"]
    assert variables["ansible_become"] is True
    assert variables["ansible_become_method"] == "cni.node.netns"
    assert variables["ansible_cni_netns"] == {"__ansible_unsafe": "/run/netns/red"}
    assert variables["first"] == {"__ansible_unsafe": "10.1.0.2"}
    assert "colour" not in variables


def show(inventory: Inventory, host: str, expression: str) -> str:
    """Return what a task on a host sees."""
    done = inventory.run(
        "adhoc", host, "-m", "ansible.builtin.debug", "-a", json.dumps({"var": expression}), report="report.json"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_variables_of_a_node_are_evaluated_for_the_node(inventory: Inventory) -> None:
    names = "[ansible_host, ansible_user, ansible_port, ansible_become_password, ansible_become_method]"
    shown = show(inventory, "one.red.eth0", names)
    for value in ("one.example.com", "admin", "2222", "secret", "cni.node.netns"):
        assert value in shown


def test_what_a_node_says_is_never_evaluated(inventory: Inventory) -> None:
    evaluated = pathlib.Path("/tmp/evaluated")
    evaluated.unlink(missing_ok=True)
    shown = show(inventory, "cni_node_three", "[cni_attachment, ansible_cni_netns]")
    assert "lookup(" in shown
    composed = {"joined": "'x' ~ cni_attachment.network"}
    listed = inventory.list(report="report.json", compose=composed)
    (name,) = listed["cni_node_three"]["hosts"]
    done = inventory.run(
        "adhoc", name, "-m", "ansible.builtin.debug", "-a", "var=joined", report="report.json", compose=composed
    )
    assert "lookup(" in done.stdout
    assert not evaluated.exists()


def test_a_host_of_another_inventory_is_not_changed(inventory: Inventory) -> None:
    inventory.write("nodes", f"{NODES}[others]\none.red.eth0 ansible_connection=local\n")
    done = inventory.run("inventory", "--host", "one.red.eth0", report="report.json")
    assert "one.red.eth0 is left out" in " ".join(done.stderr.split())
    assert "ansible_become_method" not in json.loads(done.stdout)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"report": "nowhere.json"}, "nowhere.json: "),
        ({"report": "nodes"}, "expected: the data of a report"),
        ({"report": "group_vars/all.json"}, "expected: the data of a report"),
    ],
)
def test_a_file_that_is_not_a_report_is_refused(inventory: Inventory, options: JsonObject, message: str) -> None:
    done = inventory.run("inventory", "--list", **options)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


def test_a_node_that_could_not_be_read_is_named_without_control_characters(inventory: Inventory) -> None:
    node = {"name": "\x1b[2Jone", "read": False}
    inventory.write("report.json", json.dumps({"format": 1, "nodes": [node]}))
    done = inventory.run("inventory", "--list", report="report.json")
    assert "\\x1b[2Jone are missing" in " ".join(done.stderr.split())


def test_nodes_are_asked_without_what_a_report_writes_elsewhere(inventory: Inventory) -> None:
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "/nonexistent",
        "cni_node_become": False,
        "cni_node_bundle_path": "/nonexistent",
        "cni_node_metrics_path": "/nonexistent/x.prom",
    }
    inventory.write("group_vars/all.json", json.dumps(variables))
    done = inventory.run("inventory", "--list")
    # The playbook came to the nodes, which cannot run modules here, and not to the place of bundles.
    shown = " ".join(done.stderr.split())
    assert re.search(r"/nonexistent\W+(was )?not found", shown), shown
    assert "cni_node_bundle_path" not in shown


def test_a_file_of_another_name_is_left_to_other_plugins(inventory: Inventory) -> None:
    inventory.run("inventory", "--list", report="report.json")
    os.rename(inventory.directory / "x.cni_node.yml", inventory.directory / "other.yml")
    argv = [sys.executable, "-m", "ansible", "inventory", "-i", "other.yml", "--list"]
    environment = pages.reader_environment(inventory.directory / "home")
    done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd=inventory.directory, env=environment)
    assert "cni_attachments" not in done.stdout


def test_a_kept_report_is_not_read_again(inventory: Inventory) -> None:
    cached: dict[str, t.Any] = {
        "report": "report.json",
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(inventory.directory / "cache"),
    }
    first = inventory.list(**cached)
    (inventory.directory / "report.json").unlink()
    assert inventory.list(**cached) == first
    inventory.write("other.json", json.dumps(make_report(four=[example_fleet.attachment("dbnet", "red")])))
    assert "cni_node_four" in inventory.list(**{**cached, "report": "other.json"})
    inventory.write("more", "five\n")
    done = inventory.run("inventory", "--list", before=("more",), **cached)
    assert "report.json: No such file or directory" in " ".join(done.stderr.split())
    done = inventory.run("inventory", "--list", "--flush-cache", **cached)
    assert done.returncode != 0
