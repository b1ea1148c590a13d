# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module gc on leaks of the real plugins: found with evidence, removed once, and nothing foreign is changed."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import subprocess
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import configuration, open_network
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, remove, replace
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip, namespace, namespaces
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.support.until import until

GC = "cni.node.gc"
LEASES = pathlib.Path("/var/lib/cni/networks")
NOW: JsonObject = {"min_age": 0}


def collect(project: Project, **arguments: t.Any) -> TaskRun:
    """Collect the node's leaks. Check mode predicts them, and a second run finds none."""
    return project.play(thrice("gc", GC, arguments)).require_converged("gc").ok()


def finding_actions(done: TaskRun) -> dict[str, str]:
    """Return the action of each finding."""
    return {
        f"{finding['kind']} {finding['subject'].rpartition('/')[2]}": finding["action"]
        for finding in done.result["findings"]
    }


def evidence(done: TaskRun) -> str:
    return "\n".join(finding["evidence"] for finding in done.result["findings"])


def lease(network: str, address: str, content: str, age: float = 3600) -> pathlib.Path:
    path = LEASES / network / address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="")
    os.utime(path, (time.time() - age,) * 2)
    return path


def full_network(node: EngineNode, **keys: t.Any) -> None:
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True), reference_networks.PORTMAP, **keys))


PORTS: JsonObject = {"capability_args": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}}


def chains() -> str:
    """Return iptables' chains and rules of single containers."""
    saved = subprocess.run(["iptables-save", "-t", "nat"], check=True, capture_output=True, text=True).stdout
    return "\n".join(line for line in saved.splitlines() if re.search(r"id: |CNI-DN-", line))


def foreign(record: pathlib.Path) -> None:
    """Remove this collection's key from a record, so that it belongs to another runtime."""
    document = json.loads(record.read_text(encoding="utf-8"))
    del document["cni.node"]
    record.write_text(json.dumps(document), encoding="utf-8")


def kill_during_add(node: EngineNode, item: JsonObject, plugin: str = "stall") -> None:
    """Kill a run while its last plugin is at ADD; the earlier plugins have run and nothing is recorded."""
    node.plugins.forget()
    with node.plugins.gate() as gate:
        node.plugins.write(plugin, ADD=ScriptedAnswer(hold=gate))
        running = node.start("attachments", attachments=[item])
        (call,) = node.plugins.wait_for_held(1)
        running.kill()
        running.communicate()
    until(lambda: not pathlib.Path(f"/proc/{call.pid}").exists() or None)
    node.plugins.write(plugin)


def test_a_node_that_is_in_use_has_no_leaks(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespace("blue"):
        node.attach({"network": "net", "netns": "blue", **PORTS})
        done = collect(project, **NOW).require_unchanged_node()
        assert (done.changed, done.result["findings"], done.msg) == (False, [], "no leaks")


def test_an_empty_node_stays_empty(node: EngineNode, project: Project) -> None:
    node.conf_dir.rmdir()
    assert collect(project, **NOW).require_unchanged_node().msg == "no leaks"


def test_an_attachment_whose_namespace_is_gone_is_deleted_completely(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespaces("blue", "red") as (blue, red):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "red")))
        with namespace("lost") as lost:
            node.attach({"network": "net", "netns": "lost", **PORTS})
            remove(lost)
        assert "lost" in chains()
        done = collect(project)
        assert finding_actions(done) == {"record net-lost-eth0": "deleted"}
        assert "its network namespace /run/netns/lost is gone" in evidence(done)
        assert "lost" not in chains()
        assert set(node.leases("net")) == {
            address.split("/")[0] for name in (blue, red) for address in name.addresses("eth0")
        }
        blue.run("ping", "-c1", "-W5", "10.1.0.1")


