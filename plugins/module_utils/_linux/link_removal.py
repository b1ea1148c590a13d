# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import socket

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import program


def remove(name: str, kind: str) -> None:
    """Remove a link of this kind, or find that it has gone meanwhile.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("ip")
    if path is None:
        raise CniError(Code.IO_FAILURE, f"cannot remove the link {name}: the program ip is missing", "install iproute2")
    try:
        program.output([path, "link", "delete", "dev", name, "type", kind])
    except CniError:
        if name in {one for dummy, one in socket.if_nameindex()}:
            raise


__all__ = ("remove",)
