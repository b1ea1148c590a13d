# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes of a fleet start empty, are reached over SSH, are isolated, and leave nothing."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tarfile
import typing as t

import pytest

from ansible_collections.cni.node.tests.fleet import archives, life
from ansible_collections.cni.node.tests.fleet.place import BRIDGE, client_key, known_hosts, places
from ansible_collections.cni.node.tests.support import sandbox, state

pytestmark = [
    pytest.mark.requires_root,
    pytest.mark.skipif("CNI_SANDBOX" not in os.environ, reason="makes links and mounts: run it in the sandbox"),
    pytest.mark.skipif(not shutil.which("sshd", path="/usr/sbin:/sbin"), reason="install openssh-server"),
]

PROGRAM = pathlib.Path(archives.__file__).with_name("fleet")


def fleet(top: pathlib.Path, *command: str, status: int = 0) -> str:
    """Run `fleet` and return its output; it ends although the nodes keep its descriptors."""
    argv = [str(PROGRAM), "--dir", str(top), *command]
    done = subprocess.run(argv, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == status, done.stdout
    return done.stdout


def log_in(top: pathlib.Path, name: str, script: str) -> str:
    node = next(node for node in places(top) if node.name == name)
    options = ["IdentitiesOnly=yes", f"UserKnownHostsFile={known_hosts(top)}", "StrictHostKeyChecking=yes"]
    words = [word for option in options for word in ("-o", option)]
    argv = ["ssh", "-F", "none", *words, "-i", str(client_key(top)), f"root@{node.address}", script]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout


def sandbox_state() -> state.State:
    return state.node_state(trees=["/etc/cni", "/opt/cni", "/var/lib/cni"])


@pytest.fixture
def top(tmp_path: pathlib.Path) -> t.Iterator[pathlib.Path]:
    """Yield a directory for fleets, and check that nothing of them is left afterwards."""
    # An overlay cannot lie on an overlay, and /tmp is one here.
    path = pathlib.Path("/run") / tmp_path.name
    before = sandbox_state()
    yield path
    pids = [life.pid_of(node) for node in places(path)]
    fleet(path, "down")
    assert not path.exists()
    assert not [pid for pid in pids if pid and pathlib.Path(f"/proc/{pid}/root/").exists()]
    assert before.difference(sandbox_state()) == ""


def test_nodes_are_reached_over_ssh_and_reach_each_other(top: pathlib.Path) -> None:
    fleet(top, "up", "2")
    assert log_in(top, "node1", "hostname; ping -c 1 -W 5 198.18.0.3 >/dev/null && echo reached").split() == [
        "node1",
        "reached",
    ]
    assert set(os.listdir("/sys/class/net")) >= {BRIDGE, "node1", "node2"}


def test_a_node_starts_without_cni(top: pathlib.Path) -> None:
    fleet(top, "up", "1")
    assert (
        log_in(top, "node1", "ls -d /etc/cni /opt/cni /var/lib/cni /usr/lib/cni /run/netns 2>/dev/null || true") == ""
    )


# On a machine with a container runtime, and a node that creates the same directories. $1: the machine's root file
# system, $2: where its changes are written, $3: the program, $4: the fleet's directory.
INHABITED = """
set -e
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1"
mkdir -p "$1/etc/cni/net.d" "$1/opt/cni/bin" "$1/var/lib/cni/results"
touch "$1/etc/cni/net.d/10-foreign.conflist" "$1/opt/cni/bin/foreign" "$1/var/lib/cni/results/foreign-c1-eth0"
shift 2
"$1" --dir "$2" up 1
"$1" --dir "$2" snapshot
mkdir -p "/proc/$(cut -d " " -f 1 "$2/nodes/node1/process")/root/var/lib/cni/results"
"$1" --dir "$2" compare --without records || :
"$1" --dir "$2" down
"""


@pytest.mark.skipif(
    subprocess.run(
        ["stat", "--file-system", "--format=%T", sandbox.MACHINE], capture_output=True, text=True, check=False
    ).stdout
    == "overlayfs\n",
    reason="the machine's root is an overlay, and with a third one they are stacked too deep",
)
def test_the_machines_files_of_cni_are_hidden(top: pathlib.Path, tmp_path: pathlib.Path) -> None:
    script = ["sh", "-c", INHABITED, "sh", sandbox.MACHINE, str(tmp_path), str(PROGRAM), str(top)]
    argv = ["unshare", "--mount", "--propagation", "private", *script]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    changes = [line for line in done.stdout.splitlines() if line[:1] in "+-"]
    assert changes[2:] == ["+var/lib/cni drwxr-xr-x 0:0", "+var/lib/cni/results drwxr-xr-x 0:0"]


def test_a_nodes_changes_stay_on_the_node(top: pathlib.Path) -> None:
    fleet(top, "up", "2")
    mess = "ip netns add red; ip link add cni0 type bridge; touch /etc/mess /var/mess /tmp/mess; sysctl -w net.ipv4.ip_forward=1"
    log_in(top, "node1", mess)
    assert log_in(top, "node2", "ls /etc/mess /var/mess /tmp/mess /run/netns 2>/dev/null || true") == ""
    assert log_in(top, "node2", "cat /proc/sys/net/ipv4/ip_forward").strip() == "0"
    assert not pathlib.Path("/etc/mess").exists()
    assert not pathlib.Path("/sys/class/net/cni0").exists()


def test_a_node_cannot_change_the_shared_kernel(top: pathlib.Path) -> None:
    fleet(top, "up", "1")
    output = log_in(
        top, "node1", "echo 99999 2>&1 >/proc/sys/kernel/pid_max || echo refused; grep CapBnd /proc/self/status"
    )
    assert "refused" in output
    assert not int(output.split()[-1], 16) & sum(1 << number for number in (16, 17, 22, 25))


def test_a_snapshot_shows_every_change_and_nothing_else(top: pathlib.Path) -> None:
    fleet(top, "up", "2")
    fleet(top, "snapshot")
    log_in(
        top, "node1", "cp /etc/shadow /etc/s && cat /etc/s >/etc/shadow && rm /etc/s; touch /var/log/x /root/.ansible"
    )
    assert fleet(top, "compare") == ""
    log_in(top, "node1", "echo hello >/etc/hello; rm /etc/motd; chmod 700 /opt; ip netns add red")
    report = fleet(top, "compare", status=1)
    for line in ("node1:", "+etc/hello -rw-r--r-- 0:0 6 bytes", "+etc/motd is gone", "+opt drwx------ 0:0", "+red"):
        assert line in report, report
    assert "node2:" not in report
    log_in(top, "node1", "rm /etc/hello; chmod 755 /opt; ip netns delete red")
    assert "motd" in fleet(top, "compare", status=1)
    assert fleet(top, "compare", "--ignore", "^etc/motd is gone") == ""


def test_a_lost_node_comes_back_with_its_disk_and_nothing_else(top: pathlib.Path) -> None:
    fleet(top, "up", "2")
    log_in(top, "node2", "touch /etc/stays; ip netns add red; setsid sleep 600 >/dev/null 2>&1 &")
    fleet(top, "lose", "node2")
    with pytest.raises(OSError), socket.create_connection((places(top)[1].address, 22), timeout=0.5):  # noqa: PT011
        pass
    fleet(top, "start", "node2")
    assert log_in(top, "node2", "ls /etc/stays /run/netns 2>/dev/null; pidof sleep || true").split() == ["/etc/stays"]


def test_an_inventory_lists_existing_nodes(top: pathlib.Path) -> None:
    assert json.loads(fleet(top, "inventory"))["fleet"]["hosts"] == []
    fleet(top, "up", "2")
    inventory = json.loads(fleet(top, "inventory"))
    assert inventory["fleet"]["hosts"] == ["node1", "node2"]
    assert inventory["_meta"]["hostvars"]["node2"] == {"ansible_host": "198.18.0.3"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["up", "0"], "a fleet of 0 nodes is not possible"),
        (["lose", "node9"], "there is no node 'node9': there are none"),
    ],
)
def test_an_error_is_one_sentence(top: pathlib.Path, command: list[str], message: str) -> None:
    assert fleet(top, *command, status=125).startswith(f"fleet: {message}")


def test_a_second_fleet_does_not_disturb_the_first(top: pathlib.Path) -> None:
    fleet(top, "up", "1")
    assert "a fleet is there already" in fleet(top, "up", "1", status=125)
    assert log_in(top, "node1", "hostname").strip() == "node1"


def test_archives_look_like_releases_and_are_reproducible(tmp_path: pathlib.Path) -> None:
    first = archives.make(tmp_path / "a", tmp_path / "cache1")
    second = archives.make(tmp_path / "b", tmp_path / "cache2")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert [path.name.partition("-v")[2] for path in first] == [
        "1.1.1.tgz",
        "1.1.1.tgz.sha256",
        "1.1.99.tgz",
        "1.1.99.tgz.sha256",
    ]
    with tarfile.open(first[0]) as earlier, tarfile.open(first[2]) as later:
        assert "./bridge" in later.getnames()
        assert set(earlier.getnames()) - set(later.getnames()) == {"./vrf"}
