# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""All network namespaces that can be reached by a process or a mount, and their addresses."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, io_error
from ansible_collections.cni.node.plugins.module_utils._linux import netns

_NAMESPACE = re.compile(r"net:\[(\d+)\]")
_READ = "read the network namespace"
_LOCAL = re.compile(r"\|-- (\S+)\n\s*/32 host LOCAL")

T = t.TypeVar("T")


class NetnsAddresses(t.NamedTuple):
    """The addresses of all reachable namespaces.

    Attributes:
        netns_by_address: The path of a namespace that has the address, by address.
        unreadable: The error of each namespace that cannot be read, by path; it may have any address.
    """

    netns_by_address: dict[str, str]
    unreadable: dict[str, CniError]


def reachable_paths() -> dict[int, str]:
    """Return a path to each reachable network namespace, by inode number.

    Namespaces of processes and those mounted in this mount namespace, as by ``ip netns`` and runtimes, are reachable.
    A namespace kept only by an open file or by another mount namespace has no path.
    """
    return {**_list_process_paths(), **mount_points()}


def addresses() -> NetnsAddresses:
    """Return every address of the reachable namespaces, the node's own included."""
    addresses = NetnsAddresses({}, {})
    for path, outcome in run_in_each(_own_addresses):
        if isinstance(outcome, CniError):
            addresses.unreadable[path] = outcome
        else:
            addresses.netns_by_address.update(dict.fromkeys(outcome, path))
    return addresses


def run_in_each(operation: t.Callable[[], T]) -> t.Iterator[tuple[str, T | CniError]]:
    """Yield the path of each reachable namespace and the result of an operation inside it.

    If a path disappears meanwhile, another path to the same namespace is tried. A namespace that cannot be entered may
    belong to another user; the error is yielded in place of the result.
    """
    paths = reachable_paths()
    tried: set[tuple[int, str]] = set()
    while paths:
        tried |= set(paths.items())
        missed = set()
        for inode, path in paths.items():
            try:
                result = netns.run_inside(path, operation)
            except (OSError, CniError) as exc:
                if _leads_to(path, inode):
                    yield path, exc if isinstance(exc, CniError) else io_error(_READ, path, exc)
                else:
                    missed.add(inode)
            else:
                yield path, result
        current_paths = reachable_paths() if missed else {}
        paths = {inode: path for inode, path in current_paths.items() if inode in missed and (inode, path) not in tried}


def _leads_to(path: str, inode: int) -> bool:
    """Return whether a path still leads to a namespace; processes end and mounts are removed."""
    try:
        return os.stat(path).st_ino == inode
    except OSError as exc:
        return exc.errno not in (errno.ENOENT, errno.ESRCH)


def mount_points() -> dict[int, str]:
    """Return the visible mount point of each mounted namespace, by inode number."""
    points = {}
    # A path may contain characters that Python treats as line breaks or white space.
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for line in lines:
            root, point = line.split(" ")[3:5]
            namespace = _NAMESPACE.fullmatch(root)
            path = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), point)
            if namespace and _leads_to(path, int(namespace[1])):
                points[int(namespace[1])] = path
    return points


def _list_process_paths() -> dict[int, str]:
    paths = {}
    for entry in os.listdir("/proc"):
        path = f"/proc/{entry}/ns/net"
        if entry.isdigit():
            try:
                paths[os.stat(path).st_ino] = path
            except OSError:  # it has ended
                continue
    return paths


def _own_addresses() -> set[str]:
    """Return the addresses of this thread's namespace from /proc, which is fast enough for thousands of namespaces."""
    own = set(_LOCAL.findall(_read("/proc/thread-self/net/fib_trie")))
    for line in _read("/proc/thread-self/net/if_inet6").split("\n")[:-1]:
        digits = line.partition(" ")[0]
        own.add(str(ipaddress.ip_address(":".join(digits[start : start + 4] for start in range(0, 32, 4)))))
    return own


def _read(path: str) -> str:
    try:
        # The last word of a line may be the name of a link, which may contain any bytes.
        with open(path, encoding="ascii", errors="surrogateescape", newline="\n") as stream:
            return stream.read()
    except FileNotFoundError:  # the kernel lacks this family
        return ""
