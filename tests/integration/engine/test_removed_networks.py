# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shared bridges, chains and tables of removed networks are removed, unless another network needs them."""

from __future__ import annotations

import json
import pathlib
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support import namespaces
from ansible_collections.cni.node.tests.support.namespaces import Namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

ITEM: JsonObject = {
    "network": "net",
    "netns": "blue",
    "capability_args": {"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]},
}
PLUGINS = (
    reference_networks.bridge(ipMasq=True),
    reference_networks.PORTMAP,
    {**reference_networks.FIREWALL, "ingressPolicy": "same-bridge"},
)


def run(*command: str, stdin: str = "") -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, input=stdin).stdout


def add_and_delete(node: EngineNode, *plugins: JsonObject) -> None:
    """Add and delete an attachment."""
    configuration = reference_networks.network(*(plugins or PLUGINS))
    node.run("conflists", conflists=[{"config": configuration}]).succeeded()
    node.attach(ITEM)
    node.detach(ITEM)


def remove_networks(node: EngineNode) -> list[JsonObject]:
    """Return the result of a task that removes all networks of this collection."""
    done = node.run("conflists", conflists=[], purge=True).succeeded()
    return t.cast("list[JsonObject]", done.result["conflists"])


def collect(node: EngineNode, conflists: list[JsonObject]) -> dict[str, JsonObject]:
    """Return the findings by kind and subject; assert that check mode predicts them and a second run removes nothing."""
    options: JsonObject = {"networks": ["net"], "min_age": 0, "removed_conflists": conflists}
    before = node.state()
    predicted = node.run("gc", **options, _ansible_check_mode=True).succeeded().result
    assert before.difference(node.state()) == ""
    done = node.run("gc", **options).succeeded().result
    for key in ("findings", "changed", "diff"):
        assert done[key] == predicted[key]
    assert done["msg"] == predicted["msg"].replace("would be ", "")
    again = node.run("gc", **options).succeeded().result
    assert again["changed"] is False
    assert again["findings"] == [finding for finding in done["findings"] if finding["action"] == "kept"]
    return {f"{finding['kind']} {finding['subject']}": finding for finding in done["findings"]}


def require_kept(findings: dict[str, JsonObject], what: str, reason: str) -> None:
    assert findings[what]["action"] == "kept"
    assert reason in findings[what]["evidence"]


def link(*arguments: str) -> None:
    run("ip", "link", *arguments)


def chains() -> set[str]:
    lines = run("iptables-save").splitlines()
    return {line[1:].split(" ")[0] for line in lines if line.startswith(":CNI")}


def test_resources_that_only_a_removed_network_used_are_collected(node: EngineNode, blue: Namespace) -> None:
    add_and_delete(node)
    assert {"CNI-HOSTPORT-DNAT", "CNI-FORWARD", "CNI-ADMIN", "CNI-ISOLATION-STAGE-1"} <= chains()
    findings = collect(node, remove_networks(node))
    assert {name for name, finding in findings.items() if finding["action"] != "removed"} == set()
    assert set(namespaces.links()) == {"lo"}
    assert "CNI" not in run("iptables-save")


def test_without_a_removed_network_shared_resources_stay(node: EngineNode, blue: Namespace) -> None:
    add_and_delete(node)
    before = node.state()
    done = node.run("gc", min_age=0, removed_conflists=[]).succeeded()
    assert [finding["subject"] for finding in done.result["findings"]] == ["/var/lib/cni/cni.node/intents"]
    assert before.without("intents").difference(node.state()) == ""


