# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection's playbooks by their fully qualified names, with the variables of docs/playbooks.md."""

from __future__ import annotations

import io
import json
import pathlib
import re
import subprocess
import tarfile
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project, TaskRun
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import configuration
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import REQUIRES_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, without_pyroute2
from ansible_collections.cni.node.tests.integration.engine.test_repair import UNIT
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip, links, namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins
from ansible_collections.cni.node.tests.support.state import State

PLAYBOOKS = ("provision", "verify", "upgrade", "rollback", "report", "remove")
PROVISION, VERIFY, UPGRADE, ROLLBACK, REPORT, REMOVE = (f"cni.node.{name}" for name in PLAYBOOKS)
REPAIR = "cni.node.repair"
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "playbooks.md"
# Kernel settings belong to the sandbox; plugins come from the distribution.
UNMANAGED = {"cni_node_concerns": "networks\nattachments"}
COMPARED = "Require that nothing would change"
CHECKED = "Check the variables and the addresses of all nodes"
WHY_FAILED = "Explain the failure and which plugins the node has"
BINARIES = ("bridge", "host-local", "loopback")


def documented() -> JsonObject:
    """Return the variables of node.yml without the release.

    The releases of these tests are made of the distribution's plugins.
    """
    (block,) = re.findall(r"```yaml\n# node.yml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    variables: JsonObject = yaml.safe_load(block)
    return {name: value for name, value in variables.items() if name != "cni_node_plugins_version"}


def _remove_directories(node: EngineNode) -> None:
    node.plugins.path.rmdir()
    node.conf_dir.rmdir()


def _own(played: PlaybookRun) -> list[TaskRun]:
    own = [task for task in played.tasks if task.module.startswith("cni.node.") and task.status != "skipped"]
    return [task for task in own if task.module != "cni.node.show"]


def _plans(played: PlaybookRun, *modules: str) -> list[JsonObject]:
    return [step.plan() for step in _own(played) if step.module in {f"cni.node.{name}" for name in modules}]


def _changed(played: PlaybookRun) -> dict[str, bool]:
    """Return by module whether its task reported a change."""
    done = _own(played.succeeded())
    return {step.module.rpartition(".")[2]: step.changed for step in done if step.module != "cni.node.node_info"}


def _changing(played: PlaybookRun) -> set[str]:
    return {module for module, changed in _changed(played).items() if changed}


CONCERNS = ("conflists", "netns", "attachments")


def test_a_node_is_provisioned_verified_repaired_and_removed_completely(node: EngineNode, project: Project) -> None:
    _remove_directories(node)
    variables = {**documented(), **UNMANAGED}
    variables["cni_node_conflists"].append(
        {"config": {**reference_networks.full("0.4.0"), "name": "mapped", "plugins": _mapped()}}
    )
    variables["cni_node_attachments"].append({"network": "mapped", "netns": "red", "ifname": "eth1", **_capabilities()})
    predicted = project.run(PROVISION, "--check", "--diff", **variables).succeeded()
    virgin = predicted.tasks[0].before
    assert virgin.difference(predicted.tasks[-1].after) == ""
    assert not node.conf_dir.exists()
    for prepared in ("no network 'dbnet' in /etc/cni/net.d", "/run/netns/red does not exist"):
        assert prepared not in predicted.output.replace("\n", " ")
    provisioned = project.run(PROVISION, **variables)
    assert _changing(provisioned) == set(CONCERNS)
    assert _plans(provisioned, *CONCERNS) == _plans(predicted, *CONCERNS)
    assert provisioned["Try the networks"].msg == "networks: 2 verified"
    assert "node  -        dbnet,mapped  3            none   -" in provisioned["Show the report"].result["msg"]
    assert _changing(project.run(PROVISION, **variables)) == set()
    verified = project.run(VERIFY, **variables).succeeded()
    compared = verified[COMPARED]
    assert (
        verified["Show what was verified"].msg == "node: as provisioned, and every network works; nothing was changed"
    )
    assert virgin.difference(compared.before) == virgin.difference(compared.after)
    assert compared.timeless == "0 of 2 network configurations changed; attachments: 3 checked"

    _drift(node)
    failed = project.run(VERIFY, **variables, cni_node_check="never", cni_node_on_drift="report")
    assert failed.status != 0
    assert all(task.require_unchanged_node() for task in failed.tasks)
    failed[COMPARED].require_failure(
        "attachment of red (eth0) to network dbnet: would be recreated, interface eth0 is gone",
        "\nnothing was changed; run cni.node.provision",
    )
    assert failed.output.count("fatal: [") == 1

    mended = project.run(PROVISION, "-e", "cni_node_purge=true", **variables)
    assert _changing(mended) == {"conflists", "attachments"}
    assert mended["Write the networks"].files["10-leftover.conflist"] == "removed"
    actions = mended["Attach the network namespaces"].actions()
    assert actions == {"red": "recreated", "blue": "checked", "red eth1": "checked", "blue eth9": "removed"}

    predicted = project.run(REMOVE, "--check", **variables).succeeded()
    assert all(task.require_unchanged_node() for task in predicted.tasks)
    removed = project.run(REMOVE, **variables, cni_node_gc_min_age=300)
    assert _changing(removed) == {*CONCERNS, "gc"}
    assert _plans(removed, *CONCERNS) == _plans(predicted, *CONCERNS)
    _is_as_before(virgin, removed.tasks[-1].after)
    assert _changing(project.run(REMOVE, **variables)) == set()


def test_a_misspelled_variable_stops_every_playbook_before_the_node_is_asked(
    node: EngineNode, project: Project
) -> None:
    """Misspell the list of attachments: with purge, an empty list would remove them all."""
    node.write(reference_networks.network(reference_networks.PTP, name="kept"))
    variables = {**documented(), **UNMANAGED, "cni_node_purge": True}
    variables["cni_node_atachments"] = variables.pop("cni_node_attachments")
    for playbook in (*PLAYBOOKS, "gc", "repair"):
        played = project.run(f"cni.node.{playbook}", "--check", **variables)
        assert played.status != 0, playbook
        assert "unknown variable: cni_node_atachments (did you mean cni_node_attachments?)" in played.output
        assert "Traceback" not in played.output
        assert all(task.require_unchanged_node() and not task.changed for task in played.tasks), playbook
    roles = [{"role": "cni.node.cni_verify", "vars": {"cni_verify_network": "kept"}}]
    played = project.play([], roles=roles)
    assert "unknown variable: cni_verify_network (did you mean cni_verify_networks?)" in played.output


def test_check_mode_predicts_attachments_of_a_changed_network(node: EngineNode, project: Project) -> None:
    _remove_directories(node)
    variables = {**documented(), **UNMANAGED, "cni_node_verify": False}
    project.run(PROVISION, **variables).succeeded()
    (given,) = variables["cni_node_conflists"]
    plugin = {**given["config"]["plugins"][0], "forceAddress": True}
    variables["cni_node_conflists"] = [{"config": {**given["config"], "plugins": [plugin]}}]
    predicted = project.run(PROVISION, "--check", **variables).succeeded()
    attached = predicted["Attach the network namespaces"].require_unchanged_node()
    assert attached.actions() == {"red": "recreated", "blue": "recreated"}
    assert "2 attachments would lose the network for a short time and be recreated: red (eth0), blue (eth0)" in str(
        attached.warnings
    )
    done = project.run(PROVISION, **variables).succeeded()
    assert _plans(done, *CONCERNS) == _plans(predicted, *CONCERNS)


def _mapped() -> list[JsonObject]:
    return [
        reference_networks.bridge(bridge="cni1", ipam=reference_networks.host_local("10.2.0.0/16"), ipMasq=True),
        reference_networks.PORTMAP,
    ]


def _capabilities() -> JsonObject:
    return {"capability_args": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}}


