# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attachments with `persist`, and no others, are restored after a reboot by one program, without Ansible."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import (
    DNS,
    FILES,
    LINK,
    RESOLV_CONF,
    RESTORES,
    UNIT,
    addresses,
    attach_behind_a_free_address,
    boot,
    command,
    interface_addresses,
    item,
    make,
    records,
    write_stalling_network,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import reboot
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

pytestmark = list(RESTORES)
in_both_modes = pytest.mark.parametrize("node", ["never", "always"], indirect=True)


@in_both_modes
def test_attachments_are_restored_with_their_namespaces_and_addresses(restorable: EngineNode) -> None:
    node = restorable
    node.write(
        reference_networks.network(
            {**reference_networks.bridge(ipMasq=True), "dns": DNS},
            reference_networks.TUNING,
            reference_networks.PORTMAP,
        )
    )
    node.write({**reference_networks.network(reference_networks.PTP), "name": "nat"})
    make(node, "red", "blue", "green")
    mapped = item("blue", capability_args=reference_networks.CAPABILITY_ARGS)
    two, gone = item("blue", "nat", ifname="eth1"), {"network": "net", "netns": "red"}
    node.attach(gone, mapped, two, item("green"))
    had, leases = addresses(node), {name: node.leases(name) for name in ("net", "nat")}
    assert len(had["nat-blue-eth1"]) == 2
    with reboot():
        output = boot()
        assert sorted(output.splitlines()) == [
            f"recreated: the attachment of blue (eth0) to network net, {had['net-blue-eth0'][0].partition('/')[0]}",
            "recreated: the attachment of blue (eth1) to network nat, "
            + " ".join(ip.partition("/")[0] for ip in had["nat-blue-eth1"]),
            f"recreated: the attachment of green (eth0) to network net, {had['net-green-eth0'][0].partition('/')[0]}",
        ]
        assert addresses(node) == had
        assert {name: node.leases(name) for name in ("net", "nat")} == leases
        assert node.intents() == []
        assert set(had["nat-blue-eth1"]) <= set(interface_addresses("blue", "eth1"))
        assert interface_addresses("green") == had["net-green-eth0"]
        assert not pathlib.Path("/run/netns/red").exists()
        Namespace("blue").run("ping", "-c1", "-W5", "10.1.0.1")
        assert [line.partition(":")[0] for line in boot().splitlines()] == ["unchanged"] * 3
        assert {entry["action"] for entry in node.attach(mapped, two, item("green"))} == {"checked"}


IPAM = reference_networks.host_local("10.4.0.0/16")
CHAINS: dict[str, list[JsonObject]] = {
    "bridge, sbr": [reference_networks.bridge(), {"type": "sbr"}],
    "bridge, firewall, bandwidth": [
        reference_networks.bridge(),
        reference_networks.FIREWALL,
        reference_networks.BANDWIDTH,
    ],
    "ptp": [reference_networks.PTP],
    "macvlan": [{"type": "macvlan", "master": reference_networks.UPLINK, "ipam": IPAM}],
    "host-device": [{"type": "host-device", "device": reference_networks.UPLINK, "ipam": IPAM}],
    "host-device, static": [reference_networks.HOST_DEVICE],
    "loopback": [reference_networks.LOOPBACK],
}


@pytest.mark.parametrize(
    ("late", "node"),
    [(False, "never"), (True, "never"), (False, "always")],
    ids=["at once", "later", "at once, built-in"],
    indirect=["node"],
)
@pytest.mark.parametrize("plugins", CHAINS.values(), ids=CHAINS)
def test_every_plugin_restores_after_its_state_is_lost(
    restorable: EngineNode, plugins: list[JsonObject], late: bool
) -> None:
    """Restore even if the underlying link appears late; until then nothing is lost and nothing leaks."""
    node = restorable
    reference_networks.make_uplink()
    missing = reference_networks.missing_kind(plugins)
    if missing:
        pytest.skip(f"this kernel has no {missing}")
    node.write(reference_networks.network(*plugins))
    make(node, "blue")
    node.attach(item())
    had, leases = interface_addresses("blue"), node.leases("net")
    with reboot():
        if late:
            subprocess.run(command(), check=False, stdout=subprocess.DEVNULL)
        reference_networks.make_uplink()
        boot()
        assert (interface_addresses("blue"), node.leases("net"), node.intents()) == (had, leases, [])
        assert node.attach(item())[0]["action"] in ("checked", "unchanged")
        node.detach(item())
        assert node.leases("net") == []


