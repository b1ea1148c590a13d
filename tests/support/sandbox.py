# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run one command on a throw-away node: in mount, network, PID, UTS and IPC namespaces of its own.

Inside, /etc, /opt, /var, /tmp and /usr/local/sbin read as on the host, and writes to them are lost; /run and /dev/shm are empty;
`lo` is up and nothing else is connected; /proc/sys and /sys can be written only where they belong to the network.
The files of CNI there and the environment variables of CNI programs are hidden.
Everything else of the file system, and the kernel's modules, are the host's. Inside, CNI_SANDBOX=1 is set.

The root directory is a tmpfs of the sandbox, on which overlays and the host's other directories are mounted. So
unmounting one of these directories or /run reveals an empty directory, never the host's. An entry made in `/` is lost, and
none can be made in /dev. The directory MACHINE is the host's root file system without other mounts, read-only.

CNI_SANDBOX_OUT=DIR names an existing directory of the host; files written there are kept.

The exit status is the command's; a command killed by a signal kills the sandbox with the same signal.
125 is the sandbox's own failure, 126 a command that cannot be run, 127 one that is not found.
However the sandbox ends, SIGKILL included, the kernel ends every process inside and discards their changes.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import fnmatch
import glob
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import typing as t

SHADOWED = ("/etc", "/opt", "/var", "/tmp", "/var/lib", "/usr/local/sbin")
# A lower layer for overlays of a whole root directory: the sandbox's own is made of mounts, which a lower layer omits.
MACHINE = "/.machine"
# Directories in the sandbox's root that are not the host's.
OWN = ("/run", "/proc", "/sys", MACHINE)
# A throw-away node starts without CNI, whatever the machine was used for.
CNI_PATHS = (
    "/etc/cni",
    "/etc/netns",
    "/opt/cni",
    "/var/lib/cni",
    "/usr/local/sbin/cni-node",
    "/etc/sysctl.d/*cni*",
    "/etc/modules-load.d/*cni*",
    "/etc/systemd/system/cni-node-*",
    "/etc/systemd/system/*.wants/cni-node-*",
)
CNI_VARIABLES = (
    *(f"CNI_{name}" for name in ("COMMAND", "CONTAINERID", "NETNS", "NETNS_OVERRIDE", "IFNAME", "ARGS", "PATH")),
    "NETCONFPATH",
    "CAP_ARGS",
)
# A mount of another kind below a shadowed directory (a FUSE, an automount, a network file system) is hidden instead.
SHADOWED_FILE_SYSTEMS = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "ramfs", "overlay"}
PASSED_ON = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH, PR_SET_PDEATHSIG, SIOCSIFFLAGS, IFF_UP = 2, 1, 0x8914, 1

ADVICE = {
    errno.EPERM: ": it needs full root; in a container, start that with --privileged",
    errno.EINVAL: ": it may be that overlays are stacked too deep, in a container or a sandbox within another",
}


class SandboxRefused(Exception):
    """The sandbox cannot be made; the text is one sentence for the user."""


def call(name: str, *arguments: object, doing: str) -> None:
    """Call a function of the C library that returns 0 on success."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise SandboxRefused(f"cannot {doing} ({os.strerror(number)}){ADVICE.get(number, '')}")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    text = [None if value is None else os.fsencode(value) for value in (source, target, kind, data)]
    call("mount", *text[:3], flags, text[3], doing=f"mount {kind or source} on {target}")


def mount_read_only(source: str, target: str) -> None:
    mount(source, target, flags=MS_BIND)
    make_read_only(target)


def make_read_only(target: str) -> None:
    """Make one mount read-only and keep its other flags, which have the same numbers in statvfs(3)."""
    flags = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("none", target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | flags)


def mount_points(top: str) -> list[tuple[str, str]]:
    """Return (path, file system) of every mount below `top`, outer mounts first."""
    types_by_path = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        for fields in (line.split() for line in lines):
            path = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
            if path.startswith(top + "/"):
                types_by_path[path] = fields[fields.index("-") + 1]
    return sorted(types_by_path.items())


def shadowed_mounts() -> dict[str, int]:
    """Return every directory or file to shadow, outermost first, each with a descriptor of the host's one."""
    tops: list[str] = []
    for top in map(os.path.realpath, SHADOWED):
        if os.path.isdir(top) and not any(f"{top}/".startswith(f"{other}/") for other in tops):
            tops.append(top)
    mounts = [mount for top in tops for mount in mount_points(top)]
    below = [
        path
        for path, kind in mounts
        if kind in SHADOWED_FILE_SYSTEMS and os.path.exists(path) and not is_cni_path(path)
    ]
    return {path: os.open(path, os.O_PATH) for path in sorted({*tops, *below})}


