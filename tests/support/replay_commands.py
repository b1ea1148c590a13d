# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs of the system, and the network namespaces of a node on which recorded cases are replayed."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

HOST = "host"
NAMESPACES = pathlib.Path("/run/netns")
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

_CLONE_NEWNET = 0x40000000


def command(*argv: str) -> str:
    """Run a program of the system, which must succeed; return its output."""
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def command_objects(*argv: str) -> list[JsonObject]:
    """Return the objects that a program prints, without the empty ones that `ip` prints for filtered entries."""
    return [entry for entry in json.loads(command(*argv).strip() or "[]") if entry]


@contextlib.contextmanager
def inside(namespace: str) -> t.Iterator[None]:
    """Run the block, and the programs it starts, in a network namespace. The process must have one thread."""
    with contextlib.ExitStack() as stack:
        here = stack.enter_context(open("/proc/self/ns/net", "rb"))
        if namespace != HOST:
            _enter(stack.enter_context(open(NAMESPACES / namespace, "rb")))
            stack.callback(_enter, here)
        yield


def _enter(namespace: t.IO[bytes]) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"setns: {namespace.name}")


def read_sysctl(sysctl: str) -> str | None:
    # A snapshot reads thousands: `open` would take three times as long.
    try:
        descriptor = os.open(f"/proc/sys/{sysctl}", os.O_RDONLY)
    except OSError:
        return None
    try:
        return os.read(descriptor, 4096).decode("ascii").strip()
    except OSError:
        return None
    finally:
        os.close(descriptor)
