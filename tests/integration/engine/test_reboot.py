# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attachments with `persist` come back after a reboot, by one program and no Ansible; nothing else does."""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.engine import networks
from ansible_collections.cni.node.tests.integration.engine.node import Json, Node
from ansible_collections.cni.node.tests.integration.engine.throwaway import rebooted
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.plugins import Answer
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [
    pytest.mark.requires_root,
    pytest.mark.requires_plugins,
    pytest.mark.skipif(not pathlib.Path("/usr/lib/systemd/systemd").exists(), reason="install systemd"),
]

UNIT = pathlib.Path("/etc/systemd/system/cni-node-restore.service")
LINK = UNIT.parent / "multi-user.target.wants" / UNIT.name
PROGRAM = pathlib.Path("/opt/cni.node/restore.pyz")
RESOLV_CONF = pathlib.Path("/etc/netns/blue/resolv.conf")
FILES = [PROGRAM, UNIT, LINK]
DNS = {"nameservers": ["10.1.0.1"], "search": ["example.org"]}


@pytest.fixture
def clean(node: Node) -> t.Iterator[Node]:
    """What an attachment with `persist` puts outside of the directories of CNI goes, whatever becomes of the test."""
    yield node
    for path in (PROGRAM.parent, RESOLV_CONF.parent):
        shutil.rmtree(path, ignore_errors=True)
    for path in (UNIT, LINK):
        path.unlink(missing_ok=True)


def item(name: str = "blue", network: str = "net", **keys: t.Any) -> Json:
    return {"network": network, "netns": name, "persist": True, **keys}


def boot(*, status: int = 0) -> str:
    """What the unit's command prints, run as systemd runs it."""
    done = subprocess.run(command(), check=False, capture_output=True, text=True, timeout=60, cwd="/", env={})
    assert (done.returncode, done.stderr) == (status, ""), done.stdout
    return done.stdout


def command() -> list[str]:
    unit = configparser.ConfigParser(interpolation=None)
    unit.read(UNIT)
    return shlex.split(unit["Service"]["ExecStart"])


def make(node: Node, *names: str) -> None:
    node.run("netns", names=list(names)).succeeded()


def addresses(node: Node) -> dict[str, list[str]]:
    return {
        path.name: [ip["address"] for ip in json.loads(path.read_text())["result"]["ips"]] for path in records(node)
    }


def records(node: Node) -> list[pathlib.Path]:
    return sorted((node.cache_dir / "results").glob("[!.]*"))


def begun(node: Node) -> list[str]:
    """What is not finished; half-written files of killed runs are for gc."""
    return [path.name for path in node.intents() if path.name[0] != "."]


def inside(name: str, ifname: str = "eth0") -> list[str]:
    """The addresses of an interface, as the kernel has them."""
    found = Namespace(name)
    return sorted(found.addresses(ifname)) if ifname in found.links() else []


def test_attachments_come_back_with_their_namespaces_and_addresses(clean: Node) -> None:
    node = clean
    node.write(networks.network({**networks.bridge(ipMasq=True), "dns": DNS}, networks.TUNING, networks.PORTMAP))
    node.write({**networks.network(networks.PTP), "name": "nat"})
    make(node, "red", "blue", "green")
    mapped = item("blue", capability_args=networks.CAPABILITY_ARGS)
    two, gone = item("blue", "nat", ifname="eth1"), {"network": "net", "netns": "red"}
    node.attach(gone, mapped, two, item("green"))
    had, leases = addresses(node), {name: node.leases(name) for name in ("net", "nat")}
    assert len(had["nat-blue-eth1"]) == 2
    with rebooted():
        told = boot()
        assert sorted(told.splitlines()) == [
            f"recreated: the attachment of blue (eth0) to network net, {had['net-blue-eth0'][0].partition('/')[0]}",
            "recreated: the attachment of blue (eth1) to network nat, "
            + " ".join(ip.partition("/")[0] for ip in had["nat-blue-eth1"]),
            f"recreated: the attachment of green (eth0) to network net, {had['net-green-eth0'][0].partition('/')[0]}",
        ]
        assert addresses(node) == had
        assert {name: node.leases(name) for name in ("net", "nat")} == leases
        assert node.intents() == []
        assert set(had["nat-blue-eth1"]) <= set(inside("blue", "eth1"))
        assert inside("green") == had["net-green-eth0"]
        assert not pathlib.Path("/run/netns/red").exists()
        Namespace("blue").run("ping", "-c1", "-W5", "10.1.0.1")
        assert [line.partition(":")[0] for line in boot().splitlines()] == ["unchanged"] * 3
        assert {one["action"] for one in node.attach(mapped, two, item("green"))} == {"checked"}