def _drift(node: EngineNode) -> None:
    """Delete an interface, and add a network and an attachment that the variables do not have."""
    Namespace("red").run("ip", "link", "delete", "eth0")
    leftover = reference_networks.network(
        reference_networks.bridge(bridge="cni9", ipam=reference_networks.host_local("10.9.0.0/16")), name="leftover"
    )
    node.run("conflists", conflists=[{"config": leftover}]).succeeded()
    node.attach({"network": "leftover", "netns": "blue", "ifname": "eth9"})


# iptables' own tables, and everything of a network that the variables do not have.
BY_DESIGN = r" drwx|networks/leftover/|\bcni9\b|^[*:]|^COMMIT"


def _is_as_before(before: State, after: State) -> None:
    """Assert that the state is as before; nft's view of iptables' rules is skipped."""
    whole = {name: lines for name, lines in after.without(BY_DESIGN).sections.items() if name != "nftables"}
    difference = State({**whole, "nftables": []}).difference(before.without(BY_DESIGN))
    assert difference == "", difference


def test_a_value_that_the_role_passes_on_cannot_be_overridden(node: EngineNode, project: Project) -> None:
    """Give the directory of one of its roles: the others would go on with another one, and use an older network there."""
    old, new = (reference_networks.network(reference_networks.PTP, {"type": name}, name="lab") for name in ("a", "b"))
    node.write(old)
    variables: JsonObject = {
        "cni_node_concerns": ["networks"],
        "cni_node_conflists": [{"config": new}],
        "cni_node_verify": False,
    }
    for name, value, meant in (
        ("cni_networks_conf_dir", "/etc/cni/mine", "cni_node_conf_dir"),
        ("cni_networks_purge", True, "cni_node_purge"),
    ):
        played = project.run(PROVISION, **variables, **{name: value})
        assert played.status != 0
        assert f"overridden by extra variables, set_fact or include_vars: {name} (set {meant})" in played.output
        assert not pathlib.Path("/etc/cni/mine").exists()
    same = {"cni_networks_conf_dir": str(node.conf_dir), "cni_networks_probe": False}
    assert _changing(project.run(PROVISION, **variables, **same)) == {"conflists"}


