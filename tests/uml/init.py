# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The first process of the machine: make the root file system, run the command in the sandbox, and switch off."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import termios
import traceback
import tty
import typing as t

from ansible_collections.cni.node.tests.support import sandbox
from ansible_collections.cni.node.tests.uml.main import ORDER, SHARED, STATUS

MODULES = "/usr/lib/uml/modules"
# What no program loads on demand; the rest is loaded by the kernel.
LOADED = ("overlay", "ipv6")
# A mount point of the host's root file system, which is read-only here.
STAGE = pathlib.Path("/mnt")
ROOT = STAGE / "root"
SANDBOX = pathlib.Path(sandbox.__file__).with_suffix("")
SHARED_HERE = STAGE / "shared"
KEPT = "run/uml"
OUTPUTS = ("ttyS0", "ttyS1")
LEGACY = ("iptables", "ip6tables")
LINUX_REBOOT_CMD_POWER_OFF = 0x4321FEDC


def read_order() -> t.Any:
    sandbox.mount("tmpfs", str(STAGE), "tmpfs")
    SHARED_HERE.mkdir()
    sandbox.mount("none", str(SHARED_HERE), "hostfs", data=str(SHARED))
    return json.loads((SHARED_HERE / ORDER.name).read_text(encoding="utf-8"))


def make_root(out: str | None) -> None:
    """Make an overlay over the host's root file system, and change to it."""
    sandbox.mount("proc", "/proc", "proc")
    for name in ("upper", "work", "root", "lib"):
        (STAGE / name).mkdir()
    (STAGE / "lib/modules").symlink_to(MODULES)
    subprocess.run(["modprobe", "--dirname", str(STAGE), "--all", *LOADED], check=True)
    layers = f"lowerdir=/,upperdir={STAGE}/upper,workdir={STAGE}/work"
    sandbox.mount("overlay", str(ROOT), "overlay", data=layers)
    for kind, name, options in (
        ("proc", "proc", None),
        ("sysfs", "sys", None),
        ("tmpfs", "run", "mode=755"),
        ("devtmpfs", "dev", None),
        ("tmpfs", "dev/shm", "mode=1777"),
        ("devpts", "dev/pts", "ptmxmode=666"),
    ):
        (ROOT / name).mkdir(exist_ok=True)
        sandbox.mount(kind, f"{ROOT}/{name}", kind, data=options)
    mount_modules()
    (ROOT / KEPT).mkdir()
    sandbox.mount(str(SHARED_HERE), f"{ROOT}/{KEPT}", flags=sandbox.MS_BIND)
    if out:
        os.makedirs(f"{ROOT}{out}", exist_ok=True)
        sandbox.mount("none", f"{ROOT}{out}", "hostfs", data=out)
    use_legacy_iptables()
    old = ROOT / "run/host"
    old.mkdir()
    sandbox.call("pivot_root", bytes(ROOT), bytes(old), doing=f"change to {ROOT}")
    os.chdir("/")
    sandbox.call("umount2", b"/run/host", sandbox.MNT_DETACH, doing="hide the host's root file system")


def mount_modules() -> None:
    """Put the modules where the kernel and everyone else looks for them."""
    directory = ROOT / "usr/lib/modules"
    directory.mkdir(exist_ok=True)
    sandbox.mount(MODULES, str(directory), flags=sandbox.MS_BIND)


def use_legacy_iptables() -> None:
    """Let iptables be the program of the old tables: the kernel has no nftables for IP."""
    for name in LEGACY:
        for part in ("", "-save", "-restore"):
            alternative = ROOT / f"etc/alternatives/{name}{part}"
            legacy = shutil.which(f"{name}-legacy{part}")
            if legacy and alternative.is_symlink():
                alternative.unlink()
                alternative.symlink_to(legacy)


class Output:
    """A pipe to a terminal that leads to the host; a command whose output is a pipe does not format it."""

    def __init__(self, name: str) -> None:
        self._terminal = os.open(f"/dev/{name}", os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._terminal)
        self.pipe, end = reversed(os.pipe())
        self._copy = subprocess.Popen(["cat"], stdin=end, stdout=self._terminal)
        os.close(end)

    def finish(self) -> None:
        """Wait until everything is with the host."""
        os.close(self.pipe)
        self._copy.wait()
        termios.tcdrain(self._terminal)


def run_command(command: t.Sequence[str], directory: str, environment: t.Mapping[str, str]) -> int:
    """Return the wait status of a command that runs in the sandbox."""
    outputs = [Output(name) for name in OUTPUTS]
    pid = os.fork()
    if pid == 0:
        try:
            os.chdir(directory)
            for target, descriptor in enumerate(
                (os.open(os.devnull, os.O_RDONLY), *(output.pipe for output in outputs))
            ):
                os.dup2(descriptor, target)
            os.execve(SANDBOX, [str(SANDBOX), *command], dict(environment))
        except OSError as error:
            os.write(2, f"uml: cannot run the command in {directory}: {error}\n".encode())
        os._exit(125)
    status = os.waitpid(pid, 0)[1]
    for output in outputs:
        output.finish()
    return status


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    order = read_order()
    make_root(order["out"])
    status = run_command(order["command"], order["directory"], order["environment"])
    pathlib.Path("/", KEPT, STATUS.name).write_text(str(status), encoding="ascii")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    ctypes.CDLL(None).reboot(LINUX_REBOOT_CMD_POWER_OFF)
