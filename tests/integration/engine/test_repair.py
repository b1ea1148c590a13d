# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lost firewall rules are repaired without a plugin, for the attachments of every runtime."""

from __future__ import annotations

import configparser
import contextlib
import json
import pathlib
import shlex
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import REQUIRES_SYSTEMD
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, without_pyroute2
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import (
    NETWORK,
    as_other_runtime,
    flush,
    map_port,
    rules,
)
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.namespaces import Namespace, links, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]
in_both_modes = pytest.mark.parametrize("node", ["never", "always"], indirect=True)


@pytest.fixture
def green() -> t.Iterator[Namespace]:
    with namespace("green") as made:
        yield made


@in_both_modes
def test_flushed_rules_are_repaired_exactly_as_the_plugins_wrote_them(node: EngineNode, attached: JsonObject) -> None:
    before, index = rules(), rtnetlink.link("eth0", attached["netns"])
    flush()
    (entry,) = node.attach(attached)
    assert (entry["action"], entry["changed"]) == ("repaired", True)
    assert "the masquerade rule of 10.1.0.2 is gone" in entry["reason"]
    assert rules() == before
    assert rtnetlink.link("eth0", attached["netns"]) == index
    (entry,) = node.attach(attached)
    assert (entry["action"], entry["changed"]) == ("checked", False)


@in_both_modes
def test_check_mode_predicts_a_repair_and_shows_each_rule(node: EngineNode, attached: JsonObject) -> None:
    flush()
    lost = rules()
    predicted = node.run(
        "attachments", attachments=[attached], _ansible_check_mode=True, _ansible_diff=True
    ).succeeded()
    assert rules() == lost
    done = node.run("attachments", attachments=[attached], _ansible_diff=True).succeeded()
    assert (
        [entry["action"] for entry in predicted.entries] == [entry["action"] for entry in done.entries] == ["repaired"]
    )
    assert predicted.result["diff"] == done.result["diff"]
    assert "iptables -t nat -A CNI-HOSTPORT-DNAT" in json.dumps(done.result["diff"])


@pytest.mark.parametrize("is_own", [True, False])
@in_both_modes
def test_the_module_repairs_attachments_of_every_runtime(node: EngineNode, attached: JsonObject, is_own: bool) -> None:
    if not is_own:
        as_other_runtime(node, attached)
    before = rules()
    flush()
    predicted = node.run("repair", _ansible_check_mode=True).succeeded()
    done = node.run("repair").succeeded()
    assert done.entries == predicted.entries
    (entry,) = done.entries
    assert (entry["action"], entry["own"], entry["left"]) == ("repaired", is_own, [])
    assert rules() == before
    again = node.run("repair").succeeded()
    assert (again.result["changed"], again.entries, again.result["summary"]) == (False, [], {"unchanged": 1})


def test_an_attachment_without_a_recorded_namespace_is_repaired_in_the_namespace_of_its_result(
    node: EngineNode, attached: JsonObject, blue: Namespace
) -> None:
    as_other_runtime(node, attached, has_netns=False)
    before = rules()
    flush()
    blue.run("ip", "route", "delete", "default")
    (entry,) = node.run("repair", resources=["rules", "interfaces"]).succeeded().entries
    assert (entry["action"], entry["netns"], entry["left"]) == ("repaired", attached["netns"], [])
    assert rules() == before
    assert "default" in blue.run("ip", "route").stdout


def test_ports_are_repaired_if_the_record_has_the_names_of_containerd(node: EngineNode, attached: JsonObject) -> None:
    as_other_runtime(node, attached)
    path = node.record_of(attached)
    record = json.loads(path.read_text(encoding="utf-8"))
    # Plugins read names without regard to case.
    ports = [{"HostPort": 8080, "ContainerPort": 80, "Protocol": "tcp", "HostIP": ""}]
    path.write_text(json.dumps({**record, "capabilityArgs": {"portMappings": ports}}), encoding="utf-8")
    before = rules()
    flush()
    node.run("repair").succeeded()
    assert rules() == before