def test_every_variable_of_networks_and_attachments_works_also_as_text(node: EngineNode, project: Project) -> None:
    ScriptedPlugins(pathlib.Path("/opt/cni/mine")).write("lab-lab", ADD=ScriptedAnswer(result={}))
    item = {"network": "lab", "netns": "/run/netns/by-path", "container_id": "c1"}
    variables: JsonObject = {
        "cni_node_hosts": "node",
        "cni_node_become": "false",
        "cni_node_concerns": "networks\nattachments\n",
        "cni_node_conflists": yaml.safe_dump([{"config": configuration("lab")}]),
        "cni_node_attachments": json.dumps([item]),
        "cni_node_netns": "by-path\none-more\n",
        "cni_node_purge": "true",
        "cni_node_conf_dir": "/etc/cni/mine",
        "cni_node_plugin_dirs": "/opt/cni/mine\n",
        "cni_node_cache_dir": "/var/lib/cni/mine",
        "cni_node_check": "changed",
        "cni_node_on_drift": "report",
        "cni_node_verify": "false",
    }
    assert _changed(project.run(PROVISION, **variables)) == dict.fromkeys(CONCERNS, True)
    assert sorted(path.name for path in pathlib.Path("/run/netns").iterdir()) == ["by-path", "one-more"]
    assert pathlib.Path("/etc/cni/mine/10-lab.conflist").exists()
    record = pathlib.Path("/var/lib/cni/mine/results/lab-c1-eth0")
    assert json.loads(record.read_text(encoding="utf-8"))["netns"] == "/run/netns/by-path"
    again = project.run(PROVISION, **variables)
    assert _changing(again) == set()
    assert again["Attach the network namespaces"].actions() == {"c1": "unchanged"}
    assert _changing(project.run(VERIFY, **variables)) == set()
    assert _changing(project.run(REMOVE, **variables)) == {*CONCERNS, "gc"}
    assert not record.exists()
    assert list(record.parents[1].iterdir()) == [record.parent]
    assert node.conf_dir.exists()
    assert project.run(PROVISION, **{**variables, "cni_node_hosts": "nobody"}).succeeded().tasks == []


def _archive(project: Project, version: str, *, bridge: bytes | None = None) -> str:
    """Write a release of the distribution's plugins on the controller, optionally with a different bridge."""
    path = project.path / f"mine-{version}.tar"
    with tarfile.open(path, "w") as archive:
        for name in BINARIES:
            binary = pathlib.Path("/usr/lib/cni", name).read_bytes()
            content = bridge if name == "bridge" and bridge is not None else binary + version.encode()
            member = tarfile.TarInfo(f"./{name}")
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return str(path)


def _release(project: Project, version: str, **keys: t.Any) -> JsonObject:
    return {"cni_node_plugins_version": version, "cni_node_plugins_source": _archive(project, version, **keys)}


def _table(played: PlaybookRun) -> str:
    (line,) = [line for line in played["Show the report"].result["msg"] if line.startswith("node ")]
    return " ".join(line.split())


