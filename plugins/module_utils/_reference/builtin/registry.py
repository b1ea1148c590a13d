# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Load the built-in plugins."""

from __future__ import annotations

import functools
import importlib
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.rules import RulePlugin

    # Where a module does not run from the library, Ansible sends what it finds in import statements.
    from ansible_collections.cni.node.plugins.module_utils._reference.plugins import (  # noqa: F401
        bandwidth,
        bridge,
        firewall,
        host_device,
        host_local,
        loopback,
        portmap,
        ptp,
        sbr,
        single_link,
        static,
        tap,
        tuning,
        vrf,
    )

# The release of the reference plugins whose behaviour the built-in ones have.
RELEASE = "1.9.1"

# Module and class by type: a run needs few of them.
_CLASSES = {
    "bandwidth": "bandwidth.Bandwidth",
    "bridge": "bridge.BridgePlugin",
    "dummy": "single_link.Dummy",
    "firewall": "firewall.Firewall",
    "host-device": "host_device.HostDevice",
    "host-local": "host_local.HostLocal",
    "ipvlan": "single_link.Ipvlan",
    "loopback": "loopback.Loopback",
    "macvlan": "single_link.Macvlan",
    "portmap": "portmap.Portmap",
    "ptp": "ptp.Ptp",
    "sbr": "sbr.SourceBasedRouting",
    "static": "static.Static",
    "tap": "tap.Tap",
    "tuning": "tuning.Tuning",
    "vlan": "single_link.Vlan",
    "vrf": "vrf.VrfPlugin",
}

TYPES = frozenset(_CLASSES)
_PACKAGE = "ansible_collections.cni.node.plugins.module_utils._reference.plugins"


@functools.lru_cache(maxsize=len(_CLASSES))
def load(plugin_type: str) -> Plugin:
    """Return the built-in plugin of one of `TYPES`."""
    module, dummy, name = _CLASSES[plugin_type].partition(".")
    plugin: Plugin = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)()
    return plugin


def load_rule_plugin(plugin_type: str) -> RulePlugin:
    """Return the built-in plugin of a type that writes firewall rules."""
    return t.cast("RulePlugin", load(plugin_type))