IPAM = networks.host_local("10.4.0.0/16")
CHAINS: dict[str, list[Json]] = {
    "bridge, sbr": [networks.bridge(), {"type": "sbr"}],
    "bridge, firewall, bandwidth": [networks.bridge(), networks.FIREWALL, networks.BANDWIDTH],
    "ptp": [networks.PTP],
    "macvlan": [{"type": "macvlan", "master": networks.UPLINK, "ipam": IPAM}],
    "host-device": [{"type": "host-device", "device": networks.UPLINK, "ipam": IPAM}],
    "host-device, static": [networks.HOST_DEVICE],
    "loopback": [networks.LOOPBACK],
}


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("plugins", CHAINS.values(), ids=CHAINS)
def test_every_plugin_lets_go_of_what_is_gone(clean: Node, plugins: list[Json], late: bool) -> None:
    """Also where the link below comes up only after a while: until then nothing is lost, and nothing leaks."""
    node = clean
    networks.make_uplink()
    missing = networks.missing_kind(plugins)
    if missing:
        pytest.skip(f"this kernel has no {missing}")
    node.write(networks.network(*plugins))
    make(node, "blue")
    node.attach(item())
    had, leases = inside("blue"), node.leases("net")
    with rebooted():
        if late:
            subprocess.run(command(), check=False, stdout=subprocess.DEVNULL)
        networks.make_uplink()
        boot()
        assert (inside("blue"), node.leases("net"), node.intents()) == (had, leases, [])
        assert node.attach(item())[0]["action"] in ("checked", "unchanged")
        node.detach(item())
        assert node.leases("net") == []


def stalling(node: Node, **answers: t.Any) -> None:
    """The network of bridge and a plugin that can be held."""
    node.plugins.write("stall", **answers)
    node.write(networks.network(networks.bridge(), {"type": "stall"}))


def killed_in(node: Node, command_held: str) -> None:
    """Restore, and kill that while `stall` is in the middle of a command."""
    with node.plugins.gate() as gate:
        stalling(node, **{command_held: Answer(hold=gate)})
        running = subprocess.Popen(command(), stdout=subprocess.DEVNULL)
        (call,) = node.plugins.wait_for_held(1)
        running.kill()
        running.wait()
    until(lambda: not pathlib.Path(f"/proc/{call.pid}").exists() or None)
    stalling(node)


@pytest.mark.parametrize("held", ["DEL", "ADD"])
def test_a_restoration_that_is_killed_is_finished_by_the_next_with_the_same_address(clean: Node, held: str) -> None:
    node = clean
    stalling(node)
    make(node, "red", "blue")
    node.attach(item("red"), item("blue"))
    node.detach(item("red"))
    had, leases = addresses(node), node.leases("net")
    with rebooted():
        killed_in(node, held)
        assert "blue" in boot()
        assert (addresses(node), node.leases("net"), node.intents()) == (had, leases, [])
        assert inside("blue") == had["net-blue-eth0"]
    with rebooted():
        boot()
        assert (addresses(node), node.leases("net")) == (had, leases)


