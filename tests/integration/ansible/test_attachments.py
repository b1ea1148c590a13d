# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module attachments: ADD, CHECK and DEL of real attachments, and every reason for a recreation."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import RESULT, configuration, open_network
from ansible_collections.cni.node.tests.integration.ansible.test_attachments_check import ATTACHMENTS
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import namespace, namespaces
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer


def test_attachments_are_added_checked_and_removed(node: EngineNode, project: Project) -> None:
    node.write({**reference_networks.full(), "name": "db"})
    node.write({**reference_networks.network(reference_networks.PTP), "name": "nat"})
    items: list[JsonObject] = [
        {"network": "db", "netns": "red"},
        {"network": "db", "netns": "/run/netns/blue", "capability_args": reference_networks.CAPABILITY_ARGS},
        {"network": "nat", "netns": "blue", "ifname": "eth1"},
        {"network": "nat", "netns": "/run/netns/green", "container_id": "pod-1.a", "args": {"IgnoreUnknown": True}},
    ]
    with namespaces("red", "blue", "green") as (red, blue, green):
        full = [{"args": {}, "capability_args": {}, **item} for item in _complete(items)]
        before = node.attach_and_detach(*full)
        played = project.play(thrice("attach", ATTACHMENTS, {"attachments": items}), "--diff").succeeded()
        done = played.require_converged("attach")
        assert done.actions() == dict.fromkeys(("red", "blue", "blue eth1", "pod-1.a"), "added")
        assert (done.timeless, done.result["summary"]) == ("attachments: 4 added", {"added": 4})
        assert [entry["netns"] for entry in done.entries] == [item["netns"] for item in full]
        assert played["attach, again"].result["summary"] == {"checked": 4}
        diff = done.result["diff"]
        assert diff["before"]["attachment of red (eth0) to network db"] == "absent"
        assert diff["after"]["attachment of blue (eth1) to network nat"] == "attached"
        assert played.output.count('+    "attachment of pod-1.a (eth0) to network nat": "attached"') == 2
        for entry, inside in zip(done.entries, (red, blue, blue, green)):
            addresses = {ip["address"] for ip in entry["result"]["ips"]}
            assert entry["result"]["cniVersion"] == "1.0.0"
            assert inside.addresses(entry["ifname"]) == addresses
            assert 0 < entry["seconds"] < 60
        assert blue.links()["eth0"]["address"] == reference_networks.MAC
        # Debian's portmap expects rules of a family of which the attachment has no address.
        assert all("ipv6 dnat" in text for text in done.entries[1]["false_alarms"])
        assert [entry["result"] for entry in played["attach, again"].entries] == [
            entry["result"] for entry in done.entries
        ]
        assert [entry["result"] for entry in played["attach, predicted"].entries] == [{}, {}, {}, {}]
        absent = {"attachments": [{**item, "state": "absent"} for item in items]}
        played = project.play(thrice("detach", ATTACHMENTS, absent), "--diff").succeeded()
        done = played.require_converged("detach")
        assert done.result["summary"] == {"removed": 4}
        assert played["detach, again"].result["summary"] == {"unchanged": 4}
        assert played.output.count('-    "attachment of red (eth0) to network db": "attached"') == 2
        assert before.difference(node.state()) == ""


@pytest.mark.real_programs
def test_built_in_plugins_run_from_what_ansible_copies(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.full())
    item = {"network": "net", "netns": "blue", "capability_args": reference_networks.CAPABILITY_ARGS}
    with namespace("blue"):
        (full,) = _complete([item])
        before = node.attach_and_detach({"args": {}, **full})
        arguments = {"attachments": [item], "builtin": "always"}
        played = project.play(thrice("attach", ATTACHMENTS, arguments), "--diff").succeeded()
        (entry,) = played.require_converged("attach").entries
        assert entry["action"] == "added"
        assert {name.partition("@")[0] for name in entry["builtin_plugins"]} == {
            "bridge",
            "host-local",
            "tuning",
            "portmap",
        }
        arguments = {"attachments": [{**item, "state": "absent"}], "builtin": "always"}
        played = project.play(thrice("detach", ATTACHMENTS, arguments)).succeeded()
        assert played.require_converged("detach").result["summary"] == {"removed": 1}
        assert before.difference(node.state()) == ""


