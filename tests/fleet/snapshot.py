# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare a node with a snapshot: every file and the kernel's state."""

from __future__ import annotations

import fnmatch
import json
import os
import pathlib
import re
import stat
import typing as t

from ansible_collections.cni.node.tests.fleet.fleet_node import UNSEEN
from ansible_collections.cni.node.tests.fleet.life import pid_of
from ansible_collections.cni.node.tests.fleet.place import FleetNode, FleetRefused
from ansible_collections.cni.node.tests.support import sandbox
from ansible_collections.cni.node.tests.support.state import State, file_line, node_state

NAMESPACES = ("net", "mnt", "pid")
# Files that logins, Ansible and Python leave, and the library, which any task may install.
INCIDENTAL = re.compile(r"^(root/\.ansible|var/log|tmp|run|opt/cni/lib)(/|$)|^opt/cni$|(^|/)__pycache__(/|$)")

# Counters, and the sysctls of single links, which come and go with the link.
VOLATILE = re.compile(r"/(conf|neigh)/(?!all/|default/)|nf_conntrack_count|/route/|random")


def take(nodes: t.Sequence[FleetNode]) -> None:
    for node in nodes:
        _snapshot_file(node).write_text(json.dumps(state(node).sections), encoding="utf-8")


def compare(nodes: t.Sequence[FleetNode], ignored: t.Sequence[str] = (), without: t.Sequence[str] = ()) -> str:
    """Return the differences, or an empty string; `ignored` are regular expressions of lines, `without` sections."""
    pattern = "|".join(ignored) or r"(?!)"
    sections = []
    for node in nodes:
        if not _snapshot_file(node).exists():
            raise FleetRefused(f"there is no snapshot of {node.name}: take one first")
        before = State(json.loads(_snapshot_file(node).read_text(encoding="utf-8")))
        difference = _counting(before, pattern, without).difference(_counting(state(node), pattern, without))
        sections += [f"{node.name}:\n{difference}\n"] if difference else []
    return "".join(sections)


def _counting(whole: State, pattern: str, without: t.Sequence[str]) -> State:
    return State({name: lines for name, lines in whole.sections.items() if name not in without}).without(pattern)


def state(node: FleetNode) -> State:
    """Return the node's state. Its files are those that differ from the machine's; CNI files of the machine count as absent."""
    return State({**_inside(node), "files": files(node.upper, pathlib.Path(sandbox.MACHINE), UNSEEN)})


def _snapshot_file(node: FleetNode) -> pathlib.Path:
    return node.top / "snapshot.json"


def files(upper: pathlib.Path, lower: pathlib.Path, unseen: t.Sequence[str] = ()) -> list[str]:
    """Return a line for each path at which an overlay's upper layer changes the lower one.

    `unseen` are patterns of absolute paths that were removed before the node was first used, and so count as if the
    lower layer had never had them.
    """
    hidden = re.compile(
        "|".join(fnmatch.translate(pattern) for path in unseen for pattern in (path, f"{path}/*")) or r"(?!)"
    )
    lines = []
    for directory, below, names in os.walk(upper):
        inside = os.path.relpath(directory, upper)
        changed = {*below, *names, *(_listed(lower / inside) if _is_opaque(directory) else ())}
        for path in (os.path.normpath(os.path.join(inside, name)) for name in changed):
            before, now = "" if hidden.match(f"/{path}") else _line(lower, path), _line(upper, path)
            if before != now and not INCIDENTAL.search(path):
                lines.append(now or f"{path} is gone")
    return sorted(lines)


def _line(top: pathlib.Path, path: str) -> str:
    """Return the line of a path, or an empty string; a directory has only kind, owner and mode."""
    try:
        status = (top / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    is_whiteout = stat.S_ISCHR(status.st_mode) and status.st_rdev == 0
    return "" if is_whiteout else file_line(top / path, str(top), identity=False)


def _listed(directory: pathlib.Path) -> list[str]:
    return os.listdir(directory) if directory.is_dir() else []


def _is_opaque(directory: str) -> bool:
    try:
        return os.getxattr(directory, "trusted.overlay.opaque") == b"y"
    except OSError:
        return False


def _inside(node: FleetNode) -> dict[str, list[str]]:
    """Return the network, mounts and sysctls as a process on the node sees them."""
    pid = pid_of(node)
    if not pid:
        raise FleetRefused(f"{node.name} is not up")
    handles = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in NAMESPACES]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _write_state(handles, writer)
    for descriptor in (*handles, writer):
        os.close(descriptor)
    with os.fdopen(reader, encoding="utf-8") as stream:
        text = stream.read()
    if os.waitpid(child, 0)[1] != 0:
        raise FleetRefused(f"{node.name} does not show its state: {text}")
    return t.cast("dict[str, list[str]]", json.loads(text))


def _write_state(handles: t.Sequence[int], stream: int) -> t.NoReturn:
    """Write the state from a child process: only a child is in the PID namespace that its parent has entered."""
    status = 1
    with os.fdopen(stream, "w", encoding="utf-8") as out:
        try:
            for handle in handles:
                sandbox.call("setns", handle, 0, doing="enter a node")
            child = os.fork()
            if child:
                os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)
            os.chdir("/")
            out.write(json.dumps({**node_state().sections, "sysctls": sysctls()}))
            status = 0
        except Exception as error:  # printed by the parent process
            out.write(f"{type(error).__name__}: {error}")
    os._exit(status)


def sysctls() -> list[str]:
    """Return the sysctls of the network; the others are the machine's."""
    lines = []
    for directory, dummy, names in os.walk("/proc/sys/net"):
        for path in (os.path.join(directory, name) for name in names):
            try:
                lines.append(f"{path} {pathlib.Path(path).read_text(encoding='utf-8').strip()}")
            except (OSError, UnicodeDecodeError):
                continue  # some are write-only
    return sorted(line for line in lines if not VOLATILE.search(line))
