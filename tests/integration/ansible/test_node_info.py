# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module node_info returns a node as data, even if parts of it are broken."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import RESULT, configuration, open_network
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import namespace, namespaces
from ansible_collections.cni.node.tests.support.scripted_plugins import VERSIONS, ScriptedAnswer

INFO = "cni.node.node_info"
SECTIONS = ("plugins", "networks", "attachments", "leases", "netns")


def test_each_part_can_be_gathered_alone_on_an_empty_node(project: Project) -> None:
    nowhere = {"conf_dir": "/etc/cni/none", "cache_dir": "/var/lib/cni/none", "plugin_dirs": ["/opt/cni/none"]}
    tasks = [task("all", INFO, nowhere), task("two", INFO, {"gather": ["netns", "networks"], **nowhere})]
    played = project.play([*tasks, task("in check mode", INFO, nowhere, check_mode=True)]).succeeded()
    assert (
        played["all"].require_no_change().msg
        == "0 plugins, 0 releases, 0 networks, 0 attachments, 0 leases, 0 netns, 0 runtimes"
    )
    assert {name: played["all"].result[name] for name in SECTIONS} == {name: [] for name in SECTIONS}
    assert played["two"].require_no_change().msg == "0 networks, 0 netns"
    assert [section for section in SECTIONS if section in played["two"].result] == ["networks", "netns"]
    assert played["in check mode"].plan() == played["all"].plan()


def test_module_defaults_of_the_group_engine_hold_for_its_modules(node: EngineNode, project: Project) -> None:
    defaults = {"conf_dir": "/etc/cni/other", "cache_dir": "/var/lib/cni/other"}
    os.makedirs("/etc/cni/other")
    pathlib.Path("/etc/cni/other/10-open.conflist").write_text(json.dumps(configuration("open")), encoding="utf-8")
    tasks = [task("look", INFO, {"gather": ["networks"]}), task("clean", "cni.node.gc", {}, check_mode=True)]
    played = project.play(tasks, module_defaults={"group/cni.node.engine": defaults}).succeeded()
    assert [network["path"] for network in played["look"].result["networks"]] == ["/etc/cni/other/10-open.conflist"]


def test_plugins_have_their_versions_or_an_error(node: EngineNode, project: Project) -> None:
    node.plugins.write("bridge", versions=["0.4.0"])
    node.plugins.write("silent", VERSION=ScriptedAnswer(exit=4, stderr="no\n"))
    (node.plugins.path / "README").write_text("not a plugin\n", encoding="utf-8")
    done = project.play([task("look", INFO, {"gather": ["plugins"]})]).succeeded()["look"]
    plugins = {plugin["path"]: plugin for plugin in done.result["plugins"]}
    own, distributed = plugins["/opt/cni/bin/bridge"], plugins["/usr/lib/cni/bridge"]
    assert own == {
        "type": "bridge",
        "path": "/opt/cni/bin/bridge",
        "shadowed": False,
        "versions": ["0.4.0"],
        "release": "",
        "flaws": [],
        "error": None,
    }
    assert (distributed["shadowed"], distributed["error"]) == (True, None)
    assert distributed["versions"][:6] == list(VERSIONS[:6])
    error = plugins["/opt/cni/bin/silent"]["error"]
    assert error["msg"] == "plugin silent failed (VERSION): exit status 4"
    assert plugins["/usr/lib/cni/host-local"]["shadowed"] is False
    assert set(plugins) == {
        "/opt/cni/bin/bridge",
        "/opt/cni/bin/silent",
        *_files("/usr/lib/cni"),
        *_files("/usr/libexec/cni"),
    }


def test_a_replaced_plugin_is_asked_again(node: EngineNode, project: Project) -> None:
    def look(name: str, plugin: str) -> list[JsonObject]:
        replace = {"src": plugin, "dest": "/opt/cni/bin/bridge", "mode": "0755", "remote_src": True}
        return [task(f"replace {name}", "ansible.builtin.copy", replace), task(name, INFO, {"gather": ["plugins"]})]

    tasks = [*look("first", "/usr/lib/cni/bridge"), *look("second", "/bin/true"), *look("third", "/usr/lib/cni/bridge")]
    played = project.play([*tasks, task("fourth", INFO, {"gather": ["plugins"]})]).succeeded()
    plugins = [
        next(plugin for plugin in played[name].result["plugins"] if plugin["path"] == "/opt/cni/bin/bridge")
        for name in ("first", "second", "third", "fourth")
    ]
    assert [bool(plugin["versions"]) for plugin in plugins] == [True, False, True, True]
    assert plugins[1]["error"]
    assert plugins[3] == plugins[2]


NOT_READY = {50: "unavailable", 51: "limited"}