@in_both_modes
def test_an_address_that_was_allocated_since_is_replaced(restorable: EngineNode) -> None:
    node = restorable
    node.write(reference_networks.network(reference_networks.bridge()))
    make(node, "blue")
    node.attach(item())
    pathlib.Path("/var/lib/cni/networks/net/10.1.0.2").write_text("other\r\neth0", encoding="ascii")
    with reboot():
        output = "recreated: the attachment of blue (eth0) to network net, 10.1.0.3, instead of 10.1.0.2\n"
        assert boot() == output
        assert node.leases("net") == ["10.1.0.2", "10.1.0.3"]
        assert interface_addresses("blue") == ["10.1.0.3/16"]


def test_an_address_is_kept_although_an_add_fails(restorable: EngineNode) -> None:
    node = restorable
    write_stalling_network(node)
    had, leases = attach_behind_a_free_address(node)
    write_stalling_network(node, ADD=[ScriptedAnswer(error={"code": 5, "msg": "no room"}), ScriptedAnswer()])
    node.plugins.forget()
    with reboot():
        assert "instead of" not in boot()
        assert (addresses(node), node.leases("net")) == (had, leases)


def test_no_lease_is_restored_to_a_directory_of_another_program(restorable: EngineNode, tmp_path: pathlib.Path) -> None:
    node = restorable
    ipam = reference_networks.host_local("10.1.0.0/16", dataDir=str(tmp_path))
    node.write(reference_networks.network(reference_networks.bridge(ipam=ipam)))
    make(node, "blue")
    node.attach(item())
    leases = tmp_path / "net"
    shutil.rmtree(leases)
    notes = leases / "notes"
    notes.parent.mkdir()
    notes.touch()
    with reboot():
        assert f"{leases} is not used: only a record names it, and it has files of another program" in boot(status=1)
    assert list(leases.iterdir()) == [notes]
    shutil.rmtree(leases)
    with reboot():
        assert boot() == "recreated: the attachment of blue (eth0) to network net, 10.1.0.2\n"


@in_both_modes
def test_a_failed_restoration_does_not_stop_the_others_and_is_retried(restorable: EngineNode) -> None:
    node = restorable
    write_stalling_network(node)
    node.write(
        {
            **reference_networks.network(
                reference_networks.bridge(bridge="cni1", ipam=reference_networks.host_local("10.2.0.0/16"))
            ),
            "name": "b",
        }
    )
    make(node, "red", "blue")
    node.attach(item("red"), item("blue", "b"))
    had = addresses(node)
    with reboot():
        write_stalling_network(node, ADD=ScriptedAnswer(error={"code": 100, "msg": "not today"}))
        lines = boot(status=1).splitlines()
        assert sorted(line.partition(":")[0] for line in lines) == ["failed", "recreated"]
        assert any("not today" in line for line in lines)
        assert node.leases("net") == []
        node.run("gc", min_age=0).succeeded()
    with reboot():
        write_stalling_network(node)
        boot()
        assert addresses(node) == had


@in_both_modes
def test_an_interrupted_removal_is_finished_and_not_restored(restorable: EngineNode) -> None:
    node = restorable
    write_stalling_network(node)
    make(node, "blue")
    node.attach(item())
    with node.plugins.gate() as gate:
        write_stalling_network(node, DEL=ScriptedAnswer(hold=gate))
        running = node.start("attachments", attachments=[{**item(), "state": "absent"}])
        node.plugins.wait_for_held(1)
        running.kill()
        running.communicate()
    write_stalling_network(node)
    with reboot():
        assert boot() == "removed: the attachment of blue (eth0) to network net\n"
        assert (records(node), node.intents(), node.leases("net")) == ([], [], [])
        assert not pathlib.Path("/run/netns/blue").exists()