NETWORKS = tuple(map(pathlib.Path, ("/opt/cni/config/theirs.conflist", "/etc/apptainer/network/theirs.conflist")))
SETTINGS = tuple(
    map(pathlib.Path, ("/etc/containerd/cni-test.toml", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"))
)


def _network_of_runtime(path: pathlib.Path) -> t.Callable[[EngineNode], str]:
    def write(dummy: EngineNode) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps(reference_networks.network(reference_networks.bridge(), name="theirs")), encoding="utf-8"
        )
        return f"{path} has cni0"

    return write


def _directory_of_containerd(settings: pathlib.Path) -> t.Callable[[EngineNode], str]:
    """Return a function that configures containerd with the directory of its networks."""

    def write(dummy: EngineNode) -> str:
        directory = pathlib.Path("/var/lib/cni/theirs")
        directory.mkdir()
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(
            f'[plugins."io.containerd.grpc.v1.cri".cni]\n  conf_dir = "{directory}"\n', encoding="utf-8"
        )
        path = directory / "10-theirs.conf"
        path.write_text(
            json.dumps(reference_networks.single(reference_networks.bridge(), "0.4.0", name="theirs")), encoding="utf-8"
        )
        return f"{path} has cni0"

    return write


def _default_bridge(node: EngineNode) -> str:
    plugin = {key: value for key, value in reference_networks.bridge().items() if key != "bridge"}
    return f"{node.write(reference_networks.network(plugin, name='theirs'))} has cni0"


def _cut_off(node: EngineNode) -> str:
    path = node.conf_dir / "50-cut.conflist"
    path.write_text('{"name": "cut", "plugins": [{"type": "bridge", "bridge": "cni0"', encoding="utf-8")
    return f"{path} has cni0"


def _unreadable(node: EngineNode) -> str:
    path = node.conf_dir / "50-huge.conflist"
    with path.open("wb") as stream:
        stream.truncate(64 * 1024 * 1024)
    return f"an unreadable file may name it: cannot read {path}"


def _record(node: EngineNode) -> str:
    """Write the record of another runtime whose network has no file."""
    configuration = json.dumps(reference_networks.network(reference_networks.bridge(), name="theirs"))
    record = node.cache_dir / "theirs" / "results" / "theirs-c1-eth0"
    record.parent.mkdir(parents=True)
    document = {
        "kind": "cniCacheV1",
        "containerId": "c1",
        "config": run("base64", "-w0", stdin=configuration),
        "ifName": "eth0",
        "networkName": "theirs",
        "result": {"cniVersion": "1.0.0", "interfaces": [{"name": "cni0"}]},
    }
    record.write_text(json.dumps(document), encoding="utf-8")
    return "the attachment of c1 (eth0) to network theirs has cni0"


def _port(dummy: EngineNode) -> str:
    link("add", "theirs0", "type", "veth", "peer", "name", "theirs1")
    link("set", "theirs0", "master", "cni0")
    return "it has the port theirs0"


def _address(dummy: EngineNode) -> str:
    run("ip", "address", "add", "192.0.2.1/24", "dev", "cni0")
    return "cni0 has the address 192.0.2.1/24, which is not a gateway of these networks"


def _file(path: str, text: str) -> t.Callable[[EngineNode], str]:
    def write(dummy: EngineNode) -> str:
        file = pathlib.Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return f"{path} "

    return write


FILES = {
    "/etc/network/interfaces.d/cni-test": "iface cni0 inet static\n",
    "/etc/netplan/cni-test.yaml": "network: {bridges: {cni0: {}}}\n",
    "/etc/systemd/network/cni-test.netdev": "[NetDev]\nName=cni0\nKind=bridge\n",
    "/etc/NetworkManager/system-connections/cni-test": "[connection]\ninterface-name=cni0\n",
    "/etc/sysconfig/network-scripts/ifcfg-cni0": "TYPE=Bridge\n",
}


@pytest.fixture(autouse=True)
def files() -> t.Iterator[None]:
    yield
    for path in (*map(pathlib.Path, FILES), *NETWORKS, *SETTINGS):
        path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "use",
    [
        *map(_network_of_runtime, NETWORKS),
        *map(_directory_of_containerd, SETTINGS),
        _default_bridge,
        _cut_off,
        _unreadable,
        _record,
        _port,
        _address,
        *(_file(path, text) for path, text in FILES.items()),
    ],
)
def test_a_bridge_with_another_user_stays(
    node: EngineNode, blue: Namespace, use: t.Callable[[EngineNode], str]
) -> None:
    add_and_delete(node, reference_networks.bridge())
    conflists = remove_networks(node)
    reason = use(node)
    require_kept(collect(node, conflists), "bridge cni0", reason)
    assert "cni0" in namespaces.links()