def test_an_attachment_whose_namespace_was_replaced_is_deleted(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespace("blue") as blue:
        node.attach({"network": "net", "netns": "blue"})
        replace(blue)
        done = collect(project)
    assert finding_actions(done) == {"record net-blue-eth0": "deleted"}
    assert "has been replaced" in evidence(done)
    assert (node.leases("net"), chains()) == ([], "")


def test_an_attachment_whose_namespace_is_mounted_elsewhere_is_not_a_leak(
    node: EngineNode, project: Project, tmp_path: pathlib.Path
) -> None:
    full_network(node)
    path = tmp_path / "elsewhere"
    path.touch()
    with namespace("blue") as blue:
        subprocess.run(["mount", "--bind", blue.path, path], check=True)
        node.attach({"network": "net", "container_id": "pod", "netns": str(path)})
        subprocess.run(["umount", path], check=True)
        path.unlink()
        assert finding_actions(collect(project)) == {}
        assert "eth0" in blue.links()
        assert len(node.leases("net")) == 1
    assert finding_actions(collect(project)) == {"record net-pod-eth0": "deleted"}
    assert node.leases("net") == []


def test_an_add_of_a_killed_run_is_undone(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True), {"type": "stall"}))
    node.plugins.write("stall")
    with namespace("blue") as blue:
        kill_during_add(node, {"network": "net", "netns": "blue"})
        assert (len(node.leases("net")), len(node.intents()), "eth0" in blue.links()) == (1, 1, True)
        done = collect(project)
        assert finding_actions(done) == {"intent net-blue-eth0": "deleted"}
        assert "a run was interrupted at ADD" in evidence(done)
        assert (node.leases("net"), node.intents(), "eth0" in blue.links(), chains()) == ([], [], False, "")


def test_attachments_that_are_not_valid_are_deleted_unless_young_or_foreign(node: EngineNode, project: Project) -> None:
    full_network(node)
    names = ("blue", "red", "podman")
    with namespaces(*names):
        node.attach(*({"network": "net", "netns": name} for name in names))
        foreign(node.cache_dir / "results" / "net-podman-eth0")
        valid = [{"container_id": "blue"}]
        young = collect(project, valid_attachments=valid).require_unchanged_node()
        assert finding_actions(young) == {"record net-red-eth0": "kept"}
        assert "valid_attachments does not list it, but it is younger than 300 s" in evidence(young)
        elsewhere = [*valid, {"network": "other", "container_id": "red"}, {"container_id": "red", "ifname": "eth1"}]
        done = collect(project, valid_attachments=elsewhere, **NOW)
        assert finding_actions(done) == {"record net-red-eth0": "deleted"}
        assert len(node.leases("net")) == 2


def test_a_lease_without_an_owner_is_removed_and_every_owner_protects_its_lease(
    node: EngineNode, project: Project
) -> None:
    full_network(node)
    with namespaces("blue", "red"):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "red")))
        (node.cache_dir / "results" / "net-blue-eth0").unlink()
        (node.cache_dir / "multus" / "results").mkdir(parents=True)
        elsewhere = node.cache_dir / "multus" / "results" / "net-pod-net1"
        document = json.loads((node.cache_dir / "results" / "net-red-eth0").read_text(encoding="utf-8"))
        del document["cni.node"]
        document.update(containerId="pod", ifName="net1", netns="/run/netns/none")
        elsewhere.write_text(json.dumps(document), encoding="utf-8")
        for address in node.leases("net"):
            os.utime(LEASES / "net" / address, (0, 0))
        for address, content in {
            "10.1.9.1": "nobody\r\neth0",
            "10.1.9.2": "old-format",
            "10.1.9.3": "pod\r\nnet1",
            "10.1.9.4": "red\r\neth0",
            "10.1.9.5": "red\r\neth7",
            "10.1.9.6": "",
        }.items():
            lease("net", address, content)
        lease("net", "10.1.9.7", "unborn\r\neth0", age=1)
        lease("net", "10.1.9.8", "", age=1)
        own = node.leases("net")[:2]
        of_blue = next(address for address in own if "blue" in (LEASES / "net" / address).read_text(encoding="utf-8"))
        done = collect(project)
    assert {name: action for name, action in finding_actions(done).items() if "lease" in name} == {
        "lease 10.1.9.1": "removed",
        "lease 10.1.9.2": "removed",
        "lease 10.1.9.5": "kept",
        "empty lease 10.1.9.6": "removed",
        "lease 10.1.9.7": "kept",
        "empty lease 10.1.9.8": "kept",
        f"lease {of_blue}": "kept",
    }
    assert "there is a network namespace named red" in evidence(done)
    assert "it is younger than 300 s" in evidence(done)
    assert sorted([*own, "10.1.9.3", "10.1.9.4", "10.1.9.5", "10.1.9.7", "10.1.9.8"]) == node.leases("net")


