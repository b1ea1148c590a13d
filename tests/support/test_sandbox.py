# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sandbox hides the host, ends its processes and passes output and status on."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys
import typing as t
import uuid

import pytest

from ansible_collections.cni.node.tests.support.state import State, node_state
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [
    pytest.mark.requires_root,
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]

SANDBOX = str(pathlib.Path(__file__).with_name("sandbox"))
# Everything an attachment may change on a node, and more.
MESS = """
set -e
mkdir -p /etc/cni/net.d /opt/cni/bin /var/lib/cni/results /run/cni
for directory in /etc/cni/net.d /opt/cni/bin /var/lib/cni/results /run/cni /tmp /var/tmp /dev/shm; do
  echo mess >"$directory/cni-sandbox-mess"
done
rm /etc/passwd
ip netns add mess
ip link add mess0 type veth peer name mess1
ip address add 10.99.0.1/24 dev mess0
nft 'add table inet mess; add chain inet mess c { type filter hook input priority 0; }'
echo 1 >/proc/sys/net/ipv4/ip_forward
mount -t tmpfs mess /mnt
hostname mess
"""


def sandbox(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    argv = [SANDBOX, "sh", "-c", script]
    return subprocess.run(argv, check=False, capture_output=True, text=True, env={**os.environ, **environment})


def host() -> tuple[State, list[str], str, str]:
    watched = ("/etc/cni", "/opt/cni", "/var/lib/cni")
    strays = [str(path) for top in ("/tmp", "/var/tmp", "/dev/shm", "/run") for path in pathlib.Path(top).glob("*mess")]
    forwarding = pathlib.Path("/proc/sys/net/ipv4/ip_forward").read_text(encoding="utf-8")
    return node_state(trees=watched), strays, forwarding, socket.gethostname()


def assert_same(before: tuple[State, list[str], str, str], after: tuple[State, list[str], str, str]) -> None:
    assert before[0].difference(after[0]) == ""
    assert before[1:] == after[1:]
    assert pathlib.Path("/etc/passwd").exists()


def processes_with(mark: str) -> list[str]:
    """Return the pids of live processes with the mark in their environment; a zombie's reads as empty."""
    pids = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                pids.append(process.name)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return pids


def test_nothing_reaches_the_host() -> None:
    before = host()
    done = sandbox(f"{MESS}\nip netns list; cat /etc/cni/net.d/*mess")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["mess", "mess"], "")
    assert_same(before, host())