def test_a_bridge_with_possible_unseen_users_stays(node: EngineNode, blue: Namespace) -> None:
    configuration = {**reference_networks.network(reference_networks.bridge(), version="1.1.0"), "disableGC": True}
    node.run("conflists", conflists=[{"config": configuration}], probe=False).succeeded()
    link("add", "cni0", "type", "bridge")
    require_kept(collect(node, remove_networks(node)), "bridge cni0", "network net sets disableGC")


def test_another_kind_of_link_under_the_name_stays(node: EngineNode, blue: Namespace) -> None:
    add_and_delete(node, reference_networks.bridge())
    link("delete", "cni0")
    link("add", "cni0", "type", "veth", "peer", "name", "theirs1")
    require_kept(collect(node, remove_networks(node)), "bridge cni0", "it is not a bridge, but veth")


def test_the_veth_pair_of_a_vlan_is_removed_with_its_bridge(node: EngineNode) -> None:
    """Remove the pair that bridge creates with `vlan` and `isGateway`; not every kernel supports bridge VLANs."""
    plugin = reference_networks.bridge(vlan=100)
    node.run("conflists", conflists=[{"config": reference_networks.network(plugin)}]).succeeded()
    link("add", "cni0", "type", "bridge")
    link("add", "cni0.100", "type", "veth", "peer", "name", "veth12345678")
    link("set", "veth12345678", "master", "cni0")
    run("ip", "address", "add", "10.1.0.1/16", "dev", "cni0.100")
    findings = collect(node, remove_networks(node))
    assert findings["bridge cni0"]["action"] == "removed"
    assert set(namespaces.links()) == {"lo"}


def test_chains_that_another_network_needs_stay(node: EngineNode, blue: Namespace) -> None:
    add_and_delete(node)
    conflists = remove_networks(node)
    other = reference_networks.bridge(bridge="cni1", ipam=reference_networks.host_local("10.2.0.0/16"))
    path = node.write(
        reference_networks.network(other, reference_networks.PORTMAP, reference_networks.FIREWALL, name="theirs")
    )
    findings = collect(node, conflists)
    require_kept(
        findings,
        "shared chain iptables nat CNI-HOSTPORT-DNAT, CNI-HOSTPORT-MASQ, CNI-HOSTPORT-SETMARK",
        f"{path} has portmap",
    )
    require_kept(findings, "shared chain iptables filter CNI-FORWARD, CNI-ADMIN", f"{path} has firewall")
    isolation = "shared chain iptables filter CNI-ISOLATION-STAGE-1, CNI-ISOLATION-STAGE-2"
    assert findings["bridge cni0"]["action"] == findings[isolation]["action"] == "removed"
    assert {"CNI-HOSTPORT-DNAT", "CNI-FORWARD", "CNI-ADMIN"} <= chains()


