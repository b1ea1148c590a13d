# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service that repairs what attachments lose, as its unit starts it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.boot import watch_unit
from ansible_collections.cni.node.tests.support import libraries

STATE = pathlib.Path("/run/cni-node-watch/state.json")
_READY = pathlib.Path("/run/watch-ready")
_TICKS = os.sysconf("SC_CLK_TCK")


class Watcher:
    """The service, with the lines that it writes to the journal."""

    def __init__(self, *arguments: str, without: str = "") -> None:
        """
        Args:
            without: A capability that the unit gives it, and the test does not.
        """
        with contextlib.suppress(FileNotFoundError):
            _READY.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(_READY))
            ready.settimeout(30)
            self._process = subprocess.Popen(
                [*command(without), *arguments],
                stdout=subprocess.PIPE,
                cwd="/",
                env={"NOTIFY_SOCKET": str(_READY)},
            )
            assert ready.recv(100) == b"READY=1"
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._output = b""
        self.lines: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    def await_line(self, *fragments: str, seconds: float = 20) -> str:
        """Return the first new line that has all fragments."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in self.read():
                if all(fragment in line for fragment in fragments):
                    return line
            time.sleep(0.02)
        raise TimeoutError(f"no line with {fragments} within {seconds} s: {self.lines}")

    def read(self) -> list[str]:
        """Return the lines written since the last call."""
        assert self._process.stdout is not None
        self._output += self._process.stdout.read() or b""
        *lines, self._output = self._output.split(b"\n")
        new = [line.decode() for line in lines]
        self.lines += new
        return new

    def await_idle(self) -> None:
        """Wait until it has no child process and has slept for a second."""
        quiet = time.monotonic()
        before = self.switches()
        while time.monotonic() - quiet < 1:
            time.sleep(0.05)
            if self.switches() != before or self.children():
                before, quiet = self.switches(), time.monotonic()

    def children(self) -> str:
        return pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")

    def switches(self) -> int:
        """Return how often it has gone to sleep."""
        return int(self._status("voluntary_ctxt_switches"))

    def resident(self) -> int:
        """Return the memory that it uses, in KiB."""
        return int(self._status("VmRSS").split()[0])

    def seconds(self) -> tuple[float, float]:
        """Return the seconds of processor time that it has taken, and those of its ended child processes."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        own, of_children = (sum(map(int, fields[start : start + 2])) / _TICKS for start in (11, 13))
        return own, of_children

    def end(self, number: int = signal.SIGTERM) -> int:
        self._process.send_signal(number)
        status = self._process.wait(20)
        self.read()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return status

    def _status(self, key: str) -> str:
        lines = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{key}:"))


def command(without: str = "") -> list[str]:
    """Return the command that starts the service with the capabilities of the unit, except one of them."""
    bounds = ",".join(f"+{name[len('CAP_') :].lower()}" for name in capabilities() if name != without)
    limited = ["setpriv", "--no-new-privs", f"--bounding-set=-all,{bounds}", "--inh-caps=-all", "--"]
    return [*limited, sys.executable, "-I", libraries.describe_checkout().path, "watch"]


def capabilities() -> list[str]:
    """Return the names of the capabilities that the unit gives the service."""
    (line,) = (line for line in watch_unit._TEXT.splitlines() if line.startswith("CapabilityBoundingSet="))
    return line.partition("=")[2].split()


def list_damages(bridge: str, gateway: str, container: str, address: str) -> dict[str, list[list[str]]]:
    """Return the commands that take something away from an attachment.

    Args:
        gateway, address: The addresses of the bridge and of the container, with prefix lengths.
    """
    return {
        "iptables -F": [["iptables", "-t", table, "-F"] for table in ("nat", "filter")],
        "nft flush ruleset": [["nft", "flush", "ruleset"]],
        "ip address del": [["ip", "address", "del", gateway, "dev", bridge]],
        "ip link down": [["ip", "link", "set", bridge, "down"]],
        "ip route del": [["ip", "-n", container, "route", "del", "default"]],
        "ip address del inside": [["ip", "-n", container, "address", "del", address, "dev", "eth0"]],
        "ip link del": [["ip", "link", "del", bridge]],
    }


def make_unrelated_changes() -> None:
    """Make 2,000 changes of links, addresses and rules that no attachment has."""
    links = [f"d{number}" for number in range(10)]
    addresses = [f"192.0.2.{number}/32" for number in range(1, 25)]
    changes = [f"link add name {link} type bridge" for link in links]
    changes += [f"link set {link} up" for link in links]
    changes += [f"address add {address} dev {link}" for link in links for address in addresses]
    changes += [f"address del {address} dev {link}" for link in links for address in addresses]
    changes += [f"link set {link} mtu {1400 + number}" for number in range(49) for link in links]
    changes += [f"link del {link}" for link in links]
    _run("ip", "-batch", "-", lines=changes)
    rule = "add rule inet theirs x ip saddr 192.0.2.1 counter comment"
    _run("nft", "-f", "-", lines=["add table inet theirs", "add chain inet theirs x"])
    _run("nft", "-f", "-", lines=[f'{rule} "{number}"' for number in range(500)])
    _run("nft", "-f", "-", lines=["flush chain inet theirs x"])


def _run(*command: str, lines: t.Sequence[str]) -> None:
    subprocess.run(command, check=True, input="\n".join(lines) + "\n", text=True)


def show(figure: str) -> None:
    """Write a figure of a test, which pytest shows with -s or -rP."""
    sys.stdout.write(f"{figure}\n")


@contextlib.contextmanager
def watch(*arguments: str, without: str = "") -> t.Iterator[Watcher]:
    """Run the service for the block; `without` as for `Watcher`."""
    libraries.provide()
    watcher = Watcher(*arguments, without=without)
    try:
        yield watcher
    finally:
        if watcher._process.poll() is None:
            watcher.end(signal.SIGKILL)
