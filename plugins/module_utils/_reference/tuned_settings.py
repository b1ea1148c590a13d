# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The kernel's settings in a configuration of tuning, as the controller and the node read them."""

from __future__ import annotations

import os
import typing as t


def sysctl_path(key: str, ifname: str) -> str:
    """Return the path below ``/proc/sys`` of a setting in the configuration of tuning."""
    return os.path.normpath(key.replace(".", "/").replace("IFNAME", ifname, 1)).lstrip("/")


def switches_off_ipv6(values: t.Mapping[str, str], ifname: str) -> str:
    """Return the path of the setting with which an interface loses its IPv6 addresses, or an empty string.

    Args:
        values: Values of settings by `sysctl_path`.
    """
    paths = (f"net/ipv6/conf/{name}/disable_ipv6" for name in ("all", ifname))
    return next((path for path in paths if values.get(path, "0").strip() not in ("", "0")), "")