def test_chains_with_rules_of_the_operator_stay(node: EngineNode, blue: Namespace) -> None:
    add_and_delete(node)
    run("iptables", "-A", "CNI-ADMIN", "-s", "192.0.2.7", "-j", "DROP")
    run("iptables", "-t", "nat", "-A", "INPUT", "-j", "CNI-HOSTPORT-SETMARK")
    run("iptables", "-A", "CNI-ISOLATION-STAGE-2", "-o", "theirs0", "-j", "DROP")
    findings = collect(node, remove_networks(node))
    require_kept(
        findings,
        "shared chain iptables filter CNI-FORWARD, CNI-ADMIN",
        "CNI-ADMIN has the rule -A CNI-ADMIN -s 192.0.2.7/32",
    )
    ports = "shared chain iptables nat CNI-HOSTPORT-DNAT, CNI-HOSTPORT-MASQ, CNI-HOSTPORT-SETMARK"
    require_kept(findings, ports, "the rule -A INPUT -j CNI-HOSTPORT-SETMARK jumps to CNI-HOSTPORT-SETMARK")
    isolation = "iptables filter CNI-ISOLATION-STAGE-1, CNI-ISOLATION-STAGE-2"
    require_kept(findings, f"shared chain {isolation}", "has the rule -A CNI-ISOLATION-STAGE-2 -o theirs0 -j DROP")
    assert findings[f"rule {isolation}: cni0"]["action"] == "removed"
    assert "cni0" not in run("iptables-save")


# Tables as the plugins create them with the backend nftables.
TABLES = """
add table ip cni_hostport
add chain ip cni_hostport hostports
add chain ip cni_hostport hostip_hostports
add chain ip cni_hostport hostports_all
add rule ip cni_hostport hostports_all jump hostip_hostports
add rule ip cni_hostport hostports_all jump hostports
add chain ip cni_hostport prerouting { type nat hook prerouting priority -100; }
add rule ip cni_hostport prerouting fib daddr type local jump hostports_all
add table inet cni_plugins_masquerade
add chain inet cni_plugins_masquerade masq_checks
add chain inet cni_plugins_masquerade postrouting { type nat hook postrouting priority 100; }
add rule inet cni_plugins_masquerade postrouting goto masq_checks
"""
THEIRS = (
    ("add rule ip cni_hostport hostports tcp dport 81 dnat to 10.9.0.2:81", "hostports has a rule"),
    ("add chain ip cni_hostport mine", "it has the chain mine, which the plugins did not make"),
    ("add set ip cni_hostport mine { type ipv4_addr; }", "it has the set mine, which the plugins did not make"),
)


@pytest.mark.parametrize(("theirs", "reason"), [("", ""), *THEIRS])
def test_tables_of_nftables_are_removed_unless_they_have_foreign_rules(
    node: EngineNode, blue: Namespace, theirs: str, reason: str
) -> None:
    add_and_delete(node)
    run("nft", "-f", "-", stdin=f"{TABLES}{theirs}\n")
    findings = collect(node, remove_networks(node))
    assert findings["shared table nft inet cni_plugins_masquerade"]["action"] == "removed"
    if reason:
        require_kept(findings, "shared table nft ip cni_hostport", reason)
    else:
        assert "cni_" not in run("nft", "list", "ruleset")


@pytest.mark.parametrize(("version", "plugins"), [("0.2.0", PLUGINS[:1]), ("0.4.0", PLUGINS)])
def test_check_mode_treats_networks_that_earlier_tasks_would_remove_as_removed(
    node: EngineNode, blue: Namespace, version: str, plugins: tuple[JsonObject, ...]
) -> None:
    """Use results before 0.3.0 too, which do not name the end on the node."""
    configuration = reference_networks.network(*plugins, version=version)
    node.run("conflists", conflists=[{"config": configuration}]).succeeded()
    node.attach(ITEM)
    outcomes = []
    for check_mode in (True, False):
        options = {"_ansible_check_mode": check_mode}
        detached = node.run("attachments", attachments=[{**ITEM, "state": "absent"}], **options).succeeded()
        written = node.run("conflists", conflists=[], purge=True, **options).succeeded()
        given = {"removed_conflists": written.result["conflists"], "removed_attachments": detached.entries}
        before = node.state()
        done = node.run("gc", networks=["net"], min_age=0, **given, **options).succeeded().result
        assert (before.difference(node.state()) == "") == check_mode
        outcomes.append([done[key] for key in ("findings", "changed", "diff")])
    assert outcomes[0] == outcomes[1]
    assert set(namespaces.links()) == {"lo"}


