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

from ansible_collections.cni.node.tests.support.sandbox import MACHINE, MNT_DETACH
from ansible_collections.cni.node.tests.support.state import State, node_state
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [
    pytest.mark.requires_root,
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]

MNT_FORCE = 1
# Where something might be left.
STRAY_TOPS = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/usr/local/sbin")
SANDBOX = str(pathlib.Path(__file__).with_name("sandbox"))
# Everything an attachment may change on a node, and more.
MESS = """
set -e
mkdir -p /etc/cni/net.d /opt/cni/bin /var/lib/cni/results /run/cni
for directory in /etc/cni/net.d /opt/cni/bin /var/lib/cni/results /run/cni /tmp /var/tmp /dev/shm /usr/local/sbin; do
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
    strays = [str(path) for top in STRAY_TOPS for path in pathlib.Path(top).glob("*mess")]
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
def test_the_exit_status_of_the_command_is_returned(script: str, status: int) -> None:
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


# Arguments: the flags of umount2(2), how to sort mounts, the name of a file, and directories. It unmounts what is mounted on
# them and below them as often as that works, prints what is left in each, and writes the file to it and to some below.
BREAK_OUT = """
import ctypes, os, sys
flags, order, name, tops = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
umount = ctypes.CDLL(None).umount2
with open("/proc/self/mountinfo", encoding="utf-8") as lines:
    mounts = {line.split()[4] for line in lines}
paths = sorted({path for path in mounts for top in tops if f"{path}/".startswith(f"{top}/")})
assert set(tops) <= set(paths), paths
for path in paths if order == "outer first" else paths[::-1]:
    while umount(path.encode(), flags) == 0:
        pass
for top in tops:
    print(top, *sorted(os.listdir(top)))
for path in [*tops, *paths, "/var/lib", "/var/tmp", "/etc/cni/net.d", "/opt/cni/bin", "/var/lib/cni/results"]:
    try:
        os.makedirs(path, exist_ok=True)
        open(f"{path}/{name}", "w").close()
    except OSError:
        pass