def test_an_upgrade_rolls_back_if_a_network_fails(node: EngineNode, project: Project) -> None:
    _remove_directories(node)
    variables = {**documented(), "cni_node_concerns": ["plugins", "networks", "attachments"]}
    virgin = project.run(REPORT).tasks[0].before
    predicted = project.run(PROVISION, "--check", **variables, **_release(project, "1.0.1")).succeeded()
    assert virgin.difference(predicted.tasks[-1].after) == ""
    assert _table(project.run(PROVISION, **variables, **_release(project, "1.0.1"))) == "node 1.0.1 dbnet 2 none -"
    upgraded = project.run(UPGRADE, **variables, **_release(project, "1.0.2"))
    assert (_changing(upgraded), _table(upgraded)) == ({"plugins"}, "node 1.0.2 dbnet 2 none -")
    assert _changing(project.run(UPGRADE, **variables, **_release(project, "1.0.2"))) == set()
    rolled_back = project.run(ROLLBACK, **variables)
    assert (_changing(rolled_back), _table(rolled_back)) == ({"plugins"}, "node 1.0.1 dbnet 2 none -")
    again = project.run(ROLLBACK, **variables)
    assert _changing(again) == set()
    broken = project.run(UPGRADE, **variables, **_release(project, "1.0.3", bridge=b"#!/bin/sh\nexit 7\n"))
    assert broken.status != 0
    broken[WHY_FAILED].require_failure(
        "the upgrade failed at 'Attach the network namespaces', and the node is back at the plugins of release 1.0.1: ",
        "plugin bridge failed (CHECK): exit status 7",
    )
    assert _changed_files(again.tasks[-1].after, broken.tasks[-1].after) == ""
    differing = project.run(VERIFY, **variables, **_release(project, "1.0.2"))
    differing[COMPARED].require_failure(
        "not as provisioned: plugins 1.0.2: 3 would be updated\nplugin bridge: would be updated\n",
        "\nnothing was changed; run cni.node.provision",
    )
    Namespace("red").run("ip", "link", "delete", "eth0")
    drifted = project.run(UPGRADE, **variables, **_release(project, "1.0.2"), cni_node_on_drift="report")
    drifted["Explain why the upgrade was not started"].require_failure(
        "the upgrade was not started", "interface eth0 is gone"
    )
    assert all(task.require_unchanged_node() for task in drifted.tasks)
    removed = project.run(REMOVE, **variables)
    _is_as_before(virgin, removed.tasks[-1].after)


def test_an_upgrade_that_is_not_started_names_the_error_of_the_check(project: Project) -> None:
    # The check of variables, which finds invalid names, does not look at arguments.
    given = {"cni_node_attachments": [{"network": "dbnet", "netns": "red", "args": {"a;b": "c"}}]}
    refused = project.run(UPGRADE, cni_node_concerns="plugins\nattachments", **given, **_release(project, "1.0.1"))
    message = refused["Explain why the upgrade was not started"].require_failure("'a;b'")
    assert message.startswith("the upgrade was not started: ")
    assert "have changed" not in message


@pytest.mark.parametrize(
    ("before", "keep", "has"),
    [
        ("1.0.1", 1, "the plugins stay, because release 1.0.1 was already installed"),
        (
            "1.0.2",
            0,
            "the new plugins stay, because no earlier release was kept; to return, run cni.node.upgrade with release 1.0.2",
        ),
    ],
)
def test_a_failed_upgrade_reports_a_rollback_only_if_it_happened(
    node: EngineNode, project: Project, before: str, keep: int, has: str
) -> None:
    node.plugins.path.rmdir()
    variables: JsonObject = {"cni_node_concerns": "plugins\nnetworks", "cni_node_keep": keep}
    project.run(PROVISION, **variables, **_release(project, before)).succeeded()
    node.write({"cniVersion": "1.0.0", "name": "bad", "plugins": [{"type": "missing"}]})
    failed = project.run(UPGRADE, **variables, **_release(project, "1.0.1"))
    failed[WHY_FAILED].require_failure(f"the upgrade failed at 'Try the networks', and {has}: ", "'missing'")
    assert "rolled back" not in failed.output


def test_a_first_installation_that_fails_has_no_release_to_return_to(node: EngineNode, project: Project) -> None:
    node.plugins.path.rmdir()
    node.write({"cniVersion": "1.0.0", "name": "bad", "plugins": [{"type": "missing"}]})
    failed = project.run(UPGRADE, cni_node_concerns="plugins\nnetworks", **_release(project, "1.0.1"))
    failed[WHY_FAILED].require_failure("the new plugins stay, because no earlier release was kept: networks: 1 failed")


def test_an_upgrade_that_cannot_be_rolled_back_names_the_earlier_release(node: EngineNode, project: Project) -> None:
    node.plugins.path.rmdir()
    variables: JsonObject = {"cni_node_concerns": "plugins\nnetworks"}
    project.run(PROVISION, **variables, **_release(project, "1.0.1")).succeeded()
    (kept,) = (node.cache_dir / "cni.node" / "plugins").glob("**/bridge")
    content = kept.read_bytes()
    kept.write_bytes(b"damaged")
    node.write({"cniVersion": "1.0.0", "name": "bad", "plugins": [{"type": "missing"}]})
    stuck = project.run(UPGRADE, **variables, **_release(project, "1.0.2"))
    stuck[WHY_FAILED].require_failure(
        "and the node could not return to the plugins of release 1.0.1 (cannot roll back to version 1.0.1: its kept files are ",
        "); mend that and run cni.node.rollback, or run cni.node.upgrade with that release: ",
        "'missing'",
    )
    again = project.run(UPGRADE, **variables, **_release(project, "1.0.2"))
    again[WHY_FAILED].require_failure(
        "release 1.0.2 was already installed; to return to release 1.0.1, run cni.node.rollback: "
    )
    kept.write_bytes(content)
    assert _table(project.run(ROLLBACK, **variables, cni_node_verify=False).succeeded()).startswith("node 1.0.1 ")