def test_a_bridge_with_a_container_that_is_not_removed_stays(node: EngineNode, blue: Namespace) -> None:
    add_and_delete(node, reference_networks.bridge())
    with namespaces.namespace("red"):
        node.attach({"network": "net", "netns": "red"})
        given = remove_networks(node)
        require_kept(collect(node, given), "bridge cni0", "the attachment of red (eth0) to network net has cni0")
        (record,) = (node.cache_dir / "results").glob("net-red-eth0")
        content = record.read_bytes()
        record.unlink()
        require_kept(collect(node, given), "bridge cni0", "it has the port veth")
        record.write_bytes(content)
        node.detach({"network": "net", "netns": "red"})


SPOOF_TABLE = """
add table bridge nat
add chain bridge nat PREROUTING { type filter hook prerouting priority -300; }
"""


@pytest.mark.parametrize("theirs", ["", "add rule bridge nat PREROUTING accept", "add chain bridge nat POSTROUTING"])
def test_the_table_of_macspoofchk_is_removed_unless_it_has_foreign_rules(
    node: EngineNode, blue: Namespace, theirs: str
) -> None:
    """Remove the table that bridge leaves since 1.2.0."""
    add_and_delete(node, reference_networks.bridge(macspoofchk=True))
    run("nft", "-f", "-", stdin=f"{SPOOF_TABLE}{theirs}\n")
    findings = collect(node, remove_networks(node))
    assert findings["shared table nft bridge nat"]["action"] == ("kept" if theirs else "removed")
    assert ("table bridge nat" in run("nft", "list", "ruleset")) == bool(theirs)


def _earlier(*plugins: JsonObject) -> JsonObject:
    return {"networks": ["net"], "min_age": 0, "removed_networks": [reference_networks.network(*plugins)]}


def test_networks_that_an_earlier_run_removed_are_collected_if_they_are_not_configured(
    node: EngineNode, blue: Namespace
) -> None:
    add_and_delete(node)
    configured = node.run("gc", **_earlier(*PLUGINS)).succeeded().result
    assert {finding["kind"] for finding in configured["findings"]} <= {"directory"}
    remove_networks(node)
    predicted = node.run("gc", **_earlier(*PLUGINS), _ansible_check_mode=True).succeeded().result
    done = node.run("gc", **_earlier(*PLUGINS)).succeeded().result
    assert done["findings"] == predicted["findings"]
    assert set(namespaces.links()) == {"lo"}
    assert "CNI" not in run("iptables-save")
    assert node.run("gc", **_earlier(*PLUGINS)).succeeded().result["findings"] == []


def test_a_bridge_that_an_operator_made_stays_if_only_variables_name_it(node: EngineNode) -> None:
    link("add", "cni0", "type", "bridge")
    for bridge in (reference_networks.bridge(), reference_networks.bridge(isGateway=False)):
        (finding,) = node.run("gc", **_earlier(bridge)).succeeded().result["findings"]
        require_kept({"bridge": finding}, "bridge", "so nothing shows that this collection had them")
    link("del", "cni0")


LEAKED_CHECK = f"""{SPOOF_TABLE}
add chain bridge nat cni-br-iface-lost-eth0
add chain bridge nat cni-br-iface-lost-eth0-mac
add rule bridge nat PREROUTING iifname lost0 jump cni-br-iface-lost-eth0 comment "macspoofchk-lost-eth0"
add rule bridge nat cni-br-iface-lost-eth0 jump cni-br-iface-lost-eth0-mac comment "macspoofchk-lost-eth0"
add rule bridge nat cni-br-iface-lost-eth0-mac drop comment "macspoofchk-lost-eth0"
"""
LEAKED_PORT = f"{TABLES}add rule ip cni_hostport hostports tcp dport 81 dnat to 10.9.0.2:81 comment lost\n"


