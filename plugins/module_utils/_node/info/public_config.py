# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A network configuration without the keys that may be secret."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

# Keys of the reference plugins that describe a network. Other keys, such as those of other plugins, may hold secrets.
_PLUGIN_KEYS = frozenset(
    {
        "backend",
        "bridge",
        "device",
        "disableContainerInterface",
        "forceAddress",
        "hairpinMode",
        "ingressPolicy",
        "ipMasq",
        "ipMasqBackend",
        "isDefaultGateway",
        "isGateway",
        "linkInContainer",
        "macspoofchk",
        "master",
        "mode",
        "mtu",
        "portIsolation",
        "preserveDefaultVlan",
        "promiscMode",
        "snat",
        "vlan",
        "vlanId",
        "vlanTrunk",
        "vrfname",
    }
)
_IPAM_KEYS = frozenset({"addresses", "gateway", "rangeEnd", "rangeStart", "ranges", "routes", "subnet", "type"})


def describe(network: NetworkConfiguration) -> JsonObject:
    """Return a network configuration with the keys that describe the network, and without all others."""
    return {
        "cniVersion": network.version,
        "name": network.name,
        "plugins": [
            {
                "type": plugin.type,
                **_select(plugin.keys, _PLUGIN_KEYS),
                **({"ipam": _select(plugin.keys["ipam"], _IPAM_KEYS)} if plugin.delegated_type else {}),
            }
            for plugin in network.plugins
        ],
    }


def _select(keys: JsonMapping, names: t.Collection[str]) -> JsonObject:
    return {name: keys[name] for name in sorted(names) if name in keys}