def test_an_address_in_use_is_kept_whatever_its_containers_name(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespace("blue"):
        node.attach({"network": "net", "netns": "blue", "container_id": "somebody", **PORTS})
        (address,) = node.leases("net")
        os.utime(LEASES / "net" / address, (0, 0))
        (node.cache_dir / "results" / "net-somebody-eth0").unlink()
        done = collect(project).require_unchanged_node()
        assert {finding["action"] for finding in done.result["findings"]} == {"kept"}
        assert f"{address} is in use in the network namespace /run/netns/blue" in evidence(done)
        assert sorted(finding["kind"] for finding in done.result["findings"]) == ["chain", "chain", "lease", "link"]
    done = collect(project)
    assert {finding["action"] for finding in done.result["findings"]} == {"removed"}
    assert (node.leases("net"), chains()) == ([], "")


def test_an_unreadable_record_protects_everything_it_may_own(node: EngineNode, project: Project) -> None:
    full_network(node)
    full_network(node, name="other")
    with namespace("blue"):
        node.attach(*({"network": name, "netns": "blue", "ifname": f"{name}0"} for name in ("net", "other")))
    for name in ("net", "other"):
        (node.cache_dir / "results" / f"{name}-blue-{name}0").unlink()
        for address in node.leases(name):
            os.utime(LEASES / name / address, (0, 0))
    broken = node.cache_dir / "results" / "net-red-eth0"
    broken.write_bytes(b"")
    done = collect(project)
    actions = {(finding["network"], finding["kind"]): finding["action"] for finding in done.result["findings"]}
    assert actions == {
        ("net", "record"): "kept",
        ("net", "lease"): "kept",
        ("net", "chain"): "kept",
        ("other", "lease"): "removed",
        ("other", "chain"): "removed",
    }
    assert f"its owner may be in an unreadable record: {broken}" in evidence(done)
    assert broken.exists()


def test_the_lease_directory_of_a_removed_network_is_removed(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespace("blue"):
        node.attach({"network": "net", "netns": "blue"})
        node.detach({"network": "net", "netns": "blue"})
    (node.conf_dir / "10-net.conflist").unlink()
    young = collect(project)
    assert finding_actions(young)["lease directory net"] == "kept"
    (node.conf_dir / "20-broken.conflist").write_text("{", encoding="utf-8")
    assert "an unreadable configuration may define" in evidence(collect(project, **NOW))
    (node.conf_dir / "20-broken.conflist").unlink()
    assert finding_actions(collect(project, **NOW)) == {"lease directory net": "removed"}
    assert not (LEASES / "net").exists()


def test_files_of_this_collection_are_removed_if_nothing_is_attached(node: EngineNode, project: Project) -> None:
    full_network(node)
    own = node.cache_dir / "cni.node"
    with namespace("blue"):
        node.attach({"network": "net", "netns": "blue"})
        for directory in (node.conf_dir, node.cache_dir / "results", own / "intents"):
            (directory / ".cni.node-x.tmp").write_text("{", encoding="utf-8")
        (own / "locks" / "container-0123").touch()
        kept = collect(project)
        assert set(finding_actions(kept).values()) == {"kept"}
        done = collect(project, **NOW)
        assert sorted(finding["kind"] for finding in done.result["findings"]) == ["lock", *["temporary file"] * 3]
        assert own.exists()
        node.detach({"network": "net", "netns": "blue"})
    assert {finding["kind"] for finding in collect(project, **NOW).result["findings"]} == {"directory"}
    assert not own.exists()
    with namespace("blue"):
        node.detach({"network": "net", "netns": "blue"})
    assert own.exists()
    assert not project.play([task("gc", GC, NOW)])["gc"].ok().changed
    assert not own.exists()


def test_locks_of_existing_networks_do_not_keep_the_directory(node: EngineNode, project: Project) -> None:
    full_network(node)
    own = node.cache_dir / "cni.node"
    with namespaces("blue", "red"):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "red")))
        node.detach({"network": "net", "netns": "blue"})
        collect(project, networks=["other"], **NOW)
        assert list((own / "locks").glob("network-*"))
        node.detach({"network": "net", "netns": "red"})
    collect(project, networks=["other"], **NOW)
    assert not own.exists()