def test_networks_excluded_from_verification_do_not_fail_an_upgrade_or_rollback(
    node: EngineNode, project: Project
) -> None:
    node.plugins.path.rmdir()
    variables: JsonObject = {"cni_node_concerns": "plugins", "cni_node_verify": "false"}
    project.run(PROVISION, **variables, **_release(project, "1.0.1")).succeeded()
    node.write({"cniVersion": "1.0.0", "name": "bad", "plugins": [{"type": "missing"}]})
    upgraded = project.run(UPGRADE, **variables, **_release(project, "1.0.2")).succeeded()
    assert _table(upgraded).startswith("node 1.0.2 ")
    assert _table(project.run(ROLLBACK, **variables).succeeded()).startswith("node 1.0.1 ")


def test_verify_lists_at_most_twenty_differences(node: EngineNode, project: Project) -> None:
    variables = {**documented(), **UNMANAGED}
    project.run(PROVISION, **variables).succeeded()
    red, blue = variables["cni_node_attachments"]
    other: JsonObject = {
        "cni_node_conflists": [{"config": {**variables["cni_node_conflists"][0]["config"], "cniVersion": "0.4.0"}}],
        "cni_node_concerns": "kernel\nnetworks\nattachments",
        "cni_node_packages": False,
        "cni_node_sysctls": "net.ipv4.conf.lo.arp_ignore=1",
        "cni_node_attachments": [{**red, "args": {"IgnoreUnknown": "1"}}, blue],
        "cni_node_netns": ["red", "blue", "green"],
    }
    differing = project.run(VERIFY, **other)[COMPARED].require_failure().splitlines()
    assert {
        "net.ipv4.conf.lo.arp_ignore: 0 -> 1",
        "/etc/sysctl.d/90-cni.node.conf: would be changed",
        "/etc/cni/net.d/10-dbnet.conflist: would be changed",
        "network namespace green: would be created",
        *(
            f"attachment of {name} (eth0) to network dbnet: would be recreated, the network's configuration has changed"
            for name in ("red", "blue")
        ),
    } <= set(differing)
    many = [{"network": "dbnet", "netns": "red", "ifname": f"many{number}"} for number in range(23)]
    lines = project.run(VERIFY, **{**variables, "cni_node_attachments": many})[COMPARED].require_failure().splitlines()
    assert [lines[1], *lines[-3:]] == [
        "attachment of red (many0) to network dbnet: would be added",
        "attachment of red (many19) to network dbnet: would be added",
        "and 3 more",
        "nothing was changed; run cni.node.provision",
    ]


def test_a_refused_upgrade_gives_the_reason_and_changes_nothing(project: Project) -> None:
    refused = project.run(UPGRADE, cni_node_concerns="plugins", cni_node_plugins_source="/nowhere.tgz")
    refused[WHY_FAILED].require_failure(", and nothing was rolled back: ", "/nowhere.tgz does not exist")
    assert all(task.require_unchanged_node() for task in refused.tasks)


def test_remove_without_variables_detaches_everything_before_networks_and_plugins_go(
    node: EngineNode, project: Project
) -> None:
    _remove_directories(node)
    variables = {**documented(), "cni_node_concerns": ["plugins", "networks", "attachments"]}
    virgin = project.run(REPORT).tasks[0].before
    project.run(PROVISION, **variables, **_release(project, "1.0.1")).succeeded()
    without = {"cni_node_concerns": variables["cni_node_concerns"]}
    predicted = project.run(REMOVE, "--check", **without).succeeded()
    removed = project.run(REMOVE, **without).succeeded()
    assert removed["Detach the network namespaces"].actions() == {"red": "removed", "blue": "removed"}
    assert removed["Remove leaks"].warnings == []
    assert _plans(removed, "attachments", "conflists") == _plans(predicted, "attachments", "conflists")
    for name in ("red", "blue"):
        ip("netns", "delete", name)
    _is_as_before(virgin, project.run(REPORT).tasks[-1].after)


