# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node for one test: interfaces, firewall, and the directories of runtimes and modules start empty."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import subprocess
import typing as t
import uuid

from ansible_collections.cni.node.plugins.module_utils._linux import netns, syscall
from ansible_collections.cni.node.tests.support import sandbox

DIRECTORIES = (
    "/run",
    "/etc/cni",
    "/etc/modules-load.d",
    "/etc/netns",
    "/etc/sysctl.d",
    "/etc/systemd/system",
    "/opt/cni",
    "/var/lib/cni",
)
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@contextlib.contextmanager
def empty_node() -> t.Iterator[None]:
    with own_network(), contextlib.ExitStack() as stack:
        for directory in DIRECTORIES:
            pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
            stack.enter_context(tmpfs(directory))
        yield


@contextlib.contextmanager
def reboot() -> t.Iterator[None]:
    """Yield a node as after a reboot: only the disk is kept, and the kernel's boot id is new."""
    with own_network(), tmpfs("/run"):
        boot_id = pathlib.Path("/run/boot_id")
        boot_id.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
        with mount("--bind", str(boot_id), BOOT_ID):
            yield


@contextlib.contextmanager
def own_network() -> t.Iterator[None]:
    """Put this thread and its children into a new network namespace."""
    with return_to_namespace():
        syscall.unshare(syscall.CLONE_NEWNET)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        spare_duplicate_address_detection()
        yield


def spare_duplicate_address_detection() -> None:
    """Turn off duplicate address detection in this namespace; plugins wait for it."""
    pathlib.Path("/proc/sys/net/ipv6/conf/default/accept_dad").write_text("0\n", encoding="ascii")


@contextlib.contextmanager
def inside(namespace: pathlib.Path) -> t.Iterator[None]:
    """Run the block in a network namespace; a socket created there stays there."""
    with return_to_namespace():
        with namespace.open("rb") as opened:
            enter(opened.fileno())
        yield


@contextlib.contextmanager
def return_to_namespace() -> t.Iterator[None]:
    with open("/proc/thread-self/ns/net", "rb") as before:
        try:
            yield
        finally:
            enter(before.fileno())


def enter(namespace: int) -> None:
    # The engine reads the node's own namespaces once: only processes of tests move between them.
    netns._own_namespaces.cache_clear()
    if ctypes.CDLL(None, use_errno=True).setns(namespace, syscall.CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def tmpfs(directory: str | os.PathLike[str], options: str = "") -> t.Iterator[pathlib.Path]:
    """Mount an empty file system for the block.

    Args:
        options: Those of the program mount; without any, only root may write to the directory.
    """
    path = pathlib.Path(directory)
    if options:
        with mount("-t", "tmpfs", "-o", options, "tmpfs", str(path)):
            yield path
        return
    # Every test does this six times.
    sandbox.mount("tmpfs", str(path), "tmpfs", data="mode=755")
    try:
        yield path
    finally:
        unmount(path)


@contextlib.contextmanager
def mount(*arguments: str) -> t.Iterator[None]:
    """Mount for the block; the last argument is the mount point. Mounts below it are unmounted with it."""
    subprocess.run(["mount", *arguments], check=True)
    try:
        yield
    finally:
        unmount(arguments[-1])


def unmount(path: str | os.PathLike[str]) -> None:
    sandbox.call("umount2", os.fsencode(path), sandbox.MNT_DETACH, doing=f"unmount {path}")