def test_only_the_named_networks_are_examined(node: EngineNode, project: Project) -> None:
    full_network(node)
    lease("net", "10.1.9.1", "nobody\r\neth0")
    lease("other", "10.1.9.1", "nobody\r\neth0")
    assert finding_actions(collect(project, networks=["net"])) == {"lease 10.1.9.1": "removed"}
    assert node.leases("other") == ["10.1.9.1"]
    assert finding_actions(collect(project))["lease 10.1.9.1"] == "removed"


def test_a_failed_del_is_reported_and_other_leaks_are_removed(node: EngineNode, project: Project) -> None:
    open_network(node, "broken")
    with namespaces("blue", "red"):
        node.attach(*({"network": "broken", "netns": name} for name in ("blue", "red")))
    error = {"code": 100, "msg": "out of order"}
    node.plugins.write("lab-broken", DEL=[ScriptedAnswer(error=error), ScriptedAnswer()])
    lease("broken", "10.1.9.1", "nobody\r\neth0")
    done = project.play([task("gc", GC, {})])["gc"]
    done.require_failure("plugin lab-broken failed (DEL): out of order")
    assert sorted(finding["action"] for finding in done.result["findings"]) == ["deleted", "failed", "removed"]
    assert finding_actions(collect(project)) == {"intent broken-blue-eth0": "deleted"}


def test_plugins_of_1_1_0_get_the_valid_attachments(node: EngineNode, project: Project) -> None:
    node.plugins.write("lab-new")
    node.write({**configuration("new"), "cniVersion": "1.1.0"})
    with namespaces("blue", "red"):
        node.attach(*({"network": "new", "netns": name} for name in ("blue", "red")))
        foreign(node.cache_dir / "results" / "new-red-eth0")
        node.plugins.forget()
        assert project.play([task("gc", GC, {}, check_mode=True)])["gc"].ok().require_unchanged_node()
        assert node.plugins.calls("lab-new", "GC") == []
        valid = [{"container_id": "mine", "ifname": "net1"}]
        project.play([task("gc", GC, {"valid_attachments": [*valid, {"container_id": "blue"}]})])["gc"].ok()
        (call,) = node.plugins.calls("lab-new", "GC")
    sent = {entry["containerID"]: entry["ifname"] for entry in call.request["cni.dev/valid-attachments"]}
    assert sent == {"blue": "eth0", "red": "eth0", "mine": "net1"}


def ports_of_the_bridge() -> list[str]:
    return sorted(link["ifname"] for link in ip("link", "show", "master", "cni0"))


def test_a_port_whose_other_end_is_unreachable_is_removed(node: EngineNode, project: Project) -> None:
    """Remove the port by the DEL of its record, or as a link if it has no record."""
    full_network(node)
    with namespaces("blue", "lost", "forgotten") as (blue, lost, forgotten):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "lost", "forgotten")))
        (of_blue,) = interfaces(node, "blue", "cni0")
        (of_forgotten,) = interfaces(node, "forgotten", "cni0")
        with lost.path.open("rb"), forgotten.path.open("rb"):
            remove(lost, wait=False)
            remove(forgotten, wait=False)
            (node.cache_dir / "results" / "net-forgotten-eth0").unlink()
            assert len(ports_of_the_bridge()) == 3
            done = collect(project)
            actions = finding_actions(done)
            assert (actions["record net-lost-eth0"], actions[f"link {of_forgotten}"]) == ("deleted", "removed")
            assert [name for name in actions if name.startswith("link")] == [f"link {of_forgotten}"]
            assert "its other end is in no network namespace that has a name or a process" in evidence(done)
            assert ports_of_the_bridge() == [of_blue]
        blue.run("ping", "-c1", "-W5", "10.1.0.1")