"""
SHADOWED = ("/etc", "/opt", "/var", "/tmp")
WAYS_TO_UNMOUNT = [
    (0, "inner first"),
    (MNT_FORCE, "inner first"),
    (MNT_DETACH, "inner first"),
    (MNT_DETACH, "outer first"),
]


def break_out(flags: int, order: str, name: str, *directories: str) -> list[str]:
    return [SANDBOX, "python3", "-c", BREAK_OUT, str(flags), order, name, *directories]


@pytest.mark.parametrize(("flags", "order"), WAYS_TO_UNMOUNT)
def test_no_unmount_lets_a_write_reach_the_host(flags: int, order: str) -> None:
    name = f"cni-sandbox-{uuid.uuid4().hex}"
    # With separate disks, one of them below another, as many machines have them.
    script = """
    mount -t tmpfs tmpfs /var/tmp; mkdir /var/tmp/disk; mount -t tmpfs tmpfs /var/tmp/disk; touch /var/tmp/disk/file
    name=$1; shift; "$@" >/dev/null && find /etc /opt /var /tmp /run /dev/shm -name "$name"; ls /var/tmp/disk
    """
    attempt = break_out(flags, order, name, *SHADOWED, "/run", "/dev/shm", "/var/tmp/disk")
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", name, *attempt]
    assert subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split() == ["file"]


@pytest.mark.parametrize("order", ["inner first", "outer first"])
def test_unmounting_a_shadowed_directory_leaves_an_empty_one(order: str) -> None:
    directories = [*SHADOWED, "/run", MACHINE]
    argv = break_out(MNT_DETACH, order, "cni-sandbox-file", *directories)
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == directories


def test_devices_belong_to_the_host_and_their_directory_is_read_only() -> None:
    inside = "umount --lazy /dev/shm; ls /dev/shm; echo >/dev/null && echo written; touch /dev/file /dev/shm/file"
    script = f"""
    mount -t tmpfs tmpfs /mnt; mkdir /mnt/shm; mknod /mnt/null c 1 3; mount --move /mnt /dev
    mount -t tmpfs tmpfs /dev/shm; touch /dev/shm/hosts
    {SANDBOX} sh -c '{inside}'; find /dev -type f
    """
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["written", "/dev/shm/hosts"]
    assert done.stderr.count("Read-only file system") == 2, done.stderr


def test_no_descriptor_of_the_host_is_left_in_process_1() -> None:
    done = sandbox("find /proc/1/fd -type l -exec test -d {} ';' -print")
    assert (done.stdout, done.stderr) == ("", "")


def test_the_root_directory_has_the_entries_of_the_host() -> None:
    script = "for path in /* /.[!.]*; do echo $path $(stat --format='%F' $path) $(readlink $path); done"
    host_entries = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout.splitlines()
    assert {*sandbox(script).stdout.splitlines()} == {*host_entries, f"{MACHINE} directory"}


def test_a_new_entry_of_the_root_directory_is_lost() -> None:
    name = f"/cni-sandbox-{uuid.uuid4().hex}"
    assert sandbox(f"mkdir {name}").returncode == 0
    assert not pathlib.Path(name).exists()


def test_other_directories_belong_to_the_host_with_the_mounts_below_them() -> None:
    # The mount must not hide this checkout.
    top = next(top for top in ("/srv", "/mnt") if not str(SANDBOX).startswith(f"{top}/"))
    script = f"""
    mount -t tmpfs tmpfs {top}; mkdir {top}/disk; mount -t tmpfs tmpfs {top}/disk; cd {top}/disk
    {SANDBOX} sh -c 'echo new >file'; {SANDBOX} cat file; cat {top}/disk/file
    """
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script]
    assert subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split() == ["new", "new"]


def test_the_machines_root_file_system_cannot_be_written() -> None:
    # A wrong sandbox would let a write through to the machine, so that this only asks.
    assert sandbox(f"test -d {MACHINE}/usr && echo there; test -w {MACHINE}/opt || echo refused").stdout.split() == [
        "there",
        "refused",
    ]


LOWER = MACHINE if os.path.ismount(MACHINE) else "/"
# Make a root directory in $1, which is below /tmp, with the host's other entries. /opt is a link to /elsewhere/opt.
LINKED = """
mount -t tmpfs tmpfs "$1"
for path in /* /.[!.]*; do
  if [ "$path" = /opt ] || [ "$path" = /tmp ]; then continue
  elif [ -L "$path" ]; then cp -P "$path" "$1"
  elif [ -d "$path" ]; then mkdir "$1$path"; mount --rbind "$path" "$1$path"
  else touch "$1$path"; mount --bind "$path" "$1$path"; fi
done
mkdir -p "$1/tmp" "$1/elsewhere/opt"
ln -s elsewhere/opt "$1/opt"
touch "$1/elsewhere/opt/file"
cd "$1"
"""
# The same with an overlay, as in a container. $2: the lower layer.
CONTAINER = """
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/root"
for directory in /dev /proc /run /sys; do mount --rbind "$directory" "$1/root$directory"; done
rm -rf "$1/root/opt"
mkdir "$1/root/opt"
touch "$1/root/opt/file"
cd "$1/root"
"""
# The program lies below /tmp, a directory that is shadowed, and is run from there.
IN_OTHER_ROOT = """
set -e
{enter}
program=$PWD/tmp/cni-sandbox
mkdir "$program"
cp "$3" "$3.py" "$program"
pivot_root . mnt
cd /tmp/cni-sandbox
umount --lazy /mnt
./sandbox sh -c 'ls sandbox /opt/file; echo new >/opt/new; while umount --lazy "$(readlink -f /opt)"; do :; done 2>/dev/null
ls -A /opt/; echo new >/opt/new'
ls /opt/
rm -r /tmp/cni-sandbox
"""


def run_in_other_root(enter: str, tmp_path: pathlib.Path) -> list[str]:
    script = IN_OTHER_ROOT.replace("{enter}", enter)
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", str(tmp_path), LOWER, SANDBOX]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def test_a_shadowed_directory_may_be_a_link(tmp_path: pathlib.Path) -> None:
    assert run_in_other_root(LINKED, tmp_path) == ["/opt/file", "sandbox", "file"]


@pytest.mark.skipif(
    subprocess.run(["stat", "--file-system", "--format=%T", LOWER], capture_output=True, text=True, check=True).stdout
    == "overlayfs\n",
    reason="the machine's root is an overlay, and with a third one they are stacked too deep",
)
def test_the_root_file_system_may_be_an_overlay(tmp_path: pathlib.Path) -> None:
    assert run_in_other_root(CONTAINER, tmp_path) == ["/opt/file", "sandbox", "file"]


def test_a_mount_below_a_hidden_one_is_hidden() -> None:
    script = f"""
    mount -t proc proc /var/tmp; mount -t tmpfs tmpfs /var/tmp/fs; touch /var/tmp/fs/file
    {SANDBOX} find /var/tmp/fs
    """
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr


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
    # What a run of the suite itself sets is passed on.
    variables = "env | grep ^CNI_ | grep -v -e ^CNI_SANDBOX_OUT= -e ^CNI_SEED= -e ^CNI_RING="
    script = f"{INHABIT}\n{SANDBOX} sh -c '{FIND}; {variables}; echo $NETCONFPATH'; {FIND} | grep -c stranger"
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    environment = {
        "CNI_PATH": "/opt/nowhere",
        "CNI_ARGS": "A=1",
        "CNI_CONTAINERID": "c1",
        "NETCONFPATH": "/etc/nowhere",
    }
    done = subprocess.run(argv, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.stdout.split() == ["CNI_SANDBOX=1", "3"]


def test_the_directory_for_output_belongs_to_the_host(tmp_path: pathlib.Path) -> None:
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
