# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugins of this process."""

from __future__ import annotations

import functools
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin

# The release of the reference plugins whose behaviour the built-in ones have.
RELEASE: t.Final = "1.9.1"

# Each function loads one plugin: a run needs few of them. The imports are written out, because Ansible and the programs
# that run at boot take along the modules that they find in import statements.


def _load_bandwidth() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.bandwidth import Bandwidth

    return Bandwidth()


def _load_bridge() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.bridge import Bridge

    return Bridge()


def _load_dummy() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.single_link import Dummy

    return Dummy()


def _load_firewall() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.firewall import Firewall

    return Firewall()


def _load_host_device() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.host_device import HostDevice

    return HostDevice()


def _load_host_local() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.host_local import HostLocal

    return HostLocal()


def _load_ipvlan() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.single_link import Ipvlan

    return Ipvlan()


def _load_loopback() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.loopback import Loopback

    return Loopback()


def _load_macvlan() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.single_link import Macvlan

    return Macvlan()


def _load_portmap() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.portmap import Portmap

    return Portmap()


def _load_ptp() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.ptp import Ptp

    return Ptp()


def _load_sbr() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.sbr import SourceBasedRouting

    return SourceBasedRouting()


def _load_static() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.static import Static

    return Static()


def _load_tap() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.tap import Tap

    return Tap()


def _load_tuning() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.tuning import Tuning

    return Tuning()


def _load_vlan() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.single_link import Vlan

    return Vlan()


def _load_vrf() -> Plugin:
    from ansible_collections.cni.node.plugins.module_utils._reference.builtin.vrf import Vrf

    return Vrf()


_LOADERS: t.Final[t.Mapping[str, t.Callable[[], Plugin]]] = {
    "bandwidth": _load_bandwidth,
    "bridge": _load_bridge,
    "dummy": _load_dummy,
    "firewall": _load_firewall,
    "host-device": _load_host_device,
    "host-local": _load_host_local,
    "ipvlan": _load_ipvlan,
    "loopback": _load_loopback,
    "macvlan": _load_macvlan,
    "portmap": _load_portmap,
    "ptp": _load_ptp,
    "sbr": _load_sbr,
    "static": _load_static,
    "tap": _load_tap,
    "tuning": _load_tuning,
    "vlan": _load_vlan,
    "vrf": _load_vrf,
}

TYPES: t.Final = frozenset(_LOADERS)


@functools.lru_cache(maxsize=len(_LOADERS))
def load(plugin_type: str) -> Plugin:
    """Return the built-in plugin of one of `TYPES`."""
    return _LOADERS[plugin_type]()


__all__ = ("RELEASE", "TYPES", "load")