def interfaces(node: EngineNode, container: str, bridge: str) -> list[str]:
    """Return the node's interfaces of a container's attachment, without the bridge."""
    record = json.loads((node.cache_dir / "results" / f"net-{container}-eth0").read_text(encoding="utf-8"))
    return [
        interface["name"]
        for interface in record["result"]["interfaces"]
        if not interface.get("sandbox") and interface["name"] != bridge
    ]


def test_a_port_without_a_record_is_kept_if_its_other_end_is_reachable(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespaces("blue", "red"):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "red")))
        ports = ports_of_the_bridge()
        subprocess.run(["ip", "link", "add", "veth00000000", "type", "veth", "peer", "veth00000001"], check=True)
        subprocess.run(["ip", "link", "set", "veth00000000", "master", "cni0"], check=True)
        (of_blue,) = interfaces(node, "blue", "cni0")
        (node.cache_dir / "results" / "net-blue-eth0").unlink()
        done = collect(project, **NOW).require_unchanged_node()
        assert {
            finding["subject"]: finding["action"] for finding in done.result["findings"] if finding["kind"] == "link"
        } == {of_blue: "kept"}
        assert "its other end is in the network namespace /run/netns/blue" in evidence(done)
        assert set(ports) < set(ports_of_the_bridge())


def nft(commands: str) -> None:
    subprocess.run(["nft", "-f", "-"], check=True, input=commands, text=True)


def digest(text: str) -> str:
    return hashlib.sha512(text.encode()).hexdigest()[:16]


def masquerading(network: str, container: str, address: str) -> str:
    """Return rules as the reference plugins create them since 1.6.0 with the backend nftables."""
    words = f"{digest(network)}-{digest(f'eth0:{container}')}, net: {network}, if: eth0, id: {container}"[:128]
    rule = f"ip saddr == {address} ip daddr != 10.1.0.0/16 masquerade"
    return f'add rule inet cni_plugins_masquerade masq_checks {rule} comment "{words}"\n'


TABLES = """\
table inet cni_plugins_masquerade { chain masq_checks { }; }
table ip cni_hostport { chain hostports { }; chain masquerading { type nat hook postrouting priority 100; }; }
"""


def test_rules_of_nftables_are_removed_with_their_container(node: EngineNode, project: Project) -> None:
    full_network(node)
    long_id = "0123456789abcdef" * 4
    with namespaces("blue", "red"):
        node.attach({"network": "net", "netns": "blue"}, {"network": "net", "netns": "red", "container_id": long_id})
        (address, dummy) = node.leases("net")
        nft(TABLES + masquerading("net", "blue", address) + masquerading("net", long_id, "10.1.9.8"))
        nft(masquerading("net", "lost", "10.1.9.9") + masquerading("net", "moved", address))
        for container, to in (("blue", address), ("lost", "10.1.9.9")):
            nft(f'add rule ip cni_hostport hostports tcp dport 8080 dnat to {to}:80 comment "{container}"\n')
            nft(f'add rule ip cni_hostport masquerading ip saddr {to} ip daddr {to} masquerade comment "{container}"\n')
        done = collect(project)
        actions = {finding["subject"]: finding["action"] for finding in done.result["findings"]}
        words = [subject.rpartition("id: ")[2] if "id: " in subject else subject for subject in actions]
        assert dict(zip(words, actions.values())) == {
            "lost": "removed",
            "moved": "kept",
            "nft ip cni_hostport: lost": "removed",
        }
        after = subprocess.run(["nft", "list", "ruleset"], check=True, capture_output=True, text=True).stdout
        assert ("lost" in after, after.count("blue"), long_id[:20] in after) == (False, 3, True)


def tool(name: str, *arguments: str) -> str:
    return subprocess.run([name, *arguments], check=True, capture_output=True, text=True).stdout


def nat_chain(prefix: str, owner: str) -> str:
    """Return the name that the reference plugins give a container's chain."""
    return (prefix + hashlib.sha512(owner.encode()).hexdigest())[:28]


def restore(*rules: str) -> None:
    """Add chains and rules to nat."""
    text = "\n".join(["*nat", *rules, "COMMIT", ""])
    subprocess.run(["iptables-restore", "--noflush"], check=True, input=text, text=True)