@in_both_modes
def test_rules_of_other_programs_keep_their_position(node: EngineNode, attached: JsonObject) -> None:
    foreign = [
        "iptables -t nat -I POSTROUTING -d 192.0.2.1 -j ACCEPT",
        "iptables -t nat -A POSTROUTING -d 192.0.2.2 -j ACCEPT",
    ]
    for command in foreign:
        subprocess.run(command.split(), check=True)
    before = rules()
    lost = [line for line in before.splitlines() if line.startswith("-A") and "CNI" in line and "192.0.2" not in line]
    for line in lost:
        table = "filter" if "FORWARD" in line or "CNI-ADMIN" in line else "nat"
        subprocess.run(["iptables", "-t", table, *shlex.split(line.replace("-A ", "-D ", 1))], check=True)
        assert rules() != before
        node.run("repair").succeeded()
        assert sorted(rules().splitlines()) == sorted(before.splitlines()), line
        after = [entry for entry in rules().splitlines() if "192.0.2" in entry]
        assert after == [entry for entry in before.splitlines() if "192.0.2" in entry]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/run/netns/gone", "its network namespace is gone"),
        ("/etc/passwd", "/etc/passwd is not a network namespace"),
        ("/proc/1/ns/net", "CNI_NETNS: /proc/1/ns/net is the node's own network namespace"),
    ],
)
def test_an_attachment_without_its_namespace_is_named_and_not_repaired(
    node: EngineNode, attached: JsonObject, path: str, reason: str
) -> None:
    as_other_runtime(node, attached)
    flush()
    record = node.record_of(attached)
    content = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(json.dumps({**content, "netns": path}), encoding="utf-8")
    (entry,) = node.run("repair").succeeded().entries
    assert (entry["action"], entry["reason"]) == ("skipped", reason)
    assert "CNI-" not in rules()


@pytest.mark.parametrize("has_host_end", [True, False])
def test_a_namespace_of_another_container_at_the_path_is_not_changed(
    node: EngineNode, attached: JsonObject, green: Namespace, has_host_end: bool
) -> None:
    as_other_runtime(node, attached)
    node.attach(map_port(green, 1))
    record = node.record_of(attached)
    content = json.loads(record.read_text(encoding="utf-8"))
    if not has_host_end:
        (host_end,) = (item for item in content["result"]["interfaces"] if item["name"].startswith("veth"))
        host_end["name"] = "vethgone"
    record.write_text(json.dumps({**content, "netns": str(green.path)}), encoding="utf-8")
    flush()
    entries = {entry["container_id"]: entry for entry in node.run("repair").succeeded().entries}
    assert entries["green"]["action"] == "repaired"
    assert entries["blue"]["reason"] == "the record of container green describes interface eth0"


BUSY = "a plugin is running for its container"