@pytest.mark.parametrize(
    ("concern", "detached", "namespaces"),
    [("attachments", {"red"}, {"blue"}), ("networks", {"red", "blue"}, {"red", "blue"})],
)
def test_removing_only_attachments_follows_the_variables_and_removing_only_networks_detaches_all(
    node: EngineNode, project: Project, concern: str, detached: set[str], namespaces: set[str]
) -> None:
    variables = {**documented(), **UNMANAGED}
    project.run(PROVISION, **variables).succeeded()
    selection = {
        "cni_node_concerns": concern,
        "cni_node_attachments": variables["cni_node_attachments"][:1],
        "cni_node_purge": "true",
    }
    removed = project.run(REMOVE, **selection).succeeded()
    assert removed["Detach the network namespaces"].actions() == dict.fromkeys(detached, "removed")
    assert {path.name for path in pathlib.Path("/run/netns").iterdir()} == namespaces


@pytest.mark.parametrize("playbook", [PROVISION, VERIFY, UPGRADE, REMOVE])
def test_an_unknown_concern_is_refused_before_any_task(project: Project, playbook: str) -> None:
    refused = project.run(playbook, cni_node_concerns="network\nplugins")
    assert refused.status != 0
    refused[CHECKED].require_failure(
        "cni_node_concerns: unknown: network; expected: any of kernel, plugins, networks, attachments"
    )
    assert _own(refused) == []
    assert "run cni.node.provision" not in refused.output


def test_each_error_in_the_variables_has_a_line(project: Project) -> None:
    refused = project.run(PROVISION, cni_node_concerns="network", cni_node_check="often")
    lines = refused[CHECKED].require_failure("cni_node_concerns: ", "cni_node_check ").splitlines()
    assert [line.startswith(("cni_node_concerns: ", "value of cni_node_check ")) for line in lines] == [True, True]


@pytest.mark.parametrize(
    ("variable", "given", "playbook"),
    [
        ("cni_node_conflists", "lab", PROVISION),
        ("cni_node_conflists", {"config": {"name": "lab"}}, VERIFY),
        ("cni_node_attachments", ["lab"], PROVISION),
        ("cni_node_attachments", [{"network": "lab"}], PROVISION),
        ("cni_node_attachments", "- netns: red\n", UPGRADE),
    ],
)
def test_a_variable_of_the_wrong_type_is_refused_before_any_change(
    project: Project, variable: str, given: object, playbook: str
) -> None:
    refused = project.run(playbook, **{variable: given})
    assert refused.status != 0
    assert f"{variable}: expected: a list of " in refused.output
    assert _own(refused) == []
    assert "run cni.node.provision" not in refused.output


WRONG_VALUES: JsonObject = {
    "cni_node_gateway_timeout": -1,
    "cni_node_command_path": "sbin/cni-node",
    "cni_node_keep": "a",
    "cni_node_repair_on": ["sometimes"],
    "cni_node_netns": 7,
    "cni_node_plugins_sets": "flannel",
}


def test_wrong_values_are_refused_together_before_any_change(project: Project) -> None:
    refused = project.run(PROVISION, **WRONG_VALUES)
    lines = refused[CHECKED].require_failure("; expected: a whole number, 0 or more").splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == sorted(WRONG_VALUES)
    assert _own(refused) == []


def test_a_wrong_number_of_nodes_at_a_time_is_refused_without_a_traceback(project: Project) -> None:
    refused = project.run(PROVISION, cni_node_serial="abc")
    assert refused.status != 0
    assert "cni_node_serial of a playbook): 'abc'; expected: a number of hosts" in refused.output.replace("\n", " ")
    assert "Traceback" not in refused.output


# Inventories with several names of this node.
TWO = "one,two,"


@pytest.mark.parametrize("playbook", [PROVISION, "cni.node.gc", REMOVE])
def test_every_playbook_that_changes_nodes_honours_serial(node: EngineNode, project: Project, playbook: str) -> None:
    project.inventory = TWO
    node.write(reference_networks.network(reference_networks.PTP, name="kept"))
    for serial, plays in (("1", 2), ("", 1)):
        played = project.run(playbook, "--check", **UNMANAGED, cni_node_verify="false", cni_node_serial=serial)
        assert played.succeeded().output.count("\nPLAY [") == plays, serial