def unreached(network: str, container: str, address: str) -> tuple[str, str]:
    """Create unreachable chains for a container, for masquerading and for port mappings, and return their names."""
    masquerade, ports = (nat_chain(prefix, network + container) for prefix in ("CNI-", "CNI-DN-"))
    comment = f'-m comment --comment "name: \\"{network}\\" id: \\"{container}\\""'
    restore(
        f":{masquerade} - [0:0]",
        f":{ports} - [0:0]",
        f"-A {masquerade} -d 10.1.0.0/16 {comment} -j ACCEPT",
        f"-A {ports} -p tcp -m tcp --dport 8080 -j DNAT --to-destination {address}:80",
    )
    return masquerade, ports


def address_of(container: Namespace) -> str:
    (address,) = (address.partition("/")[0] for address in container.addresses("eth0") if address.startswith("10.1."))
    return address


def test_unreachable_chains_are_removed_unless_they_have_an_owner(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespaces("blue", "red") as (dummy, red):
        node.attach({"network": "net", "netns": "blue", **PORTS}, {"network": "net", "netns": "red"})
        of_red = address_of(red)
        tool("iptables", "-t", "nat", "-F", "POSTROUTING")
        tool("iptables", "-t", "nat", "-F", "CNI-HOSTPORT-DNAT")
        empty, foreign_name = nat_chain("CNI-", "netnobody"), "CNI-SERVICES"
        restore(f":{empty} - [0:0]", f":{foreign_name} - [0:0]")
        lost = unreached("net", "lost", "10.1.9.9")
        moved = unreached("net", "moved", of_red)
        named = unreached("other", "red", "10.1.9.8")
        only = collect(project, networks=["net"])
        assert finding_actions(only) == {
            f"chain iptables nat {lost[0]}": "removed",
            f"chain iptables nat {moved[0]}": "removed",
        }
        done = collect(project)
        assert finding_actions(done) == {
            f"chain iptables nat {empty}": "removed",
            f"chain iptables nat {lost[1]}": "removed",
            f"chain iptables nat {moved[1]}": "kept",
            f"chain iptables nat {named[0]}": "kept",
            f"chain iptables nat {named[1]}": "removed",
        }
        assert f"{of_red} is in use in the network namespace /run/netns/red" in evidence(done)
        assert "no rule jumps to it, and no recorded attachment has a chain of this name" in evidence(done)
        rules = tool("iptables-save", "-t", "nat")
        for name in (nat_chain("CNI-", "netblue"), nat_chain("CNI-DN-", "netblue"), foreign_name, moved[1], named[0]):
            assert f":{name} " in rules


def test_del_removes_a_chain_whose_rule_was_missing(node: EngineNode, project: Project) -> None:
    full_network(node)
    with namespace("lost") as lost:
        node.attach({"network": "net", "netns": "lost"})
        remove(lost)
    tool("iptables", "-t", "nat", "-F", "POSTROUTING")
    assert "lost" in chains()
    assert finding_actions(collect(project)) == {"record net-lost-eth0": "deleted"}
    assert chains() == ""


def test_rules_of_the_plugin_firewall_are_removed_with_the_last_owner_of_their_address(
    node: EngineNode, project: Project
) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), reference_networks.FIREWALL))
    with namespaces("blue", "red") as (blue, red):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "red")))
        of_blue, of_red = address_of(blue), address_of(red)
        tool("ip6tables", "-N", "CNI-FORWARD")
        for address in ("10.1.9.9", "fd00:1::9"):
            name = "ip6tables" if ":" in address else "iptables"
            state = ("-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED")
            tool(name, "-A", "CNI-FORWARD", "-d", address, *state, "-j", "ACCEPT")
            tool(name, "-A", "CNI-FORWARD", "-s", address, "-j", "ACCEPT")
        tool("iptables", "-A", "CNI-FORWARD", "-s", "192.0.2.1", "-j", "ACCEPT")
        os.utime(LEASES / "net" / of_red, (0, 0))
        (node.cache_dir / "results" / "net-red-eth0").unlink()
        done = collect(project)
        assert {name: action for name, action in finding_actions(done).items() if name.startswith("rule")} == {
            "rule iptables filter CNI-FORWARD: 10.1.9.9": "removed",
            f"rule iptables filter CNI-FORWARD: {of_red}": "kept",
            "rule ip6tables filter CNI-FORWARD: fd00:1::9": "removed",
        }
        assert "no runtime has a record of an attachment with this address, and the address is not in use" in evidence(
            done
        )
        rules = tool("iptables-save", "-t", "filter")
        assert [rules.count(address) for address in (of_blue, of_red, "192.0.2.1", "10.1.9.9")] == [2, 2, 1, 0]