def is_cni_path(path: str) -> bool:
    """Return whether the path, free of symbolic links, is one of CNI_PATHS or below one."""
    for pattern in CNI_PATHS:
        directory, name = os.path.split(pattern)
        plain = f"{os.path.realpath(directory)}/{name}"
        if fnmatch.fnmatchcase(path, plain) or fnmatch.fnmatchcase(path, f"{plain}/*"):
            return True
    return False


def remove_paths(patterns: t.Iterable[str], root: str = "") -> None:
    """Remove files and directories below `root`, a file system whose changes the host does not see."""
    for path in [path for pattern in patterns for path in glob.glob(f"{root}{pattern}")]:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def shadow(host: int, path: str, layers: str) -> None:
    """Mount a host's directory at `path` below a writable layer; a file that is a mount of its own becomes read-only."""
    behind = f"/proc/self/fd/{host}"
    if not os.path.isdir(behind):
        mount_read_only(behind, path)
        return
    status = os.stat(behind)
    upper, work = f"{layers}/{host}/upper", f"{layers}/{host}/work"
    for directory in (upper, work):
        os.makedirs(directory)
    os.chown(upper, status.st_uid, status.st_gid)
    os.chmod(upper, status.st_mode & 0o7777)
    mount("overlay", path, "overlay", data=f"lowerdir={behind},upperdir={upper},workdir={work}")


def output_directory() -> tuple[str, int] | None:
    path = os.environ.get("CNI_SANDBOX_OUT")
    if not path:
        return None
    if not os.path.isdir(path):
        raise SandboxRefused(f"CNI_SANDBOX_OUT is {path!r}, which is not a directory: make it first")
    return os.path.realpath(path), os.open(path, os.O_PATH)


def compose(directory: str, root: str, shadowed: t.Collection[str]) -> None:
    """Mount the entries of a directory of the host below `root`; places for what is shadowed stay empty."""
    for entry in os.scandir(directory):
        path, target = entry.path, f"{root}{entry.path}"
        if path in OWN:
            continue
        if entry.is_symlink():
            os.symlink(os.readlink(path), target)
            continue
        if entry.is_dir():
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        if path in shadowed:
            continue
        if any(below.startswith(f"{path}/") for below in shadowed):
            shutil.copymode(path, target)
            compose(path, root, shadowed)
        else:
            mount(path, target, flags=MS_BIND | MS_REC)


