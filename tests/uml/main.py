# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run one command in the sandbox of a machine of User Mode Linux: a kernel that runs as a process.

The kernel is Debian's, from the package user-mode-linux. It has dummy, vlan, ipvlan, vrf and a bridge's VLAN filter as
modules, whatever the kernel of the host has. It has nftables for bridges only: iptables is the legacy one.

The machine's root file system is an overlay over the host's root; what is written to it is lost. The command runs there
in tests/support/sandbox. It has no network, one processor, an empty standard input, and this process's environment.

CNI_SANDBOX_OUT=DIR names an existing directory of the host; files written there are kept.
CNI_UML_LIMIT=SECONDS switches the machine off after this time; the default is 1800.

The exit status is the command's; a command killed by a signal kills this process with the same signal.
125 is a machine that failed, 124 one that took too long; the error shows the end of its console.
The machine ends with this process, which ends with its parent, SIGKILL included. Nothing is left.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import selectors
import shutil
import signal
import sys
import time
import typing as t

from ansible_collections.cni.node.tests.support import sandbox

PROGRAM = "linux.uml"
MEMORY = "1500M"
LIMIT = "1800"
# A tmpfs of this process alone, which has the machine's memory, its sockets and the files that it shares with the host.
SHARED = pathlib.Path("/dev/shm")
ORDER, STATUS = SHARED / "order.json", SHARED / "status"
CONSOLE_TAIL = 4000  # bytes
OUTPUTS = (1, 2)
CLONE_NEWUSER = 0x10000000


class Machine(t.NamedTuple):
    """A running machine: the process of its kernel, and the pipes of its console, standard output and standard error."""

    pid: int
    console: int
    outputs: tuple[int, int]


def find_obstacle() -> str:
    """Return why the machine cannot run on this processor, or an empty string."""
    if "amx_tile" in pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"):
        return "the kernel of user-mode-linux has no room for the registers of a processor with AMX, and panics"
    return ""


def end_with_parent() -> None:
    parent = os.getppid()
    sandbox.call("prctl", sandbox.PR_SET_PDEATHSIG, signal.SIGKILL, doing="tie the machine to its parent")
    if os.getppid() != parent:
        os._exit(125)


def write_order(command: t.Sequence[str]) -> None:
    """Write what the machine's first process needs."""
    order = {
        "command": list(command),
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "out": os.path.realpath(os.environ["CNI_SANDBOX_OUT"]) if "CNI_SANDBOX_OUT" in os.environ else None,
    }
    ORDER.write_text(json.dumps(order), encoding="utf-8")


def make_namespaces() -> None:
    """Enter a mount namespace with an empty /dev/shm, and let child processes begin a PID namespace."""
    user, group = os.geteuid(), os.getegid()
    flags = sandbox.CLONE_NEWNS | sandbox.CLONE_NEWPID
    sandbox.call("unshare", flags | (CLONE_NEWUSER if user else 0), doing="make namespaces")
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path("/proc/self", name).write_text(text, encoding="ascii")
    sandbox.mount("none", "/", flags=sandbox.MS_REC | sandbox.MS_PRIVATE)
    sandbox.mount("tmpfs", str(SHARED), "tmpfs", sandbox.MS_NOSUID | sandbox.MS_NODEV, "mode=700")


def start(program: str) -> Machine:
    (console, console_end), (out, out_end), (error, error_end) = os.pipe(), os.pipe(), os.pipe()
    parent, alive = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(alive)
        sandbox.die_with_parent(parent)
        # The kernel's signals, such as that of a panic, do not end the first process of a PID namespace.
        kernel = os.fork()
        if kernel == 0:
            run(program, console_end, (out_end, error_end))
        os.waitpid(kernel, 0)
        os._exit(0)
    for end in (console_end, out_end, error_end, parent):
        os.close(end)
    return Machine(pid, console, (out, error))


def run(program: str, console: int, outputs: tuple[int, int]) -> t.NoReturn:
    """Become the machine."""
    for end in outputs:
        os.set_inheritable(end, True)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor in OUTPUTS:
        os.dup2(console, descriptor)
    # The processes of the machine take turns: on one processor, this costs half as much.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # A kernel that panics aborts.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    words = [f"mem={MEMORY}", f"uml_dir={SHARED}/", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]
    words += ["quiet", "con=null", "con0=null,fd:1", "ssl=null"]
    words += [f"ssl{number}=null,fd:{end}" for number, end in enumerate(outputs)]
    words += [f'init="{sys.executable}"', "--", "-B", "-m", f"{__package__}.init"]
    os.execve(program, [PROGRAM, *words], {"PATH": os.defpath, "HOME": str(SHARED)})


def follow(machine: Machine, deadline: float) -> tuple[bool, str]:
    """Pass the output on until the machine ends; return whether it ended in time, and the end of its console."""
    tail = b""
    with selectors.DefaultSelector() as selector:
        for end, target in zip((machine.console, *machine.outputs), (0, *OUTPUTS)):
            selector.register(end, selectors.EVENT_READ, target)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return False, tail.decode(errors="replace")
            for key, _events in ready:
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fd)
                elif key.data:
                    write(key.data, data)
                else:
                    tail = (tail + data)[-CONSOLE_TAIL:]
    return True, tail.decode(errors="replace")


def write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def read_status() -> int | None:
    """Return the wait status that the machine has written, or None."""
    try:
        return int(STATUS.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None


def run_in_machine(command: t.Sequence[str]) -> int:
    """Return the wait status of the command."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise sandbox.SandboxRefused(f"{PROGRAM} is missing: install the package user-mode-linux")
    limit = os.environ.get("CNI_UML_LIMIT", LIMIT)
    deadline = time.monotonic() + float(limit)
    end_with_parent()
    make_namespaces()
    write_order(command)
    machine = start(program)
    try:
        in_time, console = follow(machine, deadline)
    finally:
        os.kill(machine.pid, signal.SIGKILL)
        os.waitpid(machine.pid, 0)
    if not in_time:
        print(f"uml: the machine was switched off after {limit} s; {describe(console)}", file=sys.stderr)
        sys.exit(124)
    status = read_status()
    if status is None:
        raise sandbox.SandboxRefused(f"the machine ended before the command; {describe(console)}")
    return status


def describe(console: str) -> str:
    return f"the end of its console:\n{console.strip()}" if console.strip() else "its console is empty"


def main(arguments: list[str]) -> t.NoReturn:
    try:
        if not arguments:
            raise sandbox.SandboxRefused("no command is given: uml COMMAND [ARG...]")
        sandbox.end_like(run_in_machine(arguments))
    except (sandbox.SandboxRefused, OSError) as error:
        print(f"uml: {error}", file=sys.stderr)
        sys.exit(125)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main(sys.argv[1:])