def test_a_link_of_the_plugin_bandwidth_is_removed_when_no_link_redirects_to_it(
    node: EngineNode, project: Project
) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), reference_networks.BANDWIDTH))
    with namespaces("blue", "red", "lost"):
        node.attach(*({"network": "net", "netns": name} for name in ("blue", "red", "lost")))
        of = {name: f"bwp{hashlib.sha512(f'net{name}'.encode()).hexdigest()[:12]}" for name in ("blue", "red", "lost")}
        for name in ("red", "lost"):
            (node.cache_dir / "results" / f"net-{name}-eth0").unlink()
        tool("ip", "-n", "lost", "link", "delete", "eth0")
        tool("ip", "link", "add", "bwp1", "type", "ifb")
        done = collect(project)
        links = {
            finding["subject"]: finding["action"]
            for finding in done.result["findings"]
            if finding["subject"] in of.values()
        }
        assert links == {of["red"]: "kept", of["lost"]: "removed"}
        assert "a link of the node redirects traffic to it" in evidence(done)
        names = [link["ifname"] for link in ip("link", "show", "type", "ifb") if link]
        assert {*names} >= {of["blue"], of["red"], "bwp1"}
        assert of["lost"] not in names


def test_unowned_items_are_kept_while_any_plugin_is_at_add(node: EngineNode, project: Project) -> None:
    full_network(node)
    chain = nat_chain("CNI-", "netnobody")
    restore(f":{chain} - [0:0]")
    node.write(reference_networks.network({"type": "stall"}, name="slow"))
    node.plugins.write("stall")
    with namespace("blue"):
        node.plugins.forget()
        with node.plugins.gate() as gate:
            node.plugins.write("stall", ADD=ScriptedAnswer(hold=gate))
            running = node.start("attachments", attachments=[{"network": "slow", "netns": "blue"}], timeout=300)
            (call,) = node.plugins.wait_for_held(1)
            done = project.play([task("gc", GC, {"networks": ["net"]})])["gc"].ok()
            assert finding_actions(done) == {}
            done = project.play([task("gc", GC, {}, check_mode=True)])["gc"].ok()
            assert f"an ADD is in progress in process {call.pid}" in evidence(done)
        running.communicate()
    node.detach({"network": "slow", "netns": "blue"})
    assert finding_actions(collect(project)) == {f"chain iptables nat {chain}": "removed"}


def test_a_lost_attachment_of_another_runtime_is_kept_with_its_proofs_while_the_runtime_is_down(
    node: EngineNode, project: Project
) -> None:
    """tests/integration/engine/test_foreign_leaks.py deletes such attachments."""
    full_network(node)
    pod, name = "8d1f0c2d" * 8, "cni-5f0c8f0e-66cf-8a4c-3b0a-0d2fd7a4b6c1"
    args = {"IgnoreUnknown": "1", "K8S_POD_INFRA_CONTAINER_ID": pod}
    item = {"network": "net", "netns": name, "container_id": pod, "args": args}
    with namespace(name) as container:
        node.attach({**item, **PORTS})
        foreign(node.record_of({**item, "ifname": "eth0"}))
        remove(container)
    for owners, reason in (
        (["nomad"], "owners does not name containerd"),
        (["containerd", "podman"], "containerd is not"),
    ):
        done = collect(project, **NOW, owners=owners).require_unchanged_node()
        (finding,) = done.result["findings"]
        assert (finding["action"], finding["saved"], reason in finding["evidence"]) == ("kept", "", True)
        assert finding["proofs"][0] == f"its network namespace /run/netns/{name} is gone"
    text = {"cni_node_plugin_dirs": "/opt/cni/bin\n/usr/lib/cni", "cni_node_gc_owners": "nomad\npodman"}
    played = project.run("cni.node.gc", **text).succeeded()
    (finding,) = played["Remove leaks"].require_no_change().result["findings"]
    assert "and owners does not name containerd" in finding["evidence"]