def test_mapped_ports_default_to_tcp_and_may_be_text(node: EngineNode, project: Project) -> None:
    node.write({**reference_networks.full(), "name": "db"})
    port = {"hostPort": str(reference_networks.HOST_PORT), "containerPort": str(reference_networks.CONTAINER_PORT)}
    ways: list[t.Any] = [[port], [{**port, "protocol": "TCP"}], json.dumps([port])]
    with namespaces("blue"):
        for number, ports in enumerate(ways):
            item: JsonObject = {
                "network": "db",
                "netns": "blue",
                "capability_args": {"portMappings": ports, "mac": reference_networks.MAC},
            }
            played = project.play([task("attach", ATTACHMENTS, {"attachments": [item]})]).succeeded()
            assert played["attach"].actions() == {"blue": "checked" if number else "added"}
        record = json.loads(pathlib.Path("/var/lib/cni/results/db-blue-eth0").read_bytes())
        assert record["capabilityArgs"] == reference_networks.CAPABILITY_ARGS
        project.play([task("detach", ATTACHMENTS, {"attachments": [{**item, "state": "absent"}]})]).succeeded()


def _complete(items: list[JsonObject]) -> list[JsonObject]:
    """Return the mappings with the module's defaults."""
    done = []
    for item in items:
        netns = item["netns"] if item["netns"].startswith("/") else f"/run/netns/{item['netns']}"
        done.append({"container_id": pathlib.Path(netns).name, "ifname": "eth0", **item, "netns": netns})
    return [
        {
            key: value if key != "args" else {name: str(text) for name, text in value.items()}
            for key, value in item.items()
        }
        for item in done
    ]


def test_a_changed_attachment_is_recreated_after_a_del_with_the_recorded_values(
    node: EngineNode, project: Project
) -> None:
    open_network(node, "lab")
    first: JsonObject = {
        "network": "lab",
        "netns": "red",
        "args": {"A": "1"},
        "capability_args": {"mac": reference_networks.MAC},
    }
    port = {"hostPort": 8080, "containerPort": 80}
    steps: dict[str, JsonObject] = {
        "add": first,
        "arguments": {**first, "args": {"A": "2", "B": 7}},
        "capability arguments": {**first, "args": {"A": "2", "B": 7}, "capability_args": {"portMappings": [port]}},
        "none": {**first, "args": {}, "capability_args": {}},
    }
    other = configuration("lab", mtu=1400)
    rewrite = {"conflists": [{"config": other}]}
    played = project.play(
        [
            task("namespace", "cni.node.netns", {"names": ["red"]}),
            *(task(name, ATTACHMENTS, {"attachments": [item]}) for name, item in steps.items()),
            task("rewrite", "cni.node.conflists", rewrite),
            *thrice("configuration", ATTACHMENTS, {"attachments": [steps["none"]]}),
            task("drop", "cni.node.netns", {"names": ["red"], "state": "absent"}),
            task("gone", ATTACHMENTS, {"attachments": [steps["none"]]}),
            task("make anew", "cni.node.netns", {"names": ["red"]}),
            task("another namespace", ATTACHMENTS, {"attachments": [steps["none"]]}),
        ]
    )
    assert played["rewrite"].ok().changed
    reasons = {
        "add": ("added", ""),
        "arguments": ("recreated", "its arguments have changed"),
        "capability arguments": ("recreated", "its capability arguments have changed"),
        "none": ("recreated", "its arguments have changed"),
        "configuration": ("recreated", "the network's configuration has changed"),
        "another namespace": ("recreated", "its network namespace has been replaced"),
    }
    for name, expected in reasons.items():
        (entry,) = (played.require_converged(name) if name == "configuration" else played[name].ok()).entries
        assert (entry["action"], entry["reason"]) == expected
        assert entry["result"] == {"cniVersion": "1.0.0", **RESULT}
    played["gone"].require_no_change().require_failure("CNI_NETNS: /run/netns/red does not exist; create it first")
    deleted = node.plugins.calls(command="DEL")
    assert [call.env["CNI_ARGS"] for call in deleted] == ["A=1", "A=2;B=7", "A=2;B=7", "", ""]
    given = [call.request.get("runtimeConfig") for call in deleted]
    assert given == [
        {"mac": reference_networks.MAC},
        {"mac": reference_networks.MAC},
        {"portMappings": [{**port, "protocol": "tcp"}]},
        None,
        None,
    ]
    assert [call.request.get("mtu") for call in deleted] == [None, None, None, None, 1400]
    # The last attachment's namespace was replaced.
    assert [call.env["CNI_NETNS"] for call in deleted] == [*["/run/netns/red"] * 4, ""]
    assert all(call.request["prevResult"]["ips"] == RESULT["ips"] for call in deleted)


