# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""nftables tables and files that DEL of a lost namespace leaves: removed after DEL, and found by gc."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import Project, TaskRun, thrice
from ansible_collections.cni.node.tests.integration.ansible.test_gc import (
    GC,
    NOW,
    digest,
    evidence,
    finding_actions,
    nft,
)
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, remove
from ansible_collections.cni.node.tests.support.namespaces import namespace, namespaces

RESULTS = pathlib.Path("/var/lib/cni/results")


def collect(project: Project, **arguments: t.Any) -> TaskRun:
    return project.play(thrice("gc", GC, arguments)).require_converged("gc").ok()


def ruleset() -> str:
    return subprocess.run(["nft", "list", "ruleset"], check=True, capture_output=True, text=True).stdout


def checked_network(node: EngineNode) -> None:
    node.write(reference_networks.network(reference_networks.bridge(macspoofchk=True)))


def item(name: str) -> JsonObject:
    return {"network": "net", "netns": name}


def attach_and_lose(node: EngineNode, name: str) -> None:
    with namespace(name) as lost:
        node.attach(item(name))
        remove(lost)


def test_del_of_a_lost_namespace_leaves_no_macspoofchk_rule(node: EngineNode, project: Project) -> None:
    checked_network(node)
    with namespace("blue"):
        node.attach(item("blue"))
        of_blue = ruleset()
        for name in ("lost", "absent"):
            attach_and_lose(node, name)
        assert {name: ruleset().count(name) for name in ("lost", "absent", "blue")} == dict.fromkeys(
            ("lost", "absent", "blue"), of_blue.count("blue")
        )
        node.detach(item("absent"))
        assert "absent" not in ruleset()
        assert finding_actions(collect(project)) == {"record net-lost-eth0": "deleted"}
        assert ruleset() == of_blue


def test_macspoofchk_rules_without_a_record_are_removed(node: EngineNode, project: Project) -> None:
    checked_network(node)
    with namespaces("blue", "reached") as (blue, dummy):
        node.attach(item("blue"), item("reached"))
        for name in ("lost", "a-b"):
            attach_and_lose(node, name)
        for name in ("reached", "lost", "a-b"):
            (RESULTS / f"net-{name}-eth0").unlink()
        nft("table bridge nat { chain cni-br-iface-mine-eth0 { drop; }; chain other { drop; }; }")
        done = collect(project, **NOW)
        checks = {
            finding["subject"]: finding["action"] for finding in done.result["findings"] if finding["kind"] == "chain"
        }
        assert checks == {
            "nft bridge nat cni-br-iface-a-b-eth0": "removed",
            "nft bridge nat cni-br-iface-lost-eth0": "removed",
            "nft bridge nat cni-br-iface-reached-eth0": "kept",
        }
        assert "no runtime has a record of a-b-eth0, the container and interface in its name" in evidence(done)
        assert "there is a network namespace named reached" in evidence(done)
        rules = ruleset()
        assert {name: name in rules for name in ("lost", "a-b")} == {"lost": False, "a-b": False}
        assert all(
            f"chain {name} " in rules for name in ("cni-br-iface-mine-eth0", "other", "cni-br-iface-blue-eth0-mac")
        )
        blue.run("ping", "-c1", "-W5", "10.1.0.1")


# The table that bridge of release 1.9.1 leaves with ipMasqBackend nftables.
MASQUERADING = """\
table inet cni_plugins_masquerade {
  comment "Masquerading for plugins from github.com/containernetworking/plugins"
  chain masq_checks {
    comment "Masquerade traffic from certain IPs to any (non-multicast) IP outside their subnet"
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip daddr 224.0.0.0/4 return
    ip6 daddr ff00::/8 return
    goto masq_checks
  }
}
"""


def masquerading(network: str, container: str, address: str) -> str:
    comment = f"{digest(network)}-{digest(f'eth0:{container}')}, net: {network}, if: eth0, id: {container}"
    rule = f"ip saddr {address} ip daddr != 10.1.0.0/16 masquerade"
    return f'add rule inet cni_plugins_masquerade masq_checks {rule} comment "{comment}"\n'