def test_networks_have_their_status_if_requested(node: EngineNode, project: Project) -> None:
    for code in NOT_READY:
        node.plugins.write(f"lab-{code}", STATUS=ScriptedAnswer(error={"code": code, "msg": f"the agent says {code}"}))
        node.write(reference_networks.network({"type": f"lab-{code}"}, version="1.1.0", name=f"net{code}"))
    node.plugins.write("lab-well")
    node.write(reference_networks.network({"type": "lab-well"}, version="1.1.0", name="well"))
    node.write(reference_networks.network({"type": "lab-well"}, version="1.0.0", name="old"))
    tasks = [
        task(name, INFO, {"gather": ["status"]}, check_mode=name == "in check mode")
        for name in ("look", "in check mode")
    ]
    played = project.play([*tasks, task("by default", INFO, {})]).succeeded()
    done = played["look"].require_no_change()
    status = {entry["network"]: entry for entry in done.result["status"]}
    assert {name: entry["status"] for name, entry in status.items()} == {
        "net50": "unavailable",
        "net51": "limited",
        "well": "ready",
        "old": "unsupported",
    }
    assert [status["net50"]["error"]["code"], status["net51"]["error"]["code"]] == [50, 51]
    first, second, last = done.msg.splitlines()
    assert first.startswith("network net50: plugin lab-50 failed (STATUS): the agent says 50; ")
    assert second.startswith("network net51: plugin lab-51 failed (STATUS): the agent says 51; ")
    assert last == "status: 1 limited, 1 ready, 1 unavailable, 1 unsupported"
    assert played["in check mode"].plan() == played["look"].plan()
    assert "status" not in played["by default"].result
    assert {call.plugin for call in node.plugins.calls(command="STATUS")} == {"lab-50", "lab-51", "lab-well"}


def _files(directory: str) -> list[str]:
    return [os.path.join(directory, name) for name in os.listdir(directory)] if os.path.isdir(directory) else []


def test_networks_have_their_shadowing_files_and_errors(node: EngineNode, project: Project) -> None:
    flags = {"disableCheck": True, "disableGC": "true", "cniVersions": ["1.1.0", "0.4.0", "9.9.9"]}
    node.write({**reference_networks.full(), "name": "db", **flags})
    node.write(reference_networks.single({"type": "tuning"}, "0.4.0", "db"))
    (node.conf_dir / "20-broken.conflist").write_text('{"name": "db"', encoding="utf-8")
    (node.conf_dir / "notes.txt").write_text("{", encoding="utf-8")
    done = project.play([task("look", INFO, {"gather": ["networks"]})]).succeeded()["look"]
    shadowed, first, broken = done.result["networks"]
    assert [plugin["type"] for plugin in first.pop("config")["plugins"]] == first["plugins"]
    assert first == {
        "name": "db",
        "path": "/etc/cni/net.d/10-db.conflist",
        "versions": ["0.4.0", "1.0.0", "1.1.0"],
        "plugins": ["bridge", "tuning", "portmap"],
        "missing_plugins": [],
        "builtin_plugins": [],
        "shadowed": False,
        "disable_check": True,
        "disable_gc": True,
        "refused": None,
        "error": None,
    }
    assert (shadowed["path"], shadowed["plugins"], shadowed["shadowed"]) == (
        "/etc/cni/net.d/10-db.conf",
        ["tuning"],
        True,
    )
    assert broken["path"] == "/etc/cni/net.d/20-broken.conflist"
    assert broken["error"]["msg"].startswith("/etc/cni/net.d/20-broken.conflist is not valid JSON: line 1, column 14: ")
    assert done.msg == "3 networks (1 with an error)"


def test_findings_of_all_levels_are_returned_and_no_file(node: EngineNode, project: Project) -> None:
    bridge = {**reference_networks.bridge(), "token": "hunter2"}
    node.write(reference_networks.network(bridge, name="db"))
    node.write(reference_networks.network({"type": "macvlan", "master": "nowhere0"}, name="lan"))
    done = project.play([task("look", INFO, {"gather": ["findings", "networks"]})]).succeeded()["look"]
    found = {(finding["level"], finding["code"]) for finding in done.require_no_change().result["findings"]}
    assert {("schema", "unknown-key"), ("node", "missing-link")} <= found
    assert "hunter2" not in json.dumps(done.result)
    assert "configurations" not in done.result


def test_findings_are_refused_in_the_background_where_the_files_would_be_returned(project: Project) -> None:
    look = task("look", INFO, {"gather": ["findings"]}, poll=1, **{"async": 60})
    done = project.play([look, task("other", INFO, {"gather": ["networks"]}, poll=1, **{"async": 60})])
    assert "findings cannot be gathered by a task with async" in done["look"].require_failure()
    assert "configurations" not in done["look"].result
    assert done["other"].ok().result["networks"] == []