@pytest.mark.parametrize("name", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_sandbox_ends_all_that_is_inside(name: signal.Signals, tmp_path: pathlib.Path) -> None:
    before, mark = host(), uuid.uuid4().hex
    script = f"{MESS}\n setsid sleep 600 & setsid -f sleep 600; touch {tmp_path}/ready; sleep 600"
    environment = {**os.environ, "CNI_SANDBOX_OUT": str(tmp_path), "MARK": mark}
    with subprocess.Popen([SANDBOX, "sh", "-c", script], env=environment) as running:
        # The ready file means that all are forked, not that the last one has executed its sleep: until then its
        # environment may read as empty.
        until(lambda: ((tmp_path / "ready").exists() and len(processes_with(mark)) >= 5) or None)
        running.send_signal(name)
        assert running.wait() == -name
    until(lambda: not processes_with(mark) or None)
    assert_same(before, host())


def test_a_process_left_behind_ends_with_the_command() -> None:
    mark = uuid.uuid4().hex
    assert sandbox("setsid -f sleep 600 >/dev/null 2>&1", MARK=mark).returncode == 0
    assert processes_with(mark) == []


@pytest.mark.parametrize(
    ("script", "status"),
    [("true", 0), ("exit 7", 7), ("kill -SEGV $$", -signal.SIGSEGV), ("kill -KILL $$", -signal.SIGKILL)],
)
def test_the_exit_status_is_that_of_the_command(script: str, status: int) -> None:
    assert sandbox(script).returncode == status


@pytest.mark.parametrize(("command", "status"), [("/nonexistent", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_run_has_a_status_of_its_own(command: str, status: int) -> None:
    done = subprocess.run([SANDBOX, command], check=False, capture_output=True, text=True)
    assert done.returncode == status
    assert done.stderr.startswith(f"sandbox: {command}: ")


def test_a_signal_reaches_the_command(tmp_path: pathlib.Path) -> None:
    script = f"trap 'exit 42' USR1; touch {tmp_path}/ready; while :; do read -r line; done"
    environment = {**os.environ, "CNI_SANDBOX_OUT": str(tmp_path)}
    with subprocess.Popen([SANDBOX, "sh", "-c", script], env=environment, stdin=subprocess.PIPE) as running:
        until(lambda: (tmp_path / "ready").exists() or None)
        running.send_signal(signal.SIGUSR1)
        assert running.wait() == 42


def test_only_network_settings_of_the_kernel_are_writable() -> None:
    script = "for file in /proc/sys/kernel/panic /sys/kernel/mm/ksm/run /proc/sys/net/ipv4/ip_forward; do test -w $file; echo $?; done"
    assert sandbox(script).stdout.split() == ["1", "1", "0"]


def test_the_node_inside_is_empty_and_its_loopback_is_up() -> None:
    done = sandbox("ls /run; ls /dev/shm; ps -e -o comm= >/tmp/ps; wc -l </tmp/ps; ip -br -4 address show up")
    assert done.stdout.split() == ["lock", "3", "lo", "UNKNOWN", "127.0.0.1/8"]


def test_a_mount_below_a_shadowed_directory_is_shadowed_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("file\n", encoding="utf-8")
    inside = "cat /var/tmp/f /etc/passwd; echo new >/var/tmp/f; cat /var/tmp/f; test -w /etc/passwd; echo $?"
    script = f"""
    mount -t tmpfs tmpfs /var/tmp; echo directory >/var/tmp/f; mount --bind {tmp_path}/file /etc/passwd
    {SANDBOX} sh -c '{inside}'; cat /var/tmp/f
    """
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["directory", "file", "new", "1", "directory"]


# A machine with a container runtime: configurations, plugins and records, some of them on a separate disk.
INHABIT = """
set -e
mount -t tmpfs tmpfs /opt
cp -a /etc /opt/etc
mount --bind /opt/etc /etc
mount -t tmpfs tmpfs /var/lib
mkdir -p /etc/cni/net.d /etc/netns/blue /opt/cni/bin /var/lib/cni/results /var/lib/cni/networks
mount -t tmpfs tmpfs /var/lib/cni/networks
ln -s /opt/cni /etc/sysctl.d/90-cni.conf
touch /etc/cni/net.d/stranger.conf /opt/cni/bin/stranger /var/lib/cni/results/stranger-c1-eth0 /var/lib/cni/networks/10.99.0.5
"""
FIND = "find /etc/cni /etc/netns /opt/cni /var/lib/cni /etc/sysctl.d/*cni* 2>/dev/null"


def test_the_machines_files_of_cni_are_hidden() -> None:
    script = f"{INHABIT}\n{SANDBOX} sh -c '{FIND}; env | grep ^CNI_ | grep -v ^CNI_SANDBOX_OUT=; echo $NETCONFPATH'; {FIND} | grep -c stranger"
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    environment = {
        "CNI_PATH": "/opt/nowhere",
        "CNI_ARGS": "A=1",
        "CNI_CONTAINERID": "c1",
        "NETCONFPATH": "/etc/nowhere",
    }
    done = subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.stdout.split() == ["CNI_SANDBOX=1", "3"]


def test_the_named_directory_stays_the_hosts(tmp_path: pathlib.Path) -> None:
    assert (
        sandbox(
            f"echo kept >{tmp_path}/kept; echo lost >{tmp_path.parent}/lost", CNI_SANDBOX_OUT=str(tmp_path)
        ).returncode
        == 0
    )
    assert (tmp_path / "kept").read_text(encoding="utf-8") == "kept\n"
    assert not (tmp_path.parent / "lost").exists()


def refusal(argv: t.Sequence[str], **environment: str) -> str:
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 125, done
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_missing_permission_for_namespaces_is_an_error() -> None:
    argv = ["setpriv", "--inh-caps=-sys_admin", "--bounding-set=-sys_admin", SANDBOX, "true"]
    assert "cannot make namespaces (Operation not permitted)" in refusal(argv)


def test_missing_root_is_an_error() -> None:
    code = "import os, sys; sys.path.insert(0, sys.argv[1]); import sandbox; os.seteuid(65534); sandbox.main(['true'])"
    message = refusal([sys.executable, "-B", "-c", code, str(pathlib.Path(SANDBOX).parent)])
    assert message == "sandbox: it makes namespaces and mounts, which needs root: run it with sudo\n"


def test_a_missing_output_directory_is_an_error() -> None:
    assert "CNI_SANDBOX_OUT is '/nonexistent'" in refusal([SANDBOX, "true"], CNI_SANDBOX_OUT="/nonexistent")