def test_remove_is_refused_on_several_nodes_without_confirmation(node: EngineNode, project: Project) -> None:
    project.inventory = TWO
    node.write(reference_networks.network(reference_networks.PTP, name="kept"))
    for answer in ("", "no"):
        refused = project.run(REMOVE, cni_node_confirm=answer, cni_node_serial=1)
        assert refused.status != 0
        (stopped,) = [task for task in refused.tasks if task.status == "failed"]
        stopped.require_failure(
            "cni_node_confirm: this would remove container networks from 2 nodes; "
            "expected: yes, or a single node, as with --limit"
        )
        assert refused.output.count("fatal: [") == 1, refused.output
        assert _own(refused) == []
    # One after the other: both names are this machine, and the warm Python imports from the library that they remove.
    given = {**UNMANAGED, "cni_node_serial": 1}
    for options, confirmation in (("--check", ""), ("--diff", "yes")):
        assert _own(project.run(REMOVE, options, **given, cni_node_confirm=confirmation).succeeded()) != []


OF_TAG = {"kernel": ["kernel"], "plugins": ["plugins"], "networks": ["conflists"], "attachments": ["attachments"]}


@pytest.mark.parametrize("tag", [*OF_TAG, "verify"])
def test_tags_select_concerns(node: EngineNode, project: Project, tag: str) -> None:
    node.write(reference_networks.network(reference_networks.PTP, name="kept"))
    played = project.run(PROVISION, "--check", "--tags", tag, **_release(project, "1.0.1")).succeeded()
    assert [step.module.rpartition(".")[2] for step in _own(played)] == OF_TAG.get(tag, [tag])


@pytest.mark.parametrize("nothing", ["", [], None])
def test_an_empty_list_of_concerns_selects_all(project: Project, nothing: object) -> None:
    played = project.run(
        PROVISION, "--check", cni_node_concerns=nothing, cni_node_verify=False, **_release(project, "1.0.1")
    )
    assert list(_changed(played)) == ["kernel", "plugins", "conflists", "attachments"]


def _changed_files(before: State, after: State) -> str:
    """Return the changed files, without the plugins' kept releases."""
    return before.without(r"cni\.node/plugins/").difference(after.without(r"cni\.node/plugins/"))


@REQUIRES_SYSTEMD
def test_lost_rules_are_repaired_and_the_units_for_that_are_installed_and_removed(
    node: EngineNode, project: Project
) -> None:
    _remove_directories(node)
    variables = {**documented(), **UNMANAGED, "cni_node_verify": False}
    variables["cni_node_conflists"] = [
        {"config": {**reference_networks.full("1.0.0"), "name": "dbnet", "plugins": _mapped()}}
    ]
    variables["cni_node_attachments"] = [{"network": "dbnet", "netns": "red", **_capabilities()}]
    project.run(PROVISION, **variables).succeeded()
    shown = "Show what was lost"
    assert project.run(REPAIR, **variables).succeeded()[shown].result["msg"] == ["attachments: 1 unchanged"]

    subprocess.run(["nft", "flush", "ruleset"], check=True)
    by_itself = {**variables, "cni_node_repair_on_reload": "yes", "cni_node_repair_interval": "30s"}
    failed = project.run(VERIFY, **by_itself)
    failed[COMPARED].require_failure(
        "would be repaired, ", f"{UNIT}: would be created", " cni.node.provision and cni.node.repair"
    )
    predicted = project.run(REPAIR, "--check", "--diff", **by_itself).succeeded()
    assert all(task.require_unchanged_node() for task in predicted.tasks)
    repaired = project.run(REPAIR, "--diff", **by_itself)
    assert _changing(repaired) == {"repair"}
    assert _plans(repaired, "repair") == _plans(predicted, "repair")
    assert "attachment of red (eth0) to network dbnet: repaired; found: " in repaired[shown].result["msg"][1]
    assert UNIT.exists()
    for playbook in (REPAIR, PROVISION, VERIFY):
        assert _changing(project.run(playbook, **by_itself)) == set(), playbook

    units = (UNIT, UNIT.with_name("cni-node-watch.service"))
    at_once = {**variables, "cni_node_repair_on": "change"}
    heading, *shown = project.run(VERIFY, **at_once).succeeded()[COMPARED].result["msg"]
    assert heading.startswith("as provisioned; only cni.node.repair would change: ")
    assert f"{UNIT}: would be removed" in shown
    assert _changing(project.run(REPAIR, **at_once)) == {"repair"}
    assert [unit.exists() for unit in units] == [False, True]
    for playbook in (PROVISION, VERIFY):
        assert _changing(project.run(playbook, **at_once)) == set(), playbook

    assert _changing(project.run(REMOVE, **variables)) >= {*CONCERNS, "repair"}
    assert [unit.exists() for unit in units] == [False, False]