def test_del_of_a_lost_namespace_leaves_no_masquerading_in_nftables(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True, ipMasqBackend="nftables")))
    nft(MASQUERADING)
    with namespace("blue"):
        node.attach(item("blue"))
        nft(masquerading("net", "blue", "10.1.0.2") + masquerading("other", "absent", "10.1.9.9"))
        for name in ("lost", "absent"):
            attach_and_lose(node, name)
            nft(masquerading("net", name, "10.1.0.3"))
        node.detach(item("absent"))
        assert "net: net, if: eth0, id: absent" not in ruleset()
        done = collect(project)
        assert finding_actions(done) == {
            "record net-lost-eth0": "deleted",
            f"chain {get_finding(done, 'absent')}": "removed",
        }
        rules = ruleset()
        assert ("lost" in rules, "absent" in rules, rules.count("id: blue")) == (False, False, 1)


def get_finding(done: TaskRun, container: str) -> str:
    """Return the finding of a rule that the test created for a network that does not exist."""
    (subject,) = (
        finding["subject"] for finding in done.result["findings"] if finding["subject"].endswith(f"id: {container}")
    )
    return str(subject)


def test_a_rule_of_a_container_that_another_runtime_owns_stays(node: EngineNode) -> None:
    """The other runtime's record has the same names and an existing network namespace."""
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True, macspoofchk=True)))
    attach_and_lose(node, "blue")
    nft(MASQUERADING + masquerading("net", "blue", "10.1.0.2"))
    before = ruleset()
    elsewhere = node.cache_dir / "multus" / "results" / "net-blue-eth0"
    elsewhere.parent.mkdir(parents=True)
    document = json.loads((RESULTS / "net-blue-eth0").read_text(encoding="utf-8"))
    del document["cni.node"]
    elsewhere.write_text(json.dumps({**document, "netns": "/proc/self/ns/net"}), encoding="utf-8")
    node.detach(item("blue"))
    after = ruleset()
    for word in ("macspoofchk-blue-eth0", "id: blue"):
        assert after.count(word) == before.count(word) > 0


TUNING: JsonObject = {"type": "tuning", "mtu": 1400}
SAVED = pathlib.Path("/run/cni/tuning")


def test_del_of_a_lost_namespace_leaves_no_saved_values_of_tuning(node: EngineNode, project: Project) -> None:
    own = pathlib.Path("/run/cni/own")
    for name, tuning in (("net", TUNING), ("other", {**TUNING, "dataDir": str(own)})):
        node.write(reference_networks.network(reference_networks.bridge(), tuning, name=name))
    with namespaces("blue", "lost", "absent") as (dummy, lost, absent):
        for name in ("blue", "lost", "absent"):
            node.attach(item(name), {**item(name), "network": "other", "ifname": "eth1"})
        remove(lost)
        remove(absent)
        node.detach(item("absent"), {"network": "other", "netns": "absent", "ifname": "eth1"})
        assert sorted(os.listdir(SAVED)) == ["blue_eth0.json", "lost_eth0.json"]
        assert sorted(os.listdir(own)) == ["blue_eth1.json", "lost_eth1.json"]
        assert set(finding_actions(collect(project)).values()) == {"deleted"}
        assert (os.listdir(SAVED), os.listdir(own)) == (["blue_eth0.json"], ["blue_eth1.json"])


def test_saved_values_without_a_record_are_removed(node: EngineNode, project: Project) -> None:
    node.write(reference_networks.network(reference_networks.bridge(), TUNING))
    with namespaces("blue", "lost", "reached") as (dummy, lost, dummy):
        node.attach(item("blue"), item("reached"), item("lost"))
        remove(lost)
        for name in ("lost", "reached"):
            (RESULTS / f"net-{name}-eth0").unlink()
        (SAVED / "notes_eth0.json").write_text("[]", encoding="utf-8")
        (SAVED / "link_eth0.json").symlink_to(SAVED / "lost_eth0.json")
        os.mkfifo(SAVED / "pipe_eth0.json")
        kept = collect(project).require_unchanged_node()
        assert saved(kept) == {"lost_eth0.json": "kept", "reached_eth0.json": "kept"}
        assert "it is younger than 300 s" in evidence(kept)
        for name in ("lost", "reached"):
            os.utime(SAVED / f"{name}_eth0.json", (0, 0))
        done = collect(project)
        assert saved(done) == {"lost_eth0.json": "removed", "reached_eth0.json": "kept"}
        assert "no runtime has a record of lost_eth0, the container and interface in its name" in evidence(done)
        remaining = {"blue_eth0.json", "reached_eth0.json", "notes_eth0.json", "link_eth0.json", "pipe_eth0.json"}
        assert set(os.listdir(SAVED)) == remaining


def saved(done: TaskRun) -> dict[str, str]:
    files = [finding for finding in done.result["findings"] if finding["kind"] == "saved values"]
    return {os.path.basename(file["subject"]): file["action"] for file in files}