def make_root(root: str, layers: str, hosts: dict[str, int]) -> None:
    """Mount the sandbox's root file system at `root`."""
    mount("tmpfs", root, "tmpfs", data="mode=755")
    for directory in OWN:
        os.mkdir(f"{root}{directory}")
    compose("/", root, hosts)
    for path, host in hosts.items():
        # A mount below one that is hidden is hidden, too.
        if os.path.exists(f"{root}{path}"):
            shadow(host, f"{root}{path}", layers)
    # A sandbox within a sandbox passes on the host's root file system.
    mount_read_only(MACHINE if os.path.ismount(MACHINE) else "/", f"{root}{MACHINE}")
    make_devices(f"{root}/dev")
    run, lock = f"{root}/run", f"{root}/run/lock"
    mount("tmpfs", run, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    os.mkdir(lock)
    os.chmod(lock, 0o1777)


def make_devices(directory: str) -> None:
    """Give the host's devices a /dev/shm of their own; below it is a directory that cannot be written."""
    shared_memory = f"{directory}/shm"
    while os.path.ismount(shared_memory):
        call("umount2", os.fsencode(shared_memory), MNT_DETACH, doing=f"hide {shared_memory}")
    make_read_only(directory)
    mount("tmpfs", shared_memory, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")


def enter_root(root: str) -> None:
    """Make `root` the root directory; the old one stays mounted until `leave_old_root`."""
    os.chdir(root)
    call("pivot_root", b".", b".", doing="change the root")


def leave_old_root() -> None:
    os.chdir("/")
    call("umount2", b".", MNT_DETACH, doing="leave the old root")


def make_file_systems() -> None:
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    kept, hosts = output_directory(), shadowed_mounts()
    here = os.getcwd()
    # The overlays keep their layers open; no other process needs to see them. They leave with the old root.
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=700")
    os.mkdir("/run/root")
    make_root("/run/root", "/run", hosts)
    enter_root("/run/root")
    make_kernel_views()
    remove_paths(CNI_PATHS)
    if kept:
        os.makedirs(kept[0], exist_ok=True)
        mount(f"/proc/self/fd/{kept[1]}", kept[0], flags=MS_BIND | MS_REC)
        os.close(kept[1])
    leave_old_root()
    for host in hosts.values():
        os.close(host)
    os.chdir(here)


def make_kernel_views() -> None:
    """Mount /proc and /sys of these namespaces; everything outside the network is read-only."""
    safe = MS_NOSUID | MS_NODEV | MS_NOEXEC
    mount("proc", "/proc", "proc", safe)
    mount("/proc/sys", "/proc/sys", flags=MS_BIND)
    mount("sysfs", "/sys", "sysfs", safe)
    for whole, network in (("/proc/sys", "/proc/sys/net"), ("/sys", "/sys/devices/virtual/net")):
        mount(network, network, flags=MS_BIND)
        mount("none", whole, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | safe)


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process with its parent; exit if `parent` reads end-of-file, because the parent has ended."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, doing="tie the sandbox to its parent")
    if select.select([parent], [], [], 0)[0]:
        os._exit(125)


def run(command: list[str], mask: t.Iterable[int]) -> t.NoReturn:
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"sandbox: {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def reap(child: int) -> int | None:
    """Collect ended processes; return the child's wait status if it has ended."""
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if ended in (0, child):
            return status if ended else None


def wait(child: int) -> int:
    """Return the child's wait status; pass signals on, except a terminal's, which reach the whole group anyway."""
    while True:
        received = signal.sigwaitinfo(PASSED_ON | {signal.SIGCHLD})
        if received.si_signo == signal.SIGCHLD:
            status = reap(child)
            if status is not None:
                return status
        elif received.si_code <= 0:
            os.kill(child, received.si_signo)


def init(command: list[str], mask: t.Iterable[int], parent: int, report: int) -> t.NoReturn:
    """Run as process 1 of the sandbox."""
    try:
        die_with_parent(parent)
        call("unshare", CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC, doing="make namespaces")
        make_file_systems()
        raise_loopback()
        child = os.fork()
        if child == 0:
            run(command, mask)
        os.write(report, struct.pack("i", wait(child)))
    except (SandboxRefused, OSError) as error:
        print(f"sandbox: {error}", file=sys.stderr, flush=True)
        os._exit(125)
    os._exit(0)


def sandboxed(command: list[str]) -> int:
    """Return the wait status of `command`, or of process 1 if that ended before it could report."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON | {signal.SIGCHLD})
    (result, report), (parent, alive) = os.pipe(), os.pipe()
    call("unshare", CLONE_NEWPID, doing="make namespaces")
    child = os.fork()
    if child == 0:
        os.close(alive)
        init(command, mask, parent, report)
    os.close(report)
    own = wait(child)
    reported = os.read(result, 4)
    return struct.unpack("i", reported)[0] if reported else own


def end_like(status: int) -> t.NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def main(arguments: list[str]) -> t.NoReturn:
    try:
        if not arguments:
            raise SandboxRefused("no command is given: sandbox COMMAND [ARG...]")
        if not sys.platform.startswith("linux"):
            raise SandboxRefused(f"it is made of Linux namespaces, and this is {sys.platform}: use a Linux machine")
        if os.geteuid() != 0:
            raise SandboxRefused("it makes namespaces and mounts, which needs root: run it with sudo")
        for name in CNI_VARIABLES:
            os.environ.pop(name, None)
        os.environ["CNI_SANDBOX"] = "1"
        end_like(sandboxed(arguments))
    except SandboxRefused as error:
        print(f"sandbox: {error}", file=sys.stderr)
        sys.exit(125)


if __name__ == "__main__":
    main(sys.argv[1:])
