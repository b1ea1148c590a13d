# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Let the kernel handle a packet as if it had arrived on a link."""

from __future__ import annotations

import ctypes
import os
import struct

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import syscall

# linux/bpf.h
_PROG_LOAD, _PROG_TEST_RUN = 5, 10
_XDP = 6
_LIVE_FRAMES = 2
# r0 = XDP_PASS; exit
_PASS = struct.pack("=BBhi", 0xB7, 0, 0, 2) + struct.pack("=BBhi", 0x95, 0, 0, 0)
_LICENSE = b"GPL\0"
# The parts of `union bpf_attr`, and `struct xdp_md`.
_LOAD = struct.Struct("=IIQQ")
_RUN = struct.Struct("=IIIIQQIIIIQQIII")
_CONTEXT = struct.Struct("=IIIIII")
_ETHERTYPES = {4: b"\x08\x00", 6: b"\x86\xdd"}
_SENDER = b"\x02\0\0\0\0\x01"


def inject(ifindex: int, mac: str, packet: bytes) -> None:
    """Let the kernel handle an IP packet as if a link of this thread's network namespace had received it.

    A program of BPF that lets every packet pass is run with it; nothing is attached to the link. Filters of ``tc`` see the packet,
    a program that is attached to the link does not.

    Args:
        mac: The address of the link, with colons.

    Raises:
        CniError: ``NOT_AVAILABLE``: the kernel cannot do that, or the link does not carry Ethernet.
    """
    address = bytes.fromhex(mac.replace(":", ""))
    if len(address) != 6:
        raise CniError(Code.NOT_AVAILABLE, "the link carries no Ethernet")
    frame = address + _SENDER + _ETHERTYPES[packet[0] >> 4] + packet
    context = _CONTEXT.pack(0, len(frame), 0, ifindex, 0, 0)
    code, terms, content, place = (
        ctypes.create_string_buffer(each, len(each)) for each in (_PASS, _LICENSE, frame, context)
    )
    try:
        program = syscall.bpf(_PROG_LOAD, _LOAD.pack(_XDP, len(_PASS) // 8, _at(code), _at(terms)))
        try:
            sizes = (len(context), 0, _at(place), 0)
            run = _RUN.pack(program, 0, len(frame), 0, _at(content), 0, 1, 0, *sizes, _LIVE_FRAMES, 0, 1)
            syscall.bpf(_PROG_TEST_RUN, run)
        finally:
            os.close(program)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise CniError(
            Code.NOT_AVAILABLE, f"the kernel does not take a packet ({reason})", "expected: Linux 5.18 or later"
        ) from exc


def _at(buffer: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(buffer)
