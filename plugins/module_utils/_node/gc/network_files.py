# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError

# The node's own network configuration: ifupdown, netplan, systemd-networkd, NetworkManager, and the scripts of Red Hat
# and SUSE.
_FILES: t.Final = (
    "/etc/network/interfaces",
    "/etc/network/interfaces.d/*",
    "/etc/netplan/*",
    "/run/netplan/*",
    "/usr/lib/netplan/*",
    *(
        f"{top}/systemd/network/{name}"
        for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib")
        for name in ("*", "*/*")
    ),
    *(f"{top}/NetworkManager/system-connections/*" for top in ("/etc", "/run", "/usr/lib")),
    "/etc/sysconfig/network-scripts/*",
    "/etc/sysconfig/network/*",
)


def reason_to_keep(*names: str) -> str:
    """Return a clause with the file of the node's own network configuration that names a link, or an empty string."""
    words = "|".join(map(re.escape, names))
    named = re.compile(rf"(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_-])".encode("utf-8", "surrogateescape"))
    for path in _list_files():
        if named.search(os.path.basename(os.fsencode(path))):
            return f"{path} configures it"
        try:
            content = durable.read(path) or b""
        except CniError as exc:
            return f"an unreadable file may name it: {exc.msg}"
        if named.search(content):
            return f"{path} names it"
    return ""


def _list_files() -> list[str]:
    paths = [path for pattern in _FILES for path in sorted(glob.glob(pattern))]
    return [path for path in paths if not os.path.isdir(path)]


__all__ = ("reason_to_keep",)
