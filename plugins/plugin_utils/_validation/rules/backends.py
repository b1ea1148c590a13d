# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check that conditions of portmap have the syntax of its backend."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join

_IPTABLES = "iptables"
_NFTABLES = "nftables"
_CONDITIONS = ("conditionsV4", "conditionsV6")


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Check that conditions of portmap have the syntax of its backend, iptables or nftables."""
    if not plugin.traits.maps_ports:
        return
    requested, reason = _requested_backend(plugin)
    for name in _CONDITIONS:
        conditions: t.Any = plugin.keys.get(name)
        own = _backend_of(conditions)
        if own and requested and own != requested:
            message = f"{name} has {own} conditions, but {reason} selects {requested}"
            hint = f"write the conditions in the syntax of {requested}"
            yield document.finding("wrong-backend", join(plugin.path, name, 0), message, hint, conditions[0])
        elif own and not requested:
            requested, reason = own, name


def _requested_backend(plugin: DocumentPlugin) -> tuple[str, str]:
    """Return the requested backend, and the key that requests it."""
    backend = plugin.keys.get("backend")
    if backend in (_IPTABLES, _NFTABLES):
        return backend, "backend"
    return (_IPTABLES, "externalSetMarkChain") if plugin.keys.get("externalSetMarkChain") else ("", "")


def _backend_of(conditions: t.Any) -> str:
    """Return the backend whose syntax the conditions have, or "". Like portmap, check only the first character."""
    first = conditions[0] if isinstance(conditions, list) and conditions else ""
    if not isinstance(first, str) or not first:
        return ""
    return _IPTABLES if first[0] in "-!" else _NFTABLES
