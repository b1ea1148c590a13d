# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Look at the legacy tables of iptables, about whose changes the kernel does not notify."""

from __future__ import annotations

import contextlib
import socket
import typing as t

# The tables that exist in the network namespace; the files exist only in kernels with legacy tables.
_NAMES = (
    (socket.AF_INET, socket.SOL_IP, "/proc/net/ip_tables_names"),
    (socket.AF_INET6, 41, "/proc/net/ip6_tables_names"),
)
# linux/netfilter_ipv4/ip_tables.h: IPT_SO_GET_INFO, and struct ipt_getinfo with the number and size of a table's rules.
_GET_INFO = 64
_NAME_SIZE, _INFO_SIZE = 32, 84


def list_tables() -> list[tuple[int, int, str]]:
    """Return protocol family, level of socket options and name of each legacy table."""
    tables: list[tuple[int, int, str]] = []
    for family, level, path in _NAMES:
        with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as names:
            tables += [(family, level, name.strip()) for name in names]
    return tables


def digest() -> t.Hashable:
    """Return what differs after a rule was added or removed; an empty tuple without legacy tables."""
    return tuple((family, name, _read_info(family, level, name)) for family, level, name in list_tables())


def _read_info(family: int, level: int, name: str) -> bytes:
    import ctypes  # needed on few nodes, and large

    content = ctypes.create_string_buffer(name.encode("ascii", "replace")[: _NAME_SIZE - 1], _INFO_SIZE)
    size = ctypes.c_uint(_INFO_SIZE)
    # Without room for another socket, the table counts as changed.
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as connection:
        libc = ctypes.CDLL(None)
        if libc.getsockopt(connection.fileno(), level, _GET_INFO, content, ctypes.byref(size)) == 0:
            return content.raw
    return b""
