# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Additions of plugins to an interface that another plugin made: settings, rates, membership in a VRF."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts, Plugin
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    Ifb,
    Link,
    Port,
    Rate,
    Sysctl,
    Vrf,
)

_TUNED_KEYS: t.Final = ("mac", "mtu", "promisc", "allmulti", "txQLen")
_RATE_KEYS: t.Final = ("ingressRate", "ingressBurst", "egressRate", "egressBurst")


def tune(known: Facts, link: Link) -> Link:
    """Return the container's interface with the properties that plugins have changed."""
    for plugin in known.chained:
        if plugin.row.tunes_interface:
            values = _tuned_values(known, plugin)
            link = link._replace(
                mac=str(values.get("mac") or link.mac).lower(),
                mtu=values.get("mtu") or link.mtu,
                is_promiscuous=link.is_promiscuous or values.get("promisc") is True,
                all_multicast=values.get("allmulti", link.all_multicast),
                queue_length=values.get("txQLen", link.queue_length),
            )
    return link


def _tuned_values(known: Facts, plugin: Plugin) -> t.Mapping[str, t.Any]:
    """Return the values of an interface: those of ``args.cni`` come before the capability, and that before the file."""
    mac = _object(plugin.keys.get("runtimeConfig")).get("mac") or known.record.attachment.args.get("MAC")
    sources = (_config_args(plugin), {"mac": mac or None}, plugin.keys)
    values = {key: next((each[key] for each in sources if each.get(key) is not None), None) for key in _TUNED_KEYS}
    return {key: value for key, value in values.items() if value is not None}


def settings(known: Facts) -> t.Iterator[Sysctl]:
    """Return the kernel's settings in the container's network namespace."""
    values: dict[str, str] = {}
    for plugin in known.chained:
        if plugin.row.tunes_interface:
            written = {**_object(plugin.keys.get("sysctl")), **_object(_config_args(plugin).get("sysctl"))}
            values.update({sysctl_path(key, known.ifname): str(value) for key, value in written.items()})
    yield from (Sysctl(path, value, inside=True) for path, value in values.items() if path.startswith("net/"))


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


def rates(known: Facts) -> t.Iterator[Ifb | Rate]:
    """Return the limits of the container's rates, which are on the node's end of its veth pair."""
    for plugin in known.chained:
        limits = _limits(plugin) if plugin.row.limits_bandwidth and known.host_end else {}
        if limits.get("ingressRate"):
            yield Rate(known.host_end, limits["ingressRate"] // 8, limits["ingressBurst"] // 8)
        if limits.get("egressRate"):
            name = ifb_name(known)
            yield Ifb(name, known.host_end)
            yield Rate(name, limits["egressRate"] // 8, limits["egressBurst"] // 8)


def _limits(plugin: Plugin) -> dict[str, int]:
    """Return the limits in bits. The configuration takes precedence over the capability, as a whole."""
    capability = _object(_object(plugin.keys.get("runtimeConfig")).get("bandwidth"))
    has_own = any(plugin.keys.get(key) is not None for key in _RATE_KEYS)
    limits = plugin.keys if has_own else capability
    return {key: int(limits.get(key) or 0) for key in _RATE_KEYS}


def local_routing(known: Facts) -> t.Iterator[Sysctl]:
    """Return the setting with which the node's own programs reach mapped ports at a loopback address."""
    for plugin in known.chained:
        ports = _object(plugin.keys.get("runtimeConfig")).get("portMappings") if plugin.row.maps_ports else None
        if ports and plugin.keys.get("snat") is not False and any(ip.interface.version == 4 for ip in known.ips):
            link = known.routed_link
            yield Sysctl(f"net/ipv4/conf/{link}/route_localnet", "1", inside=False, link=link)


def ifb_name(known: Facts) -> str:
    """Return the name of the link that limits what the container sends."""
    return firewall_names.ifb(*known.record.attachment.key[:2])


def vrf_memberships(known: Facts) -> t.Iterator[Vrf | Port]:
    """Return the VRFs of the container, and the membership of its interface."""
    for plugin in known.chained:
        name = plugin.keys.get(plugin.row.vrf_key) if plugin.row.vrf_key else ""
        if isinstance(name, str) and name:
            yield Vrf(name, plugin.keys.get("table") or 0)
            yield Port(known.ifname, name, inside=True)


def _config_args(plugin: Plugin) -> t.Mapping[str, t.Any]:
    return _object(_object(plugin.keys.get("args")).get("cni"))


def _object(value: t.Any) -> t.Mapping[str, t.Any]:
    return value if isinstance(value, dict) else {}


__all__ = (
    "ifb_name",
    "local_routing",
    "rates",
    "settings",
    "switches_off_ipv6",
    "sysctl_path",
    "tune",
    "vrf_memberships",
)
