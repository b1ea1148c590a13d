# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Create tap devices (linux/if_tun.h)."""

from __future__ import annotations

import fcntl
import os
import struct

from ansible_collections.cni.node.plugins.module_utils._base.error import io_error

_DEVICE = "/dev/net/tun"
_TUNSETIFF, _TUNSETPERSIST, _TUNSETOWNER, _TUNSETGROUP = 0x400454CA, 0x400454CB, 0x400454CC, 0x400454CE
_IFF_TAP, _IFF_MULTI_QUEUE, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x0100, 0x1000, 0x4000
_REQUEST = struct.Struct("=16sH22x")


def create_tap(
    name: str, is_multi_queue: bool, owner: int | None, group: int | None, *, has_headers: bool = False
) -> None:
    """Create a persistent tap device in this thread's network namespace: it stays without a program.

    Args:
        owner, group: The user and the group that may use it; by default, only root.
        has_headers: Whether each packet begins with a header of virtio.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    flags = _IFF_TAP | _IFF_NO_PI | (_IFF_MULTI_QUEUE if is_multi_queue else 0) | (_IFF_VNET_HDR if has_headers else 0)
    try:
        descriptor = os.open(_DEVICE, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.ioctl(descriptor, _TUNSETIFF, _REQUEST.pack(name.encode(), flags))
            for request, number in ((_TUNSETOWNER, owner), (_TUNSETGROUP, group), (_TUNSETPERSIST, 1)):
                if number is not None:
                    fcntl.ioctl(descriptor, request, number)
        finally:
            os.close(descriptor)
    except (OSError, OverflowError) as exc:
        error = exc if isinstance(exc, OSError) else OSError(0, str(exc))
        raise io_error(f"create the tap device {name} with", _DEVICE, error) from exc
