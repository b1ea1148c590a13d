# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The running machine: an emulator, reached over SSH at one port of this machine's loopback.

The image stays unchanged: writes go to a temporary file, which lasts until the machine is off and survives
reboots. The machine reaches no network. It ends with the sandbox.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import subprocess

from ansible_collections.cni.node.tests.support.until import until
from ansible_collections.cni.node.tests.vm.image import ImageRefused, ready

DIRECTORY = pathlib.Path("/run/vm")
PORT = 2222
# An emulated processor has one clock, and translates a program again for each address that it is loaded at.
KERNEL_OPTIONS = "root=/dev/vda rw console=ttyS0 net.ifnames=0 quiet tsc=reliable norandmaps no5lvl mitigations=off"
# Seconds, enough for full emulation on a busy machine.
BOOT_TIME, PROBE_TIME = 300, 15


def up() -> None:
    image = ready()
    if not image:
        raise ImageRefused("there is no image of the machine: run `make vm`, which makes it")
    if DIRECTORY.exists():
        raise ImageRefused(f"a machine is there already, in {DIRECTORY}: take it down first")
    DIRECTORY.mkdir(mode=0o700)
    shutil.copy(image / "client_key", DIRECTORY / "client_key")
    host_key = (image / "host_key.pub").read_text(encoding="utf-8")
    (DIRECTORY / "known_hosts").write_text(f"[127.0.0.1]:{PORT} {host_key}", encoding="utf-8")
    subprocess.run(_command(image), check=True)
    try:
        until(_answers, seconds=BOOT_TIME)
    except TimeoutError as error:
        last_lines = _read_last_lines()
        down()
        raise ImageRefused(
            f"the machine does not answer after {BOOT_TIME} s, and was switched off: {last_lines}"
        ) from error


def down() -> None:
    pid = _pid()
    if pid:
        os.kill(pid, signal.SIGKILL)
        until(lambda: None if _pid() else True)
    shutil.rmtree(DIRECTORY, ignore_errors=True)


def _command(image: pathlib.Path) -> list[str]:
    forward = f"hostfwd=tcp:127.0.0.1:{PORT}-:22"
    return [
        *_emulator(image, _accelerator(image)),
        *("-initrd", str(image / "initrd.img"), "-append", KERNEL_OPTIONS),
        *("-drive", f"file={image / 'disk.img'},format=raw,if=virtio,snapshot=on,cache=unsafe"),
        *("-netdev", f"user,id=net0,restrict=on,{forward}", "-device", "virtio-net-pci,netdev=net0"),
        *("-device", "virtio-rng-pci", "-serial", f"file:{DIRECTORY / 'console'}"),
        *("-daemonize", "-pidfile", str(DIRECTORY / "pid")),
    ]


def _emulator(image: pathlib.Path, accelerator: str) -> list[str]:
    program = f"qemu-system-{os.uname().machine}"
    if not shutil.which(program):
        raise ImageRefused(f"{program} is missing: install qemu-system-x86")
    plain = ["-display", "none", "-monitor", "none", "-nodefaults", "-cpu", "max", "-smp", "2", "-m", "1024"]
    return [program, "-accel", accelerator, *plain, "-kernel", str(image / "vmlinuz")]


def _accelerator(image: pathlib.Path) -> str:
    """Return KVM if a kernel boots on it, else TCG; nested KVM may exist and not work. Tested once per image."""
    known = image / "accelerator"
    if not known.exists():
        known.write_text("kvm" if _boots_on_kvm(image) else "tcg,thread=multi", encoding="utf-8")
    return known.read_text(encoding="utf-8")


def _boots_on_kvm(image: pathlib.Path) -> bool:
    """Return whether a kernel without a disk gets as far as its panic, which ends the emulator."""
    command = [*_emulator(image, "kvm"), "-append", "panic=-1", "-no-reboot", "-serial", "none"]
    try:
        return subprocess.run(command, check=False, capture_output=True, timeout=PROBE_TIME).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _pid() -> int | None:
    try:
        pid = int((DIRECTORY / "pid").read_text(encoding="utf-8"))
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return None
    return None if state == "Z" else pid


def _answers() -> bool | None:
    if not _pid():
        raise ImageRefused(f"the machine ended: {_read_last_lines()}")
    try:
        with socket.create_connection(("127.0.0.1", PORT), timeout=5) as connection:
            return True if connection.recv(4) == b"SSH-" else None
    except OSError:
        return None


def _read_last_lines() -> str:
    return (DIRECTORY / "console").read_text(encoding="utf-8", errors="replace")[-500:]