@contextlib.contextmanager
def plugin_running_for(item: JsonObject) -> t.Iterator[None]:
    """Run a process that looks like a plugin at DEL."""
    environment = {"CNI_COMMAND": "DEL", "CNI_CONTAINERID": item["container_id"], "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(["sleep", "60"], env=environment) as plugin:
        try:
            yield
        finally:
            plugin.kill()


def test_a_container_whose_del_is_running_is_not_repaired(node: EngineNode, attached: JsonObject) -> None:
    as_other_runtime(node, attached)
    flush()
    with plugin_running_for(attached):
        (entry,) = node.run("repair").succeeded().entries
    assert (entry["action"], entry["reason"]) == ("drifted", BUSY)
    assert "CNI-" not in rules()


def test_an_attachment_is_not_recreated_while_a_plugin_of_another_runtime_runs_for_its_container(
    node: EngineNode, attached: JsonObject
) -> None:
    as_other_runtime(node, attached)
    flush()
    before = links(attached["container_id"])["eth0"]["ifindex"]
    with plugin_running_for(attached):
        done = node.run("attachments", attachments=[attached])
    assert BUSY in done.require_failure("attachments: 1 failed")
    assert links(attached["container_id"])["eth0"]["ifindex"] == before
    (entry,) = node.attach(attached)
    assert entry["action"] == "repaired"


BROKEN: dict[str, str] = {
    "empty": "",
    "not JSON": "{",
    "a version that does not exist": '{"cniVersion": "9.9.9"}',
    "half a result": '{"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16", "interface": 7}], "interfaces": [{}]}',
    "an address that is none": '{"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.999/16"}]}',
    "names that end a line": '{"cniVersion": "1.0.0", "interfaces": [{"name": "a\\nCOMMIT\\n"}], "ips": []}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_repair_continues_after_a_broken_record(
    node: EngineNode, attached: JsonObject, green: Namespace, text: str
) -> None:
    other = map_port(green, 1)
    node.attach(other)
    path = node.record_of(attached)
    content = json.loads(path.read_text(encoding="utf-8"))
    is_result = text.startswith('{"')
    path.write_text(json.dumps({**content, "result": json.loads(text)}) if is_result else text, encoding="utf-8")
    flush()
    done = node.run("repair")
    assert "Traceback" not in json.dumps(done.result)
    assert "--dports 8081" in rules()


@in_both_modes
def test_records_are_not_changed_by_a_repair(node: EngineNode, attached: JsonObject) -> None:
    as_other_runtime(node, attached)
    files = {path: path.read_bytes() for path in pathlib.Path("/var/lib/cni").rglob("*") if path.is_file()}
    flush()
    node.run("repair").succeeded()
    assert {path: path.read_bytes() for path in files} == files


# Damage to the attachment of one container, inside its namespace or on the node.
DAMAGE: dict[str, tuple[str, bool]] = {
    "an address": ("ip address delete {address} dev eth0", True),
    "the default route": ("ip route delete default", True),
    "the interface is down": ("ip link set eth0 down", True),
    "the bridge": ("ip link delete cni0", False),
    "forwarding": ("sysctl -qw net.ipv4.ip_forward=0", False),
    "the address of the bridge": ("ip address flush dev cni0", False),
    "the lease": ("rm /var/lib/cni/networks/net/10.1.0.2", False),
    "all leases": ("rm -r /var/lib/cni/networks/net", False),
}


@pytest.mark.parametrize(("command", "inside"), DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize(
    ("resources", "node"),
    [(None, "never"), (["rules", "interfaces"], "never"), (["rules", "interfaces"], "always")],
    indirect=["node"],
)
def test_interfaces_are_repaired_and_those_of_other_runtimes_on_request(
    node: EngineNode, attached: JsonObject, blue: Namespace, command: str, inside: bool, resources: list[str] | None
) -> None:
    as_other_runtime(node, attached)
    index = rtnetlink.link("eth0", attached["netns"])
    argv = command.format(address="10.1.0.2/16").split()
    blue.run(*argv) if inside else subprocess.run(argv, check=True)
    options = {} if resources is None else {"resources": resources}
    predicted = node.run("repair", **options, _ansible_check_mode=True).succeeded()
    done = node.run("repair", **options).succeeded()
    assert done.entries == predicted.entries
    (entry,) = done.entries
    assert entry["action"] == ("drifted" if resources is None else "repaired")
    assert entry["changed"] is (resources is not None)
    now = rtnetlink.link("eth0", attached["netns"])
    assert index is not None
    assert now is not None
    assert now.ifindex == index.ifindex
    if resources is not None:
        blue.run("ping", "-c1", "-W5", "10.1.0.1")
        assert node.run("repair", **options).succeeded().entries == []


def test_a_lease_that_another_container_has_obtained_is_named_and_kept(node: EngineNode, attached: JsonObject) -> None:
    lease = pathlib.Path("/var/lib/cni/networks/net/10.1.0.2")
    own = lease.read_bytes()
    lease.write_bytes(b"red\r\neth0")
    (entry,) = node.run("repair").succeeded().entries
    assert (entry["action"], entry["changed"]) == ("drifted", False)
    assert entry["left"] == [f"the lease of 10.1.0.2 in {lease.parent} belongs to container red (eth0)"]
    assert lease.read_bytes() == b"red\r\neth0"
    lease.write_bytes(own)
    assert node.run("repair").succeeded().entries == []


@pytest.fixture
def limited(node: EngineNode, blue: Namespace) -> JsonObject:
    """Return an attachment whose rate limit has been lost, on a node that lacks pyroute2."""
    node.write({**NETWORK, "plugins": [*NETWORK["plugins"], reference_networks.BANDWIDTH]})
    item = map_port(blue)
    node.attach(item)
    (host_end,) = (name for name in links() if name.startswith("veth"))
    subprocess.run(["tc", "qdisc", "delete", "dev", host_end, "root"], check=True)
    return item


def test_without_pyroute2_rules_are_repaired_and_rates_named_with_a_hint(
    node: EngineNode, limited: JsonObject, blue: Namespace, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_other_runtime(node, limited)
    monkeypatch.syspath_prepend(without_pyroute2(tmp_path))
    flush()
    blue.run("ip", "route", "delete", "default")
    done = node.run("repair", resources=["rules", "interfaces"]).succeeded()
    (entry,) = done.entries
    assert (entry["action"], entry["changed"]) == ("drifted", True)
    (left,) = entry["left"]
    assert left.startswith("the rate limit of interface veth")
    assert "install the package python3-pyroute2" in done.msg
    assert done.result["missing_libraries"] == ["pyroute2"]


# Container ID and path of the namespace as each runtime writes them, and an argument.
DIGEST = "0123456789abcdef" * 4
UUID = "01234567-89ab-cdef-0123-456789abcdef"
MADE_BY: dict[str, tuple[str, str, dict[str, str]]] = {
    "containerd": (DIGEST, f"/run/netns/cni-{UUID}", {"K8S_POD_INFRA_CONTAINER_ID": DIGEST, "IgnoreUnknown": "1"}),
    "podman": (DIGEST, f"/run/netns/netns-{UUID}", {}),
    "nomad": (UUID, f"/run/netns/{UUID}", {}),
}


@pytest.mark.parametrize("owner", MADE_BY)
@pytest.mark.parametrize("has_netns", [True, False])
def test_only_attachments_of_the_named_owners_are_repaired(
    node: EngineNode, attached: JsonObject, owner: str, has_netns: bool
) -> None:
    container_id, path, args = MADE_BY[owner]
    with namespace(path.rpartition("/")[2]) as other:
        item = {**map_port(other, 1), "container_id": container_id, "args": args}
        node.write(NETWORK)
        node.attach(item)
        as_other_runtime(node, item, has_netns=has_netns)
        flush()
        # Old releases of Podman named namespaces as containerd does.
        others = sorted({*MADE_BY, "cni.node"} - {owner} - ({"podman"} if owner == "containerd" else set()))
        assert [entry["container_id"] for entry in node.run("repair", owners=others).succeeded().entries] == ["blue"]
        assert "--dports 8081" not in rules()
        (entry,) = node.run("repair", owners=[owner]).succeeded().entries
        assert (entry["container_id"], entry["action"]) == (container_id, "repaired")
        assert "--dports 8081" in rules()


def test_without_pyroute2_an_attachment_is_recreated_with_a_hint(
    node: EngineNode, limited: JsonObject, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(without_pyroute2(tmp_path))
    for check_mode in (True, False):
        done = node.run("attachments", attachments=[limited], _ansible_check_mode=check_mode).succeeded()
        assert done.entries[0]["action"] == "recreated"
        assert "install the package python3-pyroute2" in json.dumps(done.result["warnings"])


UNIT = pathlib.Path("/etc/systemd/system/cni-node-repair.service")


@pytest.fixture
def with_units(node: EngineNode) -> t.Iterator[EngineNode]:
    """Provide what the units run, and remove them after the test, whatever its outcome."""
    libraries.provide()
    yield node
    node.run("repair", on_reload="absent").succeeded()


def run_service(*, status: int = 0) -> list[str]:
    """Run the service's command as systemd does, and return its lines."""
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.read(UNIT)
    command = shlex.split(unit["Service"]["ExecStart"])
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, cwd="/", env={})
    assert (done.returncode, done.stderr) == (status, ""), done.stdout
    return done.stdout.splitlines()


@REQUIRES_SYSTEMD
@in_both_modes
def test_the_service_repairs_lost_rules_without_ansible(with_units: EngineNode, attached: JsonObject) -> None:
    with_units.run("repair", on_reload="present").succeeded()
    before = rules()
    flush()
    (line,) = run_service()
    assert line.startswith("repaired: the attachment of blue (eth0) to network net: ")
    assert "the masquerade rule of 10.1.0.2 is gone" in line
    assert rules() == before
    assert run_service() == []
    assert rules() == before


@REQUIRES_SYSTEMD
@pytest.mark.parametrize(
    "content", ['{"kind": ', '{"kind": "cniCacheV1", "result": 5}', "\x1b[2J", '{"kind": "cniCacheV1", "config": "%"}']
)
def test_a_broken_record_is_one_line_of_the_journal_and_does_not_stop_the_repair(
    with_units: EngineNode, attached: JsonObject, content: str
) -> None:
    with_units.run("repair", on_reload="present").succeeded()
    before = rules()
    flush()
    broken = with_units.cache_dir / "results" / "net-\x1b-eth0"
    broken.write_text(content, encoding="utf-8")
    repaired, unreadable = run_service()
    assert repaired.startswith("repaired: the attachment of blue (eth0) to network net: ")
    assert unreadable.startswith("not repaired: ")
    assert (repaired + unreadable).isprintable()
    assert rules() == before
    broken.unlink()


@REQUIRES_SYSTEMD
def test_check_mode_predicts_the_units_exactly(with_units: EngineNode) -> None:
    wanted = {"on_reload": "present", "interval": "30s"}
    for arguments in (wanted, {**wanted, "interval": "never"}, {"on_reload": "absent"}):
        predicted = with_units.run("repair", **arguments, _ansible_check_mode=True, _ansible_diff=True).succeeded()
        done = with_units.run("repair", **arguments, _ansible_diff=True).succeeded()
        assert predicted.result["files"] == done.result["files"] != []
        assert predicted.result["diff"] == done.result["diff"]
        assert predicted.result["changed"] is done.result["changed"] is True
        again = with_units.run("repair", **arguments).succeeded()
        assert (again.result["changed"], again.result["files"]) == (False, [])
    assert not UNIT.exists()
