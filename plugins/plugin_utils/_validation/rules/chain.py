# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Check the order of a network's plugins."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas

ADDRESS_HINT = 'add "ipam" to the plugin that creates the interface'


def findings(document: Document) -> t.Iterator[Finding]:
    """Check the order of a network's plugins. Unknown plugins are ignored."""
    for place, plugin in enumerate(document.plugins):
        before = document.plugins[:place]
        role = schemas.role(plugin.type)
        if role == "meta":
            yield from _check_meta(document, plugin, before)
        elif role == "interface":
            yield from _check_interface(document, plugin, before)
        if schemas.annotation(plugin.type, "x-last") and document.plugins[place + 1 :]:
            message = f"{plugin.type} must be the last plugin, but {document.plugins[place + 1].type or 'another one'} follows"
            yield document.finding("plugin-not-last", plugin.path, message, "move it to the end of the list")


def _check_meta(document: Document, plugin: DocumentPlugin, before: list[DocumentPlugin]) -> t.Iterator[Finding]:
    roles = {schemas.role(earlier.type) for earlier in before}
    if roles <= {"meta"}:
        message = f"{plugin.type} needs an interface, but no earlier plugin creates one"
        hint = "move it after the plugin that creates the interface"
        yield document.finding("meta-plugin-first", plugin.path, message, hint)
    elif maps_no_port(plugin, before):
        message = "portmap has no address to forward ports to, because no earlier plugin assigns one"
        finding = document.finding("portmap-without-address", plugin.path, message, ADDRESS_HINT)
        # ADD succeeds. Podman writes portmap into networks without IPAM, too.
        yield finding._replace(is_conditional=True)


def maps_no_port(plugin: DocumentPlugin, before: list[DocumentPlugin]) -> bool:
    """Return whether a plugin maps ports in vain: all plugins before it are known, and none assigns an address."""
    is_known = all(schemas.role(earlier.type) != "any" for earlier in before)
    return plugin.traits.maps_ports and is_known and not any(map(_assigns_address, before))


def returns_no_address(document: Document, plugin: DocumentPlugin) -> bool:
    """Return whether the result of a plugin that creates the container's interface has no address."""
    is_first = all(
        schemas.role(other.type) not in ("any", "interface") for other in document.plugins if other.index < plugin.index
    )
    return is_first and schemas.role(plugin.type) == "interface" and not _assigns_address(plugin)


def _check_interface(document: Document, plugin: DocumentPlugin, before: list[DocumentPlugin]) -> t.Iterator[Finding]:
    first = next((earlier for earlier in before if schemas.role(earlier.type) == "interface"), None)
    chained = schemas.annotation(plugin.type, "x-chains") and not plugin.keys.get("master")
    if first and not chained:
        message = f"{plugin.type} creates the container's interface, but {first.type} has created it already"
        hint = "a network creates one interface; move this plugin to a network of its own"
        yield document.finding("second-interface-plugin", plugin.path, message, hint)


def _assigns_address(plugin: DocumentPlugin) -> bool:
    if schemas.role(plugin.type) != "interface":
        return False
    return bool(plugin.ipam.get("type") or schemas.annotation(plugin.type, "x-addresses"))