def test_whenever_restorations_are_killed_nothing_is_lost(clean: Node) -> None:
    """Each a little later than the one before, from reboot to reboot."""
    node = clean
    names = [f"c{number}" for number in range(4)]
    node.write(networks.network(networks.bridge(ipMasq=True), networks.PORTMAP))
    make(node, *names)
    node.attach(*(item(name) for name in names))
    had, leases = addresses(node), node.leases("net")
    for step in range(8):
        with rebooted():
            for pause in (0.15 + 0.05 * step, 0.25 + 0.04 * step):
                running = subprocess.Popen(command(), stdout=subprocess.DEVNULL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(pause)
                running.kill()
                running.wait()
            boot()
            assert (node.leases("net"), begun(node)) == (leases, [])
            assert addresses(node) == had
            assert [inside(name) for name in names] == [had[f"net-{name}-eth0"] for name in names]


# Runs the program, and ends as by SIGKILL right before or right after what changes something outside of it.
KILLER = """
import importlib, os, runpy, signal, sys
moments, program = int(sys.argv[1]), sys.argv[2]
def counted(operation):
    def run(*arguments, **keywords):
        count()
        try:
            return operation(*arguments, **keywords)
        finally:
            count()
    return run
def count():
    global moments
    moments -= 1
    if moments < 0:
        os.kill(os.getpid(), signal.SIGKILL)
sys.path.insert(0, program)
base = "ansible_collections.cni.node.plugins.module_utils."
for place, names in (
    (os, ("fsync", "mkdir", "rename", "unlink")),
    (importlib.import_module(base + "_base.process"), ("run",)),
    (importlib.import_module(base + "_linux.syscall"), ("mount",)),
):
    for name in names:
        setattr(place, name, counted(getattr(place, name)))
sys.argv = sys.argv[2:]
runpy.run_path(program, run_name="__main__")
"""


def test_at_whichever_boundary_a_restoration_is_killed_the_next_has_all_as_it_was(clean: Node) -> None:
    """Before and after each plugin, each flush, each rename and each removal."""
    node = clean
    node.write(networks.network({**networks.bridge(), "dns": DNS}))
    make(node, "blue")
    node.attach(item())
    had, resolv_conf = addresses(node), RESOLV_CONF.read_bytes()
    python, dummy, *program = command()
    survived = 0
    for moments in range(1000):
        RESOLV_CONF.unlink()
        with rebooted():
            killed = subprocess.run(
                [python, "-I", "-c", KILLER, str(moments), *program], check=False, capture_output=True
            )
            assert killed.returncode in (0, -signal.SIGKILL), killed.stderr
            boot()
            assert (addresses(node), node.leases("net"), inside("blue")) == (had, ["10.1.0.2"], had["net-blue-eth0"])
            assert begun(node) == []
            assert RESOLV_CONF.read_bytes() == resolv_conf
        if killed.returncode == 0:
            break
        survived += 1
    assert survived > 20
    node.run("gc", min_age=0).succeeded()
    assert [path for path in node.cache_dir.rglob(".*") if path.is_file()] == []


def test_an_address_that_another_has_by_now_is_given_up(clean: Node) -> None:
    node = clean
    node.write(networks.network(networks.bridge()))
    make(node, "blue")
    node.attach(item())
    pathlib.Path("/var/lib/cni/networks/net/10.1.0.2").write_text("other\r\neth0", encoding="ascii")
    with rebooted():
        told = "recreated: the attachment of blue (eth0) to network net, 10.1.0.3, which was 10.1.0.2 before\n"
        assert boot() == told
        assert node.leases("net") == ["10.1.0.2", "10.1.0.3"]
        assert inside("blue") == ["10.1.0.3/16"]


def test_what_fails_does_not_stop_the_others_and_is_not_forgotten(clean: Node) -> None:
    node = clean
    stalling(node)
    node.write(
        {**networks.network(networks.bridge(bridge="cni1", ipam=networks.host_local("10.2.0.0/16"))), "name": "b"}
    )
    make(node, "red", "blue")
    node.attach(item("red"), item("blue", "b"))
    had = addresses(node)
    with rebooted():
        stalling(node, ADD=Answer(error={"code": 100, "msg": "not today"}))
        told = boot(status=1).splitlines()
        assert sorted(line.partition(":")[0] for line in told) == ["failed", "recreated"]
        assert any("not today" in line for line in told)
        assert node.leases("net") == []
        node.run("gc", min_age=0).succeeded()
    with rebooted():
        stalling(node)
        boot()
        assert addresses(node) == had


def test_what_was_being_removed_for_good_is_removed(clean: Node) -> None:
    node = clean
    stalling(node)
    make(node, "blue")
    node.attach(item())
    with node.plugins.gate() as gate:
        stalling(node, DEL=Answer(hold=gate))
        running = node.start("attachments", attachments=[{**item(), "state": "absent"}])
        node.plugins.wait_for_held(1)
        running.kill()
        running.communicate()
    stalling(node)
    with rebooted():
        assert boot() == "removed: the attachment of blue (eth0) to network net\n"
        assert (records(node), node.intents(), node.leases("net")) == ([], [], [])
        assert not pathlib.Path("/run/netns/blue").exists()


def test_between_reboot_and_restoration_nothing_of_it_is_garbage(clean: Node) -> None:
    node = clean
    node.write(networks.network(networks.bridge(ipMasq=True)))
    make(node, "blue")
    node.attach(item())
    had = addresses(node)
    with rebooted():
        node.run("gc", min_age=0).succeeded()
        assert (addresses(node), node.leases("net")) == (had, ["10.1.0.2"])
        boot()
        node.run("gc", min_age=0).succeeded()
        assert inside("blue") == had["net-blue-eth0"]


def test_name_servers_of_the_results_are_the_namespaces(clean: Node) -> None:
    node = clean
    stalling(node)
    node.write(networks.network({**networks.bridge(), "dns": DNS}, {"type": "stall"}))
    make(node, "blue")
    (entry,) = node.attach(item())
    assert entry["result"]["dns"]["nameservers"] == ["10.1.0.1"]
    lines = RESOLV_CONF.read_text(encoding="ascii").splitlines()
    assert lines[1:] == ["nameserver 10.1.0.1", "search example.org"]
    assert Namespace("blue").run("cat", "/etc/resolv.conf").stdout.splitlines() == lines
    RESOLV_CONF.unlink()
    with rebooted():
        boot()
        assert RESOLV_CONF.read_text(encoding="ascii").splitlines() == lines
        RESOLV_CONF.write_text("nameserver 192.0.2.1\n", encoding="ascii")
        done = node.run("attachments", attachments=[item()]).succeeded()
        assert done.result["changed"] is False
        assert any("/etc/netns/blue/resolv.conf is not this" in str(text) for text in done.result["warnings"])
        RESOLV_CONF.unlink()
        (path,) = node.run("attachments", attachments=[item()]).succeeded().result["files"]
        assert path == {"path": str(RESOLV_CONF), "action": "created"}
        node.run("attachments", attachments=[{**item(), "state": "absent"}]).succeeded()
        assert not RESOLV_CONF.parent.exists()


def test_the_last_one_takes_away_what_a_reboot_needed(clean: Node) -> None:
    node = clean
    node.write(networks.network(networks.bridge()))
    make(node, "red", "blue")
    done = node.run("attachments", attachments=[item("red"), item("blue")]).succeeded()
    assert done.result["files"] == [{"path": str(path), "action": "created"} for path in FILES]
    assert os.readlink(LINK) == str(UNIT)
    assert command()[:3] == [sys.executable, "-I", str(PROGRAM)]
    assert node.run("attachments", attachments=[item("blue", persist=False)]).succeeded().result["files"] == []
    done = node.run("attachments", attachments=[], purge=True).succeeded()
    assert done.result["files"] == [{"path": str(path), "action": "removed"} for path in reversed(FILES)]
    assert not any(os.path.lexists(path) for path in (*FILES, PROGRAM.parent))


def test_records_of_several_directories_are_restored(clean: Node) -> None:
    node = clean
    node.write(networks.network(networks.bridge()))
    make(node, "red", "blue")
    node.attach(item("red"))
    node.attach(item("blue"), cache_dir="/var/lib/cni/other")
    assert command()[3:] == ["/var/lib/cni", "/var/lib/cni/other"]
    with rebooted():
        assert len(boot().splitlines()) == 2
        node.run("attachments", attachments=[{**item("red"), "state": "absent"}]).succeeded()
        assert command()[3:] == ["/var/lib/cni/other"]
        node.run(
            "attachments", attachments=[{**item("blue"), "state": "absent"}], cache_dir="/var/lib/cni/other"
        ).succeeded()
        assert not UNIT.exists()