@pytest.mark.parametrize(
    ("leak", "table"), [(LEAKED_CHECK, "bridge nat"), (LEAKED_PORT, "ip cni_hostport")], ids=["check", "port"]
)
def test_check_mode_predicts_that_a_table_is_removed_after_the_leaks_in_it(
    node: EngineNode, blue: Namespace, leak: str, table: str
) -> None:
    add_and_delete(node, reference_networks.bridge(macspoofchk=True, ipMasq=True), reference_networks.PORTMAP)
    run("nft", "-f", "-", stdin=leak)
    options: JsonObject = {"min_age": 0, "removed_conflists": remove_networks(node)}
    predicted = node.run("gc", **options, _ansible_check_mode=True).succeeded().result
    done = node.run("gc", **options).succeeded().result
    assert predicted["findings"] == done["findings"]
    assert f"table {table} " not in run("nft", "list", "ruleset")


PTP_PLUGINS = (reference_networks.PTP, {**reference_networks.FIREWALL, "ingressPolicy": "same-bridge"})
PTP_ITEM: JsonObject = {"network": "net", "netns": "blue"}


def isolating_rules() -> list[str]:
    """Return the rules that isolate single links, of both families."""
    lines = run("iptables-save").splitlines() + run("ip6tables-save").splitlines()
    return [line for line in lines if line.startswith("-A CNI-ISOLATION") and "-o veth" in line]


def attach_by_ptp(node: EngineNode, **options: t.Any) -> None:
    node.run("conflists", conflists=[{"config": reference_networks.network(*PTP_PLUGINS)}]).succeeded()
    node.attach(PTP_ITEM, **options)


@pytest.mark.parametrize("builtin", ["never", "always"])
def test_rules_that_isolate_one_container_are_removed_with_it(node: EngineNode, blue: Namespace, builtin: str) -> None:
    for dummy in range(2):
        attach_by_ptp(node, builtin=builtin)
        assert len(isolating_rules()) == 4
        node.detach(PTP_ITEM, builtin=builtin)
        assert isolating_rules() == []


def test_rules_that_isolate_a_lost_link_are_collected(node: EngineNode, blue: Namespace) -> None:
    attach_by_ptp(node)
    live = isolating_rules()
    (own,) = {line.split()[line.split().index("-o") + 1] for line in live}
    link("add", "veth00000001", "type", "veth", "peer", "name", "other0")
    for name in ("veth00000001", "veth00000002"):
        script = "".join(f"{line.replace(own, name)}\n" for line in live[:2])
        run("iptables-restore", "-n", stdin=f"*filter\n{script}COMMIT\n")
    assert len(isolating_rules()) == 8
    subject = "iptables filter CNI-ISOLATION-STAGE-1/CNI-ISOLATION-STAGE-2"
    options: JsonObject = {"min_age": 0}
    predicted = node.run("gc", **options, _ansible_check_mode=True).succeeded().result
    done = node.run("gc", **options).succeeded().result
    assert predicted["findings"] == done["findings"]
    actions = {finding["subject"]: (finding["kind"], finding["action"]) for finding in done["findings"]}
    assert actions == {f"{subject}: veth00000001": ("rule", "kept"), f"{subject}: veth00000002": ("rule", "removed")}
    assert len(isolating_rules()) == 6
    assert set(live) < set(isolating_rules())


def test_check_mode_predicts_that_isolating_chains_go_with_the_rules_of_a_lost_link(
    node: EngineNode, blue: Namespace
) -> None:
    attach_by_ptp(node)
    rules = [line for line in isolating_rules() if "-o veth" in line][:2]
    node.detach(PTP_ITEM)
    run("iptables-restore", "-n", stdin="*filter\n" + "".join(f"{line}\n" for line in rules) + "COMMIT\n")
    conflists = remove_networks(node)
    options: JsonObject = {"min_age": 0, "removed_conflists": conflists}
    predicted = node.run("gc", **options, _ansible_check_mode=True).succeeded().result
    done = node.run("gc", **options).succeeded().result
    assert predicted["findings"] == done["findings"]
    assert isolating_rules() == []
    assert "CNI-ISOLATION-STAGE-1" not in chains()