def test_the_playbook_releases_an_attachment_by_name_only_with_confirmation(node: EngineNode, project: Project) -> None:
    full_network(node)
    item = {"network": "net", "netns": "c2-netns", "container_id": "c2"}
    with namespace("c2-netns") as container:
        node.attach({**item, **PORTS})
        record = node.record_of({**item, "ifname": "eth0"})
        foreign(record)
        text: JsonObject = {
            "cni_node_plugin_dirs": "/opt/cni/bin\n/usr/lib/cni",
            "cni_node_gc_min_age": 0,
            "cni_node_gc_owners": "containerd",
        }
        in_use = project.run("cni.node.gc", cni_node_gc_release="net/c2/eth0", cni_node_confirm=True, **text)
        (finding,) = in_use.succeeded()["Remove leaks"].require_no_change().result["findings"]
        assert finding["evidence"].endswith(f", but its network namespace {container.path} exists")
        remove(container)
    (address,) = node.leases("net")
    kept = project.run("cni.node.gc", **text).succeeded()
    (finding,) = kept["Remove leaks"].require_no_change().result["findings"]
    assert (finding["action"], "are not like those of a known runtime" in finding["evidence"]) == ("kept", True)
    assert kept["Show the evidence"].result["msg"][1] == f"{record}: {finding['evidence']}"
    # The command line of Ansible on the node itself has the name of the container.
    named = ("-e", "cni_node_gc_release=net/c2/eth0")
    for options in ((), ("--check",), ("-e", "cni_node_confirm=yes", "--check")):
        shown = project.run("cni.node.gc", *named, *options, **text).succeeded()["Remove leaks"]
        (finding,) = [each for each in shown.require_unchanged_node().result["findings"] if each["kind"] == "record"]
        for fact in (f"it has the address {address}", f"it has the lease {LEASES}/net/{address}"):
            assert fact in finding["proofs"]
        is_confirmed = "cni_node_confirm=yes" in options
        assert finding["action"] == ("deleted" if is_confirmed else "kept")
        assert finding["evidence"].endswith(", but its release needs confirm: true") is not is_confirmed
        assert "not recorded" not in shown.msg
    done = project.run("cni.node.gc", *named, "-e", "cni_node_confirm=yes", **text).succeeded()["Remove leaks"]
    assert finding_actions(done)["record net-c2-eth0"] == "deleted"
    assert (record.exists(), node.leases("net"), chains()) == (False, [], "")
    again = project.run("cni.node.gc", *named, "-e", "cni_node_confirm=yes", **text).succeeded()["Remove leaks"]
    assert again.require_no_change().msg == "no leaks; not recorded by another runtime: net/c2/eth0"


def test_invalid_arguments_are_refused(project: Project) -> None:
    for arguments, words in (
        ({"min_age": -1}, "min_age: "),
        ({"networks": ["../x"]}, "networks[0]: "),
        ({"valid_attachments": [{"container_id": "a/b"}]}, "CNI_CONTAINERID: "),
    ):
        project.play([task("gc", GC, arguments)])["gc"].require_unchanged_node().require_failure(words, "expected: ")


def test_the_playbook_collects_and_shows_the_evidence(node: EngineNode, project: Project) -> None:
    full_network(node)
    path = lease("net", "10.1.9.1", "nobody\r\neth0", age=10)
    text = {"cni_node_plugin_dirs": "/opt/cni/bin\n/usr/lib/cni"}
    kept = project.run("cni.node.gc", **text).succeeded()
    assert finding_actions(kept["Remove leaks"].require_no_change()) == {"lease 10.1.9.1": "kept"}
    played = project.run("cni.node.gc", "-e", "cni_node_gc_min_age=5", **text).succeeded()
    assert finding_actions(played["Remove leaks"]) == {"lease 10.1.9.1": "removed"}
    assert played["Show the evidence"].result["msg"] == [
        "collected: 1 lease",
        f"{path}: no runtime has a record of container nobody (eth0), and its address is not in use",
    ]
