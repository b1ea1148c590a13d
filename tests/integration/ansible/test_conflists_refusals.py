# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module conflists writes nothing unless every item is valid."""

from __future__ import annotations

import datetime
import json
import textwrap

from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task
from ansible_collections.cni.node.tests.integration.ansible.test_conflists import CONFLISTS, network_named
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


def test_plugins_are_probed_before_a_file_is_written(node: EngineNode, project: Project) -> None:
    node.plugins.write("old", versions=["0.3.1", "0.4.0"])
    node.plugins.write("hanging", VERSION=ScriptedAnswer(hang="yes"))
    node.plugins.write("broken", VERSION=ScriptedAnswer(stdout="hello", exit=3))
    bad: dict[str, tuple[JsonObject, tuple[str, ...]]] = {
        "missing": (network_named("a", {"type": "missing"}), ("plugin 'missing' is not installed", "/usr/libexec/cni")),
        "delegated": (
            network_named("a", reference_networks.bridge(ipam={"type": "my-ipam"})),
            ("plugin 'my-ipam' is not installed",),
        ),
        "old": (
            network_named("a", {"type": "loopback"}, {"type": "old"}),
            ("/plugins/1/type: old supports 0.3.1, 0.4.0, but not 1.0.0; ", "(incompatible-plugin)"),
        ),
        "hanging": (
            network_named("a", {"type": "hanging"}),
            ("plugin hanging failed (VERSION): ran out of time (limit 0.5 s)",),
        ),
        "broken": (network_named("a", {"type": "broken"}), ("plugin broken failed (VERSION): exit status 3", "hello")),
    }
    good = {"config": network_named("good")}
    tasks = [
        task(name, CONFLISTS, {"conflists": [good, {"config": config}], "timeout": 0.5 if name == "hanging" else 60})
        for name, (config, dummy) in bad.items()
    ]
    unprobed = {"conflists": [{"config": {**bad["missing"][0], "name": "b"}}], "probe": False}
    elsewhere = {"conflists": [{"config": network_named("c")}], "plugin_dirs": ["/opt/cni/none"], "builtin": "never"}
    old_network = {"conflists": [{"config": network_named("d", {"type": "old"}, cniVersions=["0.4.0"])}]}
    tasks += [
        task("in check mode", CONFLISTS, {"conflists": [{"config": bad["old"][0]}]}, check_mode=True),
        task("plugin_dirs", CONFLISTS, elsewhere),
        task("not probed", CONFLISTS, unprobed),
        task("one of its versions", CONFLISTS, old_network),
    ]
    played = project.play(tasks)
    for name, (dummy, fragments) in bad.items():
        played[name].require_no_change().require_failure("/etc/cni/net.d/10-a.conflist: ", *fragments)
    played["in check mode"].require_no_change().require_failure(*bad["old"][1])
    played["plugin_dirs"].require_no_change().require_failure(
        "plugin 'loopback' is not installed", "looked in /opt/cni/none;"
    )
    assert played["not probed"].files == {"10-b.conflist": "created"}
    assert played["one of its versions"].ok().changed


def test_one_invalid_item_prevents_all_writing(project: Project) -> None:
    good = {"config": network_named("good")}
    bad: dict[str, tuple[JsonObject, str]] = {
        "text": (
            {"content": '{\n  "name": "a",\n  oops\n}'},
            "conflists[1], line 3: this is not valid JSON: line 3, column 3: ",
        ),
        "data": (
            {"config": network_named("a", {"type": "../loopback"})},
            "conflists[1]: /plugins/0/type: '../loopback' is not a plugin type",
        ),
        "date": (
            {"config": network_named("a", day=datetime.date(2024, 1, 1))},
            "conflists[1]: the configuration cannot be written as JSON: ",
        ),
        "twice": (
            {"config": network_named("good"), "priority": 20},
            "conflists[1]: /name: the network 'good' is also defined by conflists[0]",
        ),
        "two forms": ({"config": network_named("a"), "content": "{}"}, "mutually exclusive"),
    }
    tasks = [task(name, CONFLISTS, {"conflists": [good, item]}) for name, (item, dummy) in bad.items()]
    played = project.play(tasks)
    for name, (dummy, fragment) in bad.items():
        played[name].require_no_change().require_failure(fragment)


def test_text_may_come_from_a_variable_or_a_file(node: EngineNode, project: Project) -> None:
    text = '{"cniVersion": "1.0.0", "name": "a", "plugins": [{"type": "loopback", "flag": true}]}'
    project.write("files/b.conflist", text.replace('"a"', '"b"'))
    items = [{"content": "{{ text }}"}, {"content": "{{ lookup('ansible.builtin.file', 'b.conflist') }}"}]
    tasks = [task(name, CONFLISTS, {"conflists": items}) for name in ("write", "again")]
    played = project.play(tasks, vars={"text": text})
    played["again"].ok().require_no_change()
    assert played["write"].files == {"10-a.conflist": "created", "10-b.conflist": "created"}
    assert node.conf_dir.joinpath("10-a.conflist").read_bytes().startswith(b"{")


PLAYBOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: write
      cni.node.conflists:
        conflists:
          - config:
              cniVersion: 1.0.0
              name: a
              plugins:
                - type: loopback
                  key: !vault |
"""


def test_a_value_from_a_vault_is_written_decrypted(node: EngineNode, project: Project) -> None:
    password = project.write("password", "secret\n")
    encrypted = VaultLib([("default", VaultSecret(b"secret"))]).encrypt("hunter2").decode()
    playbook = project.write("vault.yml", PLAYBOOK + textwrap.indent(encrypted, " " * 20))
    project.run(str(playbook), "--vault-password-file", str(password)).succeeded()
    written = json.loads((node.conf_dir / "10-a.conflist").read_text(encoding="utf-8"))
    assert written["plugins"] == [{"type": "loopback", "key": "hunter2"}]
