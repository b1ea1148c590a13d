# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node's process 1: its own namespaces, its own view of the file system, and an sshd that ends with it.

The node has its own network, mount, PID, UTS and IPC namespace. Its root is an overlay over the machine's root file
system, so that every file is writable and the machine's files stay unchanged. /run, /tmp and /dev are its own. In /proc/sys,
only the settings of its network are writable. It may not load kernel modules, set the clock or reboot, as in a container.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import typing as t

from ansible_collections.cni.node.tests.fleet.place import DOOR, PYTHON, FleetNode, FleetRefused, client_key
from ansible_collections.cni.node.tests.support import ring, sandbox, warm_python
from ansible_collections.cni.node.tests.support.sandbox import MS_BIND, MS_NODEV, MS_NOSUID, call, mount
from ansible_collections.cni.node.tests.support.warm_python import WarmProgram

PR_CAPBSET_DROP = 24
CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYS_TIME = 16, 17, 22, 25
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "net/tun")
# A node starts without CNI, whatever the machine was used for: only the collection installs plugins. It also starts
# without what the machine's root runs at each command, because Debian's bash reads ~/.bashrc for every command over SSH.
UNSEEN = (*sandbox.CNI_PATHS, "/usr/lib/cni", "/usr/libexec/cni", "/root/.bashrc")
SSHD_CONFIG = """\
Port 22
HostKey /run/fleet/host_key
AuthorizedKeysFile /run/fleet/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
MaxStartups 100
MaxSessions 100
Subsystem sftp internal-sftp
PidFile none
"""


def start(node: FleetNode, wired: int, report: int) -> t.NoReturn:
    """Run the node in this process. `report` receives "made", then "up", or an error; `wired` signals that the link exists."""
    try:
        sshd = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        if not sshd:
            raise FleetRefused("sshd is missing: install openssh-server")
        flags = sandbox.CLONE_NEWNS | sandbox.CLONE_NEWNET | sandbox.CLONE_NEWUTS | sandbox.CLONE_NEWIPC
        call("unshare", flags, doing="make the namespaces of a node")
        signal.pthread_sigmask(signal.SIG_BLOCK, sandbox.PASSED_ON | {signal.SIGCHLD})
        make_root(node)
        enter(node)
        socket.sethostname(node.name)
        drop_capabilities()
        os.write(report, b"made")
        if not os.read(wired, 1):
            raise FleetRefused("the process that made the node has ended")
        raise_links(node)
        server = start_python()
        child = subprocess.Popen([sshd, "-D", "-e", "-f", "/run/fleet/sshd_config"], preexec_fn=_unblock)
        os.write(report, b"up")
        os.close(report)
    except (FleetRefused, sandbox.SandboxRefused, OSError, subprocess.SubprocessError) as error:
        os.write(report, f"{node.name}: {error}".encode())
        os._exit(1)
    sandbox.wait(child.pid)
    del server  # which has ended with this process's end of a pipe
    os._exit(0)


def start_python() -> WarmProgram | None:
    """Start the server of the Python with which Ansible runs modules; the outer ring has the node's own, `PYTHON`."""
    return None if ring.IS_OUTER else WarmProgram(DOOR, warm_python.PYTHON, {}, python=PYTHON)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def make_root(node: FleetNode) -> None:
    mount("none", "/", flags=sandbox.MS_REC | sandbox.MS_PRIVATE)
    work, root = node.top / "work", node.root
    for directory in (node.upper, work, root):
        directory.mkdir(exist_ok=True)
    node.upper.chmod(0o755)
    layers = f"lowerdir={sandbox.MACHINE},upperdir={node.upper},workdir={work}"
    mount("overlay", str(root), "overlay", data=layers)
    forget_use(root)
    let_root_in(root)
    make_devices(root)
    for path, mode in (("run", "755"), ("tmp", "1777")):
        mount("tmpfs", str(root / path), "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode}")
    write_sshd_files(node, root / "run")


def forget_use(root: pathlib.Path) -> None:
    """Remove what is `UNSEEN` at the node's first start; later starts keep the node's own files."""
    marker = root.parent / "started"
    if marker.exists():
        return
    sandbox.remove_paths(UNSEEN, str(root))
    marker.touch()


def let_root_in(root: pathlib.Path) -> None:
    """Unlock root's account: sshd refuses a locked one, even with a key."""
    shadow = root / "etc" / "shadow"
    lines = shadow.read_text(encoding="utf-8").splitlines(keepends=True)
    opened = [f"root:*:{line.split(':', 2)[2]}" if line.startswith("root:!") else line for line in lines]
    if opened != lines:
        shadow.write_text("".join(opened), encoding="utf-8")


def make_devices(root: pathlib.Path) -> None:
    device = root / "dev"
    mount("tmpfs", str(device), "tmpfs", MS_NOSUID, "mode=755,size=64k")
    for name in DEVICES:
        if os.path.exists(f"/dev/{name}"):
            (device / name).parent.mkdir(exist_ok=True)
            (device / name).touch()
            mount(f"/dev/{name}", str(device / name), flags=MS_BIND)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (device / name).symlink_to(target)
    (device / "ptmx").symlink_to("pts/ptmx")
    (device / "pts").mkdir()
    mount("devpts", str(device / "pts"), "devpts", MS_NOSUID, "newinstance,ptmxmode=0666,mode=620")
    (device / "shm").mkdir()
    mount("tmpfs", str(device / "shm"), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")


def write_sshd_files(node: FleetNode, run: pathlib.Path) -> None:
    """Write sshd's files to /run, so that they are not among the node's files."""
    door = run / DOOR.name
    door.mkdir(mode=0o700)
    (run / "sshd").mkdir(mode=0o755)
    (run / "lock").mkdir(mode=0o777)
    (door / "sshd_config").write_text(SSHD_CONFIG, encoding="utf-8")
    shutil.copy(node.host_key, door / "host_key")
    shutil.copy(client_key(node.fleet).with_suffix(".pub"), door / "authorized_keys")


def enter(node: FleetNode) -> None:
    """Make the node's root the root file system and detach the old one."""
    sandbox.enter_root(str(node.root))
    sandbox.leave_old_root()
    sandbox.make_kernel_views()


def drop_capabilities() -> None:
    for capability in (CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_BOOT, CAP_SYS_TIME):
        call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0, doing="give up a capability")


def raise_links(node: FleetNode) -> None:
    lines = (
        "link set lo up",
        f"address add {node.address}/16 dev eth0",
        "link set eth0 up",
    )
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), check=True, text=True, capture_output=True)
