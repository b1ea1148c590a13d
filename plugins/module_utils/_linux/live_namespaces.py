# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import errno
import ipaddress
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_error
from ansible_collections.cni.node.plugins.module_utils._linux import netns

_NAMESPACE: t.Final = re.compile(r"net:\[(\d+)\]")
_LOOK: t.Final = "look into the network namespace"
_LOCAL: t.Final = re.compile(r"\|-- (\S+)\n\s*/32 host LOCAL")

T = t.TypeVar("T")


class Addresses(t.NamedTuple):
    """The addresses of all these namespaces.

    Attributes:
        found: Each, with the path of a namespace that has it.
        unseen: Why a namespace cannot be looked into, by its path: it may have any address.
    """

    found: dict[str, str]
    unseen: dict[str, CniError]


def reachable_paths() -> dict[int, str]:
    """Return a path to each network namespace that can be reached, by inode number.

    These are the ones that are mounted where we can see it, as ``ip netns`` and runtimes do, and those of every
    process. A namespace that only an open file or another mount namespace keeps has no name here.
    """
    return {**_of_processes(), **mount_points()}


def addresses() -> Addresses:
    """Return every address of these namespaces, the node's own included."""
    addresses = Addresses({}, {})
    for path, found in run_in_each(_own_addresses):
        if isinstance(found, CniError):
            addresses.unseen[path] = found
        else:
            addresses.found.update(dict.fromkeys(found, path))
    return addresses


def run_in_each(look: t.Callable[[], T]) -> t.Iterator[tuple[str, T | CniError]]:
    """Return what something does inside each of these namespaces. One whose path goes meanwhile may have another.

    A namespace that cannot be entered or looked into may be a stranger's: why not is what is returned of it then.
    """
    ways = reachable_paths()
    tried: set[tuple[int, str]] = set()
    while ways:
        tried |= set(ways.items())
        missed = set()
        for inode, path in ways.items():
            try:
                found = netns.run_inside(path, look)
            except (OSError, CniError) as exc:
                if _leads(path, inode):
                    yield path, exc if isinstance(exc, CniError) else io_error(_LOOK, path, exc)
                else:
                    missed.add(inode)
            else:
                yield path, found
        again = reachable_paths() if missed else {}
        ways = {inode: path for inode, path in again.items() if inode in missed and (inode, path) not in tried}


def _leads(path: str, inode: int) -> bool:
    """Tell whether a path leads to a namespace still: a process ends, and a mount is removed."""
    try:
        return os.stat(path).st_ino == inode
    except OSError as exc:
        return exc.errno not in (errno.ENOENT, errno.ESRCH)


def mount_points() -> dict[int, str]:
    """Return a path to each namespace that is mounted where we can see it and no other mount covers, as `live`."""
    found = {}
    # A path may have what Python takes for the end of a line, or for white space.
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for line in lines:
            root, point = line.split(" ")[3:5]
            namespace = _NAMESPACE.fullmatch(root)
            path = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), point)
            if namespace and _leads(path, int(namespace[1])):
                found[int(namespace[1])] = path
    return found


def _of_processes() -> dict[int, str]:
    found = {}
    for entry in os.listdir("/proc"):
        path = f"/proc/{entry}/ns/net"
        if entry.isdigit():
            try:
                found[os.stat(path).st_ino] = path
            except OSError:  # it has ended
                continue
    return found


def _own_addresses() -> set[str]:
    """Read without a program: there may be thousands of namespaces."""
    found = set(_LOCAL.findall(_read("/proc/thread-self/net/fib_trie")))
    for line in _read("/proc/thread-self/net/if_inet6").split("\n")[:-1]:
        digits = line.partition(" ")[0]
        found.add(str(ipaddress.ip_address(":".join(digits[start : start + 4] for start in range(0, 32, 4)))))
    return found


def _read(path: str) -> str:
    try:
        # The last word of a line may be the name of a link, which has any bytes.
        with open(path, encoding="ascii", errors="surrogateescape", newline="\n") as stream:
            return stream.read()
    except FileNotFoundError:  # the kernel lacks this family
        return ""


__all__ = ("Addresses", "addresses", "mount_points", "reachable_paths", "run_in_each")
