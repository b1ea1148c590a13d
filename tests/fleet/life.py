# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Create, lose, restart and remove nodes."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import typing as t

from ansible_collections.cni.node.tests.fleet import fleet_node
from ansible_collections.cni.node.tests.fleet.place import (
    BRIDGE,
    SUBNET,
    FleetNode,
    FleetRefused,
    client_key,
    known_hosts,
    places,
)
from ansible_collections.cni.node.tests.support import sandbox
from ansible_collections.cni.node.tests.support.until import until

MAXIMUM = 1000  # a Linux bridge has 1024 ports


def up(fleet: pathlib.Path, count: int) -> None:
    """Create `count` new nodes; if one fails, remove them all."""
    if not 0 < count <= MAXIMUM:
        raise FleetRefused(f"a fleet of {count} nodes is not possible: ask for 1 to {MAXIMUM}")
    if fleet.exists():
        raise FleetRefused(f"a fleet is there already, in {fleet}: take it down first")
    try:
        _prepare(fleet)
        nodes = [FleetNode(fleet, number) for number in range(1, count + 1)]
        for node in nodes:
            node.top.mkdir(parents=True)
            _make_key(node.host_key, node.name)
        _write_known_hosts(fleet, nodes)
        start(nodes)
    except BaseException:
        down(fleet)
        raise


def down(fleet: pathlib.Path) -> None:
    """Remove the fleet, even if only a part of it exists."""
    lose(places(fleet))
    _unplug([BRIDGE, *(node.name for node in places(fleet))])
    shutil.rmtree(fleet, ignore_errors=True)


def lose(nodes: t.Sequence[FleetNode]) -> None:
    """Kill nodes without notice, as a power failure does; their disks stay."""
    for node in nodes:
        if pid := pid_of(node):
            os.kill(pid, signal.SIGKILL)
    for node in nodes:
        until(lambda node=node: None if pid_of(node) else True)  # type: ignore[misc]
        node.process.unlink(missing_ok=True)


def start(nodes: t.Sequence[FleetNode]) -> None:
    """Start nodes with their disks; return when each accepts logins."""
    _unplug([node.name for node in nodes])
    running = [_fork(node) for node in nodes]
    for child in running:
        child.expect("made")
    _ip([line for node in nodes for line in _wiring(node)])
    for child in running:
        os.write(child.wired, b"!")
    for child in running:
        child.expect("up")
        child.close()
    for node_up in nodes:
        until(lambda node_up=node_up: _answers(node_up))  # type: ignore[misc]


def pid_of(place: FleetNode) -> int | None:
    """Return the pid of the node's process 1 as seen from here, or None if it has ended."""
    if not place.process.exists():
        return None
    pid, inode = map(int, place.process.read_text(encoding="utf-8").split())
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        return pid if state != "Z" and os.stat(f"/proc/{pid}/ns/pid").st_ino == inode else None
    except OSError:
        return None


class _Running(t.NamedTuple):
    name: str
    wired: int
    report: int

    def expect(self, word: str) -> None:
        message = os.read(self.report, 4096).decode()
        if message != word:
            raise FleetRefused(message or f"{self.name} ended at once: see its log")

    def close(self) -> None:
        os.close(self.wired)
        os.close(self.report)


def _fork(place: FleetNode) -> _Running:
    """Fork the node through a child that creates its PID namespace, so that the sandbox adopts process 1."""
    (wait, wired), (report, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _become(place, wait, tell, wired, report)
    os.close(wait)
    os.close(tell)
    if os.waitpid(child, 0)[1] != 0:
        raise FleetRefused(os.read(report, 4096).decode() or f"{place.name} could not be started")
    return _Running(place.name, wired, report)


def _become(place: FleetNode, wait: int, tell: int, *others: int) -> t.NoReturn:
    try:
        for descriptor in others:
            os.close(descriptor)
        os.setsid()
        _redirect(place.log)
        sandbox.call("unshare", sandbox.CLONE_NEWPID, doing="make the namespaces of a node")
        pid = os.fork()
        if pid == 0:
            fleet_node.start(place, wait, tell)
        place.process.write_text(f"{pid} {os.stat(f'/proc/{pid}/ns/pid').st_ino}", encoding="utf-8")
        os._exit(0)
    except (sandbox.SandboxRefused, OSError) as error:
        os.write(tell, f"{place.name}: {error}".encode())
        os._exit(1)


def _redirect(log: pathlib.Path) -> None:
    """Redirect the output, so that readers of `fleet up` do not wait for the nodes' end."""
    null, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, descriptor in ((0, null), (1, output), (2, output)):
        os.dup2(descriptor, number)


def _prepare(fleet: pathlib.Path) -> None:
    fleet.mkdir(mode=0o700)
    _make_key(client_key(fleet), "fleet")
    _ip([f"link add {BRIDGE} type bridge", f"address add {SUBNET[1]}/16 dev {BRIDGE}", f"link set {BRIDGE} up"])


def _make_key(path: pathlib.Path, comment: str) -> None:
    if not shutil.which("ssh-keygen"):
        raise FleetRefused("ssh-keygen is missing: install openssh-client")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path], check=True)


def _write_known_hosts(fleet: pathlib.Path, nodes: t.Sequence[FleetNode]) -> None:
    keys = [f"{node.address} {node.host_key.with_suffix('.pub').read_text(encoding='utf-8')}" for node in nodes]
    known_hosts(fleet).write_text("".join(keys), encoding="utf-8")


def _wiring(place: FleetNode) -> list[str]:
    return [
        f"link add {place.name} type veth peer name eth0 address {place.mac} netns {pid_of(place)}",
        f"link set {place.name} master {BRIDGE} up",
    ]


def _unplug(links: t.Sequence[str]) -> None:
    """Delete the links of nodes; the kernel would remove them only later."""
    for link in links:
        until(lambda link=link: not _is_link(link) or _deleted(link))  # type: ignore[misc]


def _deleted(link: str) -> bool | None:
    return subprocess.run(["ip", "link", "delete", link], check=False, capture_output=True).returncode == 0 or None


def _is_link(name: str) -> bool:
    return os.path.isdir(f"/sys/class/net/{name}")


def _ip(lines: t.Sequence[str]) -> None:
    """Run `ip` commands as one batch."""
    if not shutil.which("ip"):
        raise FleetRefused("ip is missing: install iproute2")
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), check=False, capture_output=True, text=True)
    if done.returncode != 0:
        message = re.sub(r"Command failed -:(\d+)", lambda line: f"in: ip {lines[int(line[1]) - 1]}", done.stderr)
        raise FleetRefused(f"the nodes cannot be wired: {' '.join(message.split())}")


def _answers(place: FleetNode) -> bool | None:
    if not pid_of(place):
        raise FleetRefused(f"{place.name}: its sshd ended: {place.log.read_text(encoding='utf-8').strip()}")
    try:
        with socket.create_connection((place.address, 22), timeout=1) as connection:
            return True if connection.recv(4) == b"SSH-" else None
    except OSError:
        return None
