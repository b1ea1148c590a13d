# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find settings of tuning that remove the IPv6 addresses of an earlier plugin."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._reference import tuned_settings
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.positions import join
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import addresses

# Stands for the name of the interface in the name of a setting; attachments choose it.
_INTERFACE = "IFNAME"
# The name that runtimes give the interface, unless they are told another one.
_USUAL_INTERFACE = "eth0"


def findings(document: Document, plugin: DocumentPlugin) -> t.Iterator[Finding]:
    """Find settings of tuning that remove the IPv6 addresses which an earlier plugin adds."""
    if not plugin.traits.tunes_interface:
        return
    subnet = next((each for each in addresses.subnets_before(document, plugin) if each.version == 6), None)
    places = [(plugin.keys, plugin.path), (plugin.cni_args, join(plugin.path, "args", "cni"))] if subnet else []
    for keys, path in places:
        settings = keys.get("sysctl")
        for key, value in settings.items() if isinstance(settings, dict) else ():
            is_certain = _switches_off_ipv6(key, value, _INTERFACE)
            if is_certain or _switches_off_ipv6(key, value, _USUAL_INTERFACE):
                message = f"{key} removes the addresses of {subnet} that an earlier plugin adds"
                hint = "remove the setting, or the IPv6 subnets"
                if not is_certain:
                    message = f"{message}, if the interface is {_USUAL_INTERFACE}"
                finding = document.finding("addresses-removed", join(path, "sysctl", key), message, hint, value)
                yield finding._replace(is_conditional=not is_certain)


def _switches_off_ipv6(key: str, value: object, interface: str) -> bool:
    """Return whether a setting of tuning switches off IPv6 on an interface."""
    return bool(tuned_settings.switches_off_ipv6({tuned_settings.sysctl_path(key, interface): str(value)}, interface))