def test_absent_requires_neither_namespace_nor_configuration(node: EngineNode, project: Project) -> None:
    for name in ("one", "two"):
        open_network(node, name)
    items = [{"network": name, "netns": name} for name in ("one", "two")]
    absent = {"attachments": [{**item, "state": "absent"} for item in items]}
    with namespaces("one", "two"):
        node.attach(*items)
    (node.conf_dir / "10-two.conflist").unlink()
    unknown = {"attachments": [{"network": "never-was", "netns": "never-was", "state": "absent"}]}
    played = project.play(
        [
            *thrice("detach", ATTACHMENTS, absent),
            task("never was", ATTACHMENTS, unknown),
        ]
    ).succeeded()
    assert played.require_converged("detach").result["summary"] == {"removed": 2}
    deleted = {call.plugin: call.env["CNI_NETNS"] for call in node.plugins.calls(command="DEL")}
    assert deleted == {"lab-one": "", "lab-two": ""}
    assert played["never was"].require_no_change().result["summary"] == {"unchanged": 1}


def test_an_attachment_that_fails_does_not_stop_the_others(node: EngineNode, project: Project) -> None:
    for name in ("good", "bad-add"):
        open_network(node, name)
    node.plugins.write(
        "lab-bad-add", ADD=ScriptedAnswer(error={"code": 100, "msg": "no address left"}, stderr="tried all\n")
    )
    bad: dict[str, tuple[JsonObject, int, str]] = {
        "no network": (
            {"network": "nowhere", "ifname": "eth1"},
            7,
            "no network 'nowhere' in /etc/cni/net.d; networks in this directory: bad-add, good",
        ),
        "no namespace": ({"netns": "nowhere"}, 4, "CNI_NETNS: /run/netns/nowhere does not exist"),
        "no namespace's name": ({"netns": "a b", "container_id": "name"}, 4, "'a b' is not a network namespace name"),
        "no namespace at all": ({"netns": "/etc/passwd"}, 4, "CNI_NETNS: /etc/passwd is not a network namespace"),
        "the node's own": (
            {"netns": "/proc/self/ns/net", "container_id": "own"},
            4,
            "is the node's own network namespace",
        ),
        "container id": ({"container_id": "../x"}, 4, "CNI_CONTAINERID: '../x' is not a container id"),
        "interface": ({"container_id": "i", "ifname": "a/b"}, 4, "CNI_IFNAME: 'a/b' is not an interface name"),
        "arguments": (
            {"container_id": "a", "args": {"A": "1;B=2"}},
            4,
            "CNI_ARGS: the value of 'A' is not valid",
        ),
        "plugin": ({"network": "bad-add", "ifname": "eth2"}, 100, "plugin lab-bad-add failed (ADD): no address left"),
    }
    good = {"network": "good", "netns": "red"}
    items = [{"network": "good", "netns": "blue"}, *({**good, **case[0]} for case in bad.values()), good]
    with namespaces("red", "blue"):
        played = project.play([task("attach", ATTACHMENTS, {"attachments": items})])
    done = played["attach"]
    first, *failed, last = done.entries
    assert (first["action"], last["action"]) == ("added", "added")
    assert done.changed
    assert done.result["summary"] == {"added": 2, "failed": len(bad)}
    msg = done.require_failure(f"attachments: 2 added, {len(bad)} failed; ")
    for entry, (dummy, code, text) in zip(failed, bad.values()):
        assert (entry["action"], entry["changed"], entry["result"]) == ("failed", False, {})
        assert entry["error"]["code"] == code
        assert text in "; ".join((entry["error"]["msg"], entry["error"]["details"]))
        assert text in msg
    assert "stderr (last lines): tried all" in failed[-1]["error"]["details"]
    assert "the DEL that followed succeeded; nothing is left behind" in failed[-1]["error"]["details"]