def test_verify_ignores_what_an_earlier_repair_of_the_run_has_changed(node: EngineNode, project: Project) -> None:
    command = pathlib.Path("/usr/local/sbin/cni-node")
    variables = {**documented(), **UNMANAGED, "cni_node_verify": False}
    project.run(PROVISION, **variables).succeeded()
    project.run(REPAIR, **variables, cni_node_command=True).succeeded()
    assert command.exists()
    played = project.run(VERIFY, REPAIR, **variables)
    assert _changing(played) == {"command"}
    assert not command.exists()


def test_an_upgrade_of_plugins_ignores_namespaces_that_an_earlier_role_has_created(
    node: EngineNode, project: Project
) -> None:
    node.plugins.path.rmdir()
    concerns = (["plugins", "networks", "attachments"], ["plugins"])
    given = {**documented(), "cni_node_verify": False}
    provisioned, upgraded = (
        {**given, "cni_node_concerns": listed, **_release(project, version)}
        for listed, version in zip(concerns, ("1.0.1", "1.0.2"))
    )
    applied = (("main", provisioned), ("upgrade", upgraded))
    tasks = [
        {"ansible.builtin.include_role": {"name": "cni.node.cni_node", "tasks_from": name}, "vars": variables}
        for name, variables in applied
    ]
    played = project.play(tasks, ignore_errors=False).succeeded()
    assert [step.result["version"] for step in _own(played) if step.module == "cni.node.plugins"] == ["1.0.1", "1.0.2"]


def test_a_repair_names_a_missing_library_and_continues_without_it(
    node: EngineNode, project: Project, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.write(reference_networks.network(reference_networks.PTP, reference_networks.BANDWIDTH, name="wire"))
    with namespace("red") as red:
        attached = {"network": "wire", "netns": red.name}
        node.run("attachments", attachments=[attached]).succeeded()
        (host_end,) = (name for name in links() if name.startswith("veth"))
        subprocess.run(["tc", "qdisc", "delete", "dev", host_end, "root"], check=True)
        monkeypatch.setenv("PYTHONPATH", without_pyroute2(tmp_path))
        unavailable = ("-e", "ansible_package_use=unknown")
        for asks in (True, False):
            repaired = project.run(REPAIR, *unavailable, cni_node_packages=asks).succeeded()
            assert "install the package python3-pyroute2" in repaired["Show what was lost"].result["msg"][0]
            warned = [warning for task in repaired.tasks for warning in task.warnings]
            assert any("python3-pyroute2 could not be installed: " in text for text in warned) == asks
        monkeypatch.delenv("PYTHONPATH")
        assert _changing(project.run(REPAIR).succeeded()) == {"repair"}
        node.run("attachments", attachments=[{**attached, "state": "absent"}]).succeeded()


def test_without_variables_only_the_concern_plugins_changes_a_node(project: Project) -> None:
    for playbook in (PROVISION, VERIFY, REMOVE):
        played = project.run(playbook, cni_node_concerns=["kernel", "networks", "attachments"])
        assert _changing(played) == set()
        assert all(task.require_unchanged_node() for task in played.tasks)


def test_the_documentation_names_every_variable_and_playbook() -> None:
    page = PAGE.read_text(encoding="utf-8")
    root = PAGE.parents[1]
    playbooks = list((root / "playbooks").glob("*.yml"))
    used = {name for path in playbooks for name in re.findall(r"\bcni_node_\w+", path.read_text(encoding="utf-8"))}
    defaults = yaml.safe_load((root / "roles/cni_node/defaults/main.yml").read_text(encoding="utf-8"))
    assert used | set(defaults) <= set(re.findall(r"`(cni_\w+)`", page))
    assert {f"cni.node.{path.stem}" for path in playbooks} <= set(re.findall(r"`(cni\.node\.\w+)`", page))


def test_the_facade_has_the_defaults_of_the_roles_behind_it() -> None:
    roles = PAGE.parents[1] / "roles"
    facade = _yaml(roles / "cni_node/defaults/main.yml")
    for tasks in sorted((roles / "cni_node/tasks").glob("*.yml")):
        for task in _yaml(tasks):
            included = task.get("ansible.builtin.import_role", {}).get("name", "")
            defaults = _yaml(roles / included.rpartition(".")[2] / "defaults/main.yml") if included else {}
            for name, value in (task.get("vars") or {}).items() if included else ():
                own = re.fullmatch(r"\{\{ (?:__\w+ \| default\()?(cni_node_\w+)\)? \}\}", value)
                if own:
                    assert str(facade[own[1]]).replace("cni_node_plugins", "cni_plugins") == str(defaults[name]), name


def _yaml(path: pathlib.Path) -> t.Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
