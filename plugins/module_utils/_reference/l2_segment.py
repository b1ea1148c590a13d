# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

DEFAULT_BRIDGE: t.Final = "cni0"

Segment = tuple[t.Any, ...]

# Every container of ptp has a link to the node of its own.
OF_ONE: t.Final[Segment] = ("ptp",)


def segment_of(plugin_type: str, keys: t.Mapping[str, t.Any]) -> Segment | None:
    """Return what tells the link that the containers of a plugin share from others, None for a plugin without one."""
    if plugin_type == "bridge":
        return "bridge", keys.get("bridge") or DEFAULT_BRIDGE, keys.get("vlan") or 0
    if plugin_type in ("macvlan", "ipvlan"):
        return "master", keys.get("master") or "", 0
    if plugin_type == "vlan":
        return "master", keys.get("master"), keys.get("vlanId") or 0
    return OF_ONE if plugin_type == "ptp" else None


def is_routed(plugin_type: str, keys: t.Mapping[str, t.Any]) -> bool:
    """Tell whether the node routes to what a plugin attaches."""
    return plugin_type == "ptp" or any(keys.get(key) is True for key in ("isGateway", "isDefaultGateway"))


__all__ = ("DEFAULT_BRIDGE", "OF_ONE", "Segment", "is_routed", "segment_of")