def test_purge_removes_attachments_of_this_collection_only(node: EngineNode, project: Project) -> None:
    open_network(node, "lab")
    foreign = {
        "kind": "cniCacheV1",
        "containerId": "podman-1",
        "config": "e30=",
        "ifName": "eth0",
        "networkName": "lab",
        "netns": "/run/netns/podman-1",
        "result": {"cniVersion": "1.0.0"},
    }
    records = node.cache_dir / "results"
    items = [{"network": "lab", "netns": name} for name in ("red", "blue", "green")]
    node.run("netns", names=["red", "blue", "green"]).succeeded()
    node.attach(*items)
    (records / "lab-podman-1-eth0").write_text(json.dumps(foreign), encoding="utf-8")
    (records / "lab-other-eth0").write_bytes(b"")
    kept = {path.name: _identity(path) for path in records.iterdir()}
    arguments = {"attachments": [items[0], {**items[1], "state": "absent"}], "purge": True}
    everything = {"attachments": [], "purge": True}
    played = project.play(
        [*thrice("purge", ATTACHMENTS, arguments), task("purge all", ATTACHMENTS, everything)], "--diff"
    ).succeeded()
    purged = played.require_converged("purge")
    assert list(purged.actions().items()) == [("red", "checked"), ("blue", "removed"), ("green", "removed")]
    assert all("lab-other-eth0" in text for text in purged.warnings)
    assert purged.warnings != []
    assert played["purge all"].actions() == {"red": "removed"}
    assert sorted(path.name for path in records.iterdir()) == ["lab-other-eth0", "lab-podman-1-eth0"]
    for path in records.iterdir():
        assert _identity(path) == kept[path.name]


def _identity(path: pathlib.Path) -> tuple[bytes, int, int, int]:
    status = path.stat()
    return path.read_bytes(), status.st_ino, status.st_mode, status.st_mtime_ns


def test_options_reach_the_engine(node: EngineNode, project: Project) -> None:
    """Change directories, the time limit and the number of workers, and expect another result each time."""
    node.plugins.write("lab-lab", ADD=ScriptedAnswer(hang="yes"))
    own = pathlib.Path("/etc/cni/mine")
    own.mkdir()
    (own / "lab.conflist").write_text(json.dumps(configuration("lab")), encoding="utf-8")
    items = [{"network": "lab", "netns": "red", "container_id": f"c{number}"} for number in range(2)]
    arguments: JsonObject = {"attachments": items, "conf_dir": str(own), "cache_dir": "/var/lib/cni/mine"}
    tasks = [
        task("elsewhere", ATTACHMENTS, {**arguments, "plugin_dirs": ["/opt/cni/none"]}),
        task("too slow", ATTACHMENTS, {**arguments, "timeout": 0.3}),
        task("no workers", ATTACHMENTS, {**arguments, "workers": 0}),
    ]
    with namespace("red"):
        played = project.play(tasks)
        played["elsewhere"].require_no_change().require_failure(
            "plugin 'lab-lab' is not installed", "looked in /opt/cni/none"
        )
        played["too slow"].require_failure("plugin lab-lab failed (ADD): ran out of time (limit 0.3 s) and was killed")
        played["no workers"].require_no_change().require_failure("workers: 0; expected: a number above 0")
        for workers in (2, 1):
            _attach_with(workers, node, project, arguments)
    assert (node.cache_dir / "mine" / "results" / "lab-c1-eth0").is_file()


def _attach_with(workers: int, node: EngineNode, project: Project, arguments: JsonObject) -> None:
    """Attach with a number of workers, which is the number of plugins that run at a time."""
    node.plugins.forget()
    anew = {**arguments, "attachments": [{**item, "args": {"N": str(workers)}} for item in arguments["attachments"]]}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with node.plugins.gate(f"gate{workers}") as gate:
            node.plugins.write("lab-lab", ADD=ScriptedAnswer(result=RESULT, hold=gate))
            played = pool.submit(project.play, [task("attach", ATTACHMENTS, {**anew, "workers": workers})])
            held = node.plugins.wait_for_held(workers, 120)
        played.result().succeeded()
    assert len(held) == workers
    calls = node.plugins.calls(command="ADD")
    assert len(calls) == 2
    first, second = sorted(calls, key=lambda call: call.started)
    assert first.ended is not None
    assert (second.started < first.ended) is (workers == 2)
