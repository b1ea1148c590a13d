# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import DEFAULT_BRIDGE

Segment = tuple[t.Any, ...]

# Each container has a link to the node of its own.
POINT_TO_POINT: t.Final[Segment] = ("point-to-point", "", 0)


def segment_of(plugin_type: str, keys: t.Mapping[str, t.Any]) -> Segment | None:
    """Return an identifier of the l2 segment that the containers of a plugin share, None for a plugin without one."""
    l2 = catalogue.row(plugin_type).l2
    if l2 is None:
        return None
    link = keys.get(l2.key)
    return l2.kind, link if l2.default is None else link or l2.default, keys.get(l2.vlan_key) or 0


def bridge_name(keys: t.Mapping[str, t.Any]) -> str:
    """Return the bridge that a configuration of a bridge plugin names, or the default one."""
    return str(keys.get("bridge") or DEFAULT_BRIDGE)


def is_routed(plugin_type: str, keys: t.Mapping[str, t.Any]) -> bool:
    """Return whether the node routes to the containers of a plugin."""
    return catalogue.row(plugin_type).routes or any(keys.get(key) is True for key in ("isGateway", "isDefaultGateway"))


__all__ = ("POINT_TO_POINT", "Segment", "bridge_name", "is_routed", "segment_of")