@in_both_modes
def test_gc_before_the_restoration_removes_nothing_of_it(restorable: EngineNode) -> None:
    node = restorable
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True)))
    make(node, "blue")
    node.attach(item())
    had = addresses(node)
    with reboot():
        node.run("gc", min_age=0).succeeded()
        assert (addresses(node), node.leases("net")) == (had, ["10.1.0.2"])
        boot()
        node.run("gc", min_age=0).succeeded()
        assert interface_addresses("blue") == had["net-blue-eth0"]


@in_both_modes
def test_name_servers_of_the_results_are_restored(restorable: EngineNode) -> None:
    node = restorable
    write_stalling_network(node)
    node.write(reference_networks.network({**reference_networks.bridge(), "dns": DNS}, {"type": "stall"}))
    make(node, "blue")
    (entry,) = node.attach(item())
    assert entry["result"]["dns"]["nameservers"] == ["10.1.0.1"]
    lines = RESOLV_CONF.read_text(encoding="ascii").splitlines()
    assert lines[1:] == ["nameserver 10.1.0.1", "search example.org"]
    assert Namespace("blue").run("cat", "/etc/resolv.conf").stdout.splitlines() == lines
    RESOLV_CONF.unlink()
    with reboot():
        boot()
        assert RESOLV_CONF.read_text(encoding="ascii").splitlines() == lines
        RESOLV_CONF.write_text("nameserver 192.0.2.1\n", encoding="ascii")
        done = node.run("attachments", attachments=[item()]).succeeded()
        assert done.result["changed"] is False
        assert any(
            "/etc/netns/blue/resolv.conf was not written by cni.node" in str(text) for text in done.result["warnings"]
        )
        RESOLV_CONF.unlink()
        (path,) = node.run("attachments", attachments=[item()]).succeeded().result["files"]
        assert path == {"path": str(RESOLV_CONF), "action": "created"}
        node.run("attachments", attachments=[{**item(), "state": "absent"}]).succeeded()
        assert not RESOLV_CONF.parent.exists()


def test_removing_the_last_attachment_removes_the_boot_files(restorable: EngineNode) -> None:
    node = restorable
    node.write(reference_networks.network(reference_networks.bridge()))
    make(node, "red", "blue")
    done = node.run("attachments", attachments=[item("red"), item("blue")]).succeeded()
    assert done.result["files"] == [{"path": str(path), "action": "created"} for path in FILES]
    assert os.readlink(LINK) == str(UNIT)
    assert command()[:3] == [sys.executable, "-I", libraries.describe_checkout().path]
    assert node.run("attachments", attachments=[item("blue", persist=False)]).succeeded().result["files"] == []
    done = node.run("attachments", attachments=[], purge=True).succeeded()
    assert done.result["files"] == [{"path": str(path), "action": "removed"} for path in reversed(FILES)]
    assert not any(os.path.lexists(path) for path in FILES)


def test_records_of_several_directories_are_restored(restorable: EngineNode) -> None:
    node = restorable
    node.write(reference_networks.network(reference_networks.bridge()))
    make(node, "red", "blue")
    node.attach(item("red"))
    node.attach(item("blue"), cache_dir="/var/lib/cni/other")
    assert command()[3:] == ["/var/lib/cni", "/var/lib/cni/other"]
    with reboot():
        assert len(boot().splitlines()) == 2
        node.run("attachments", attachments=[{**item("red"), "state": "absent"}]).succeeded()
        assert command()[3:] == ["/var/lib/cni/other"]
        node.run(
            "attachments", attachments=[{**item("blue"), "state": "absent"}], cache_dir="/var/lib/cni/other"
        ).succeeded()
        assert not UNIT.exists()