def test_links_have_their_bridge_and_addresses(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.bridge(isGateway=True), name="db"))
    with namespace("red"):
        node.attach({"network": "db", "netns": "red"})
        done = project.play([task("look", INFO, {"gather": ["links"]})]).succeeded()["look"]
    links = {link["name"]: link for link in done.require_no_change().result["links"]}
    ports = [link for link in links.values() if link["master"] == "cni0"]
    assert [port["kind"] for port in ports] == ["veth"]
    assert (links["cni0"]["kind"], links["cni0"]["addresses"]) == ("bridge", ["10.1.0.1/16"])
    assert "lo" not in links


def test_attachments_have_the_state_of_their_namespace_and_network(node: EngineNode, project: Project) -> None:
    names = ["same", "changed", "unwritten", "moved", "left"]
    for name in names:
        open_network(node, name)
    with namespaces(*names):
        items = [{"network": name, "netns": name} for name in names]
        node.attach(*items)
        _spoil(node)
        with namespace("moved"):
            played = project.play([task("look", INFO, {"gather": ["attachments", "netns"]})]).succeeded()
    looked = played["look"].require_no_change().result
    attachments = {
        attachment.get("container_id") or attachment["path"].rsplit("/", 1)[1]: attachment
        for attachment in looked["attachments"]
    }
    assert attachments["same"] == {
        "network": "same",
        "container_id": "same",
        "ifname": "eth0",
        "netns": "/run/netns/same",
        "netns_state": "present",
        "network_state": "same",
        "own": True,
        "persist": False,
        "interrupted": None,
        "addresses": ["10.9.0.2"],
        "ports": [],
        "builtin_plugins": [],
        "drift": None,
        "result": {"cniVersion": "1.0.0", **RESULT},
        "error": None,
    }
    facts = ("netns_state", "network_state", "own", "interrupted")
    assert {
        name: tuple(attachment[fact] for fact in facts)
        for name, attachment in attachments.items()
        if not attachment["error"]
    } == {
        "same": ("present", "same", True, None),
        "changed": ("present", "changed", True, None),
        "unwritten": ("present", "gone", True, None),
        "moved": ("replaced", "same", True, None),
        "left": ("gone", "same", True, "DEL"),
        "podman-1": ("gone", "unknown", False, None),
    }
    for name in ("same-empty-eth0", "same-cut-eth0"):
        assert attachments[name].keys() == {"path", "error"}
        assert "is not valid JSON" in attachments[name]["error"]["msg"]
    assert looked["netns"] == [{"name": name, "path": f"/run/netns/{name}"} for name in sorted(names) if name != "left"]


def test_a_full_range_comes_first_in_the_message(node: EngineNode, project: Project) -> None:
    node.write(
        reference_networks.network(
            reference_networks.bridge(ipam=reference_networks.host_local("10.1.0.0/29", "fd00:1::/64")), name="small"
        )
    )
    names = [f"c{number}" for number in range(5)]
    with namespaces(*names):
        node.attach(*({"network": "small", "netns": name} for name in names))
        asked = [task("look", INFO, {}), task("only leases", INFO, {"gather": ["leases"]})]
        played = project.play(asked).succeeded()
    looked = played["look"].require_no_change()
    assert looked.msg.startswith(
        "network small, 10.1.0.1-10.1.0.6: all 5 addresses are taken (/var/lib/cni/networks/small); "
    )
    full, roomy = looked.result["leases"]
    assert (full["size"], full["taken"], full["free"]) == (5, 5, 0)
    assert (roomy["range"], roomy["taken"]) == ("fd00:1::1-fd00:1::ffff:ffff:ffff:ffff", 5)
    assert played["only leases"].msg.splitlines()[1:] == ["2 leases"]


def _spoil(node: EngineNode) -> None:
    """Break each attachment in the way that the name of its container describes."""
    node.write(configuration("changed", mtu=1400))
    (node.conf_dir / "10-unwritten.conflist").unlink()
    records, intents = node.cache_dir / "results", node.cache_dir / "cni.node" / "intents"
    begun = json.loads((records / "left-left-eth0").read_text(encoding="utf-8"))
    begun["cni.node"]["command"] = "DEL"
    intents.mkdir(parents=True, exist_ok=True)
    (intents / "left-left-eth0").write_text(json.dumps(begun), encoding="utf-8")
    foreign: JsonObject = {
        **begun,
        "containerId": "podman-1",
        "networkName": "same",
        "config": "e30=",
        "netns": "/run/netns/none",
    }
    del foreign["cni.node"]
    (records / "same-podman-1-eth0").write_text(json.dumps(foreign), encoding="utf-8")
    (records / "same-empty-eth0").write_bytes(b"")
    (records / "same-cut-eth0").write_bytes((records / "same-same-eth0").read_bytes()[:100])
    for name in ("moved", "left"):
        subprocess.run(["ip", "netns", "delete", name], check=True)
