# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, Plugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join

_IPTABLES: t.Final = "iptables"
_NFTABLES: t.Final = "nftables"
_CONDITIONS: t.Final = ("conditionsV4", "conditionsV6")


def findings(document: Document, plugin: Plugin) -> t.Iterator[Finding]:
    """Check that what portmap is told in the words of iptables or nftables is for the backend that it uses."""
    if not catalogue.row(plugin.type).maps_ports:
        return
    wanted, because = _requested_backend(plugin)
    for name in _CONDITIONS:
        conditions: t.Any = plugin.keys.get(name)
        own = _backend_of(conditions)
        if own and wanted and own != wanted:
            message = f"{name} has {own} conditions, but {because} selects {wanted}"
            hint = f"write the conditions in the syntax of {wanted}"
            yield document.finding("wrong-backend", join(plugin.path, name, 0), message, hint, conditions[0])
        elif own and not wanted:
            wanted, because = own, name


def _requested_backend(plugin: Plugin) -> tuple[str, str]:
    """Return the backend that is asked for, and by which key."""
    backend = plugin.keys.get("backend")
    if backend in (_IPTABLES, _NFTABLES):
        return backend, "backend"
    return (_IPTABLES, "externalSetMarkChain") if plugin.keys.get("externalSetMarkChain") else ("", "")


def _backend_of(conditions: t.Any) -> str:
    """Return whose words conditions are, as portmap tells by the first character; an empty string for none."""
    first = conditions[0] if isinstance(conditions, list) and conditions else ""
    if not isinstance(first, str) or not first:
        return ""
    return _IPTABLES if first[0] in "-!" else _NFTABLES


__all__ = ("findings",)
