# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection's playbooks, called by their fully qualified names, with the variables that docs/playbooks.md shows."""

from __future__ import annotations

import json
import pathlib
import re

import yaml

from ansible_collections.cni.node.tests.integration.ansible.laboratory import RESULT, configuration
from ansible_collections.cni.node.tests.integration.ansible.playing import Json, Played, Project
from ansible_collections.cni.node.tests.integration.engine import networks
from ansible_collections.cni.node.tests.integration.engine.node import Node
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.plugins import Answer, PluginDirectory
from ansible_collections.cni.node.tests.support.state import State

PROVISION, VERIFY, REMOVE = (f"cni.node.{name}" for name in ("provision", "verify", "remove"))
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "playbooks.md"


def documented() -> Json:
    (block,) = re.findall(r"```yaml\n# networks.yml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    variables: Json = yaml.safe_load(block)
    return variables


def _virgin(node: Node) -> None:
    node.plugins.path.rmdir()
    node.conf_dir.rmdir()


def _plans(played: Played) -> list[Json]:
    return [one.plan() for one in played.tasks]


def _changed(played: Played) -> list[bool]:
    return [one.changed for one in played.succeeded().tasks]


def test_a_node_is_provisioned_verified_mended_and_left_as_it_was(node: Node, project: Project) -> None:
    _virgin(node)
    variables = documented()
    variables["cni_conflists"].append({"config": {**networks.full("0.4.0"), "name": "mapped", "plugins": _mapped()}})
    variables["cni_attachments"].append({"network": "mapped", "netns": "red", "ifname": "eth1", **_capabilities()})
    predicted = project.run(PROVISION, "--check", "--diff", **variables).succeeded()
    virgin = predicted.tasks[0].before
    assert virgin.difference(predicted.tasks[-1].after) == ""
    assert not node.conf_dir.exists()
    assert "no network 'dbnet' in /etc/cni/net.d" in predicted.output.replace("\n", " ")
    provisioned = project.run(PROVISION, **variables)
    assert _changed(provisioned) == [True, True, True]
    assert _plans(provisioned) == _plans(predicted)
    assert _changed(project.run(PROVISION, **variables)) == [False, False, False]
    verified = project.run(VERIFY, **variables).succeeded()
    assert all(one.left_alone() for one in verified.tasks)
    assert "0 of 2 network configurations changed; attachments: 3 checked" in verified.tasks[-1].msg

    _drift(node)
    failed = project.run(VERIFY, **variables)
    assert failed.status != 0
    assert all(one.left_alone() for one in failed.tasks)
    assert "plugin bridge failed (CHECK)" in failed["Check the attachments"].failed("to network dbnet: ")

    mended = project.run(PROVISION, "-e", "cni_purge=true", **variables)
    assert _changed(mended) == [True, False, True]
    assert mended["Write the networks"].files["10-leftover.conflist"] == "removed"
    actions = mended["Attach them to the networks"].actions()
    assert actions == {"red": "recreated", "blue": "checked", "red eth1": "checked", "blue eth9": "removed"}

    predicted = project.run(REMOVE, "--check", **variables).succeeded()
    assert all(one.left_alone() for one in predicted.tasks)
    removed = project.run(REMOVE, **variables)
    assert _changed(removed) == [True, True, True]
    assert _plans(removed) == _plans(predicted)
    _is_as_before(virgin, removed.tasks[-1].after)
    assert _changed(project.run(REMOVE, **variables)) == [False, False, False]


def _mapped() -> list[Json]:
    return [networks.bridge(bridge="cni1", ipam=networks.host_local("10.2.0.0/16"), ipMasq=True), networks.PORTMAP]


def _capabilities() -> Json:
    return {"capability_args": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}}


def _drift(node: Node) -> None:
    """An interface is lost, and there is one network and one attachment more of ours."""
    Namespace("red").run("ip", "link", "delete", "eth0")
    leftover = networks.network(
        networks.bridge(bridge="cni9", ipam=networks.host_local("10.9.0.0/16")), name="leftover"
    )
    node.run("conflists", conflists=[{"config": leftover}]).succeeded()
    node.attach({"network": "leftover", "netns": "blue", "ifname": "eth9"})


# What the reference plugins leave behind by design: bridges, chains that all containers share, the last lease's number.
BY_DESIGN = r" drwx|/last_reserved_ip|/lock |\bcni[019]\b|CNI-HOSTPORT-|CNI-(DN|SN)\b|^[*:]|^COMMIT"


def _is_as_before(before: State, after: State) -> None:
    """What iptables says is not looked at in the words of nft once more."""
    whole = {name: lines for name, lines in after.without(BY_DESIGN).sections.items() if name != "nftables"}
    difference = State({**whole, "nftables": []}).difference(before.without(BY_DESIGN))
    assert difference == "", difference


def test_every_variable_does_what_it_says_also_as_text(node: Node, project: Project) -> None:
    PluginDirectory(pathlib.Path("/opt/cni/mine")).write("lab-lab", ADD=Answer(result=RESULT))
    item = {"network": "lab", "netns": "/run/netns/by-path", "container_id": "c1"}
    variables: Json = {
        "cni_hosts": "node",
        "cni_become": "false",
        "cni_conflists": [{"config": configuration("lab")}],
        "cni_attachments": [item],
        "cni_netns": ["by-path", "one-more"],
        "cni_purge": "true",
        "cni_conf_dir": "/etc/cni/mine",
        "cni_plugin_dirs": ["/opt/cni/mine"],
        "cni_cache_dir": "/var/lib/cni/mine",
    }
    assert _changed(project.run(PROVISION, **variables)) == [True, True, True]
    assert sorted(path.name for path in pathlib.Path("/run/netns").iterdir()) == ["by-path", "one-more"]
    assert pathlib.Path("/etc/cni/mine/10-lab.conflist").exists()
    record = pathlib.Path("/var/lib/cni/mine/results/lab-c1-eth0")
    assert json.loads(record.read_text(encoding="utf-8"))["netns"] == "/run/netns/by-path"
    assert _changed(project.run(VERIFY, **variables)) == [False, False, False]
    assert _changed(project.run(REMOVE, **variables)) == [True, True, True]
    assert not record.exists()
    assert node.conf_dir.exists()
    assert project.run(PROVISION, **{**variables, "cni_hosts": "nobody"}).succeeded().tasks == []


def test_without_variables_nothing_is_done(project: Project) -> None:
    for playbook in (PROVISION, VERIFY, REMOVE):
        played = project.run(playbook)
        assert _changed(played) == [False, False, False]
        assert all(one.left_alone() for one in played.tasks)


def test_the_page_names_every_variable_and_playbook() -> None:
    page = PAGE.read_text(encoding="utf-8")
    playbooks = list((PAGE.parents[1] / "playbooks").glob("*.yml"))
    used = {name for path in playbooks for name in re.findall(r"\bcni_\w+", path.read_text(encoding="utf-8"))}
    assert used <= set(re.findall(r"`(cni_\w+)`", page))
    assert {f"cni.node.{path.stem}" for path in playbooks} <= set(re.findall(r"`(cni\.node\.\w+)`", page))
