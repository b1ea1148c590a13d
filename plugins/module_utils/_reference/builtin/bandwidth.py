# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin bandwidth: it limits what a container sends and receives."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import Plugin, PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse, refuse_faults
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux import ifb, kernel_writer, rtnetlink, traffic_control
from ansible_collections.cni.node.plugins.module_utils._linux.rtnetlink import Link
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.versions import list_versions
from ansible_collections.cni.node.plugins.module_utils._reference.state import host, own_links, resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import LiveNode

# In bits. pyroute2 cannot express the time in which a lower rate sends a packet, or a higher rate.
_RATES: t.Final = range(64, 8 * 2**32)
_BURSTS: t.Final = range(8, 8 * (2**32 - 1))
_KEYS: t.Final = ("ingressRate", "ingressBurst", "egressRate", "egressBurst")


class _Limits(t.NamedTuple):
    """Rates in bytes per second and bursts in bytes, as the container sees the directions; 0 for no limit."""

    ingress_rate: int
    ingress_burst: int
    egress_rate: int
    egress_burst: int


class Bandwidth(Plugin):
    """Limits the rates of a container's veth pair by token buckets."""

    name = "bandwidth"
    versions = list_versions("bandwidth")

    def add(self, request: PluginRequest) -> Result:
        limits = _read_limits(request)
        if not any(limits):
            return super().add(request)
        result = request.require_prev_result()
        with sandbox.open_sandbox(request.attachment), kernel_writer.connect() as writer, Undo() as undo:
            end = _require_host_end(request)
            undo.add(lambda: self.delete(request))
            if limits.ingress_rate:
                traffic_control.limit_rate(end.ifindex, limits.ingress_rate, limits.ingress_burst)
            if not limits.egress_rate:
                return result
            name = _ifb_name(request)
            writer.create_ifb(name, end.mtu)
            link = sandbox.require_link(name)
            traffic_control.redirect(end.ifindex, link.ifindex)
            traffic_control.limit_rate(link.ifindex, limits.egress_rate, limits.egress_burst)
        interfaces = [*(result.keys.get("interfaces") or ()), {"name": name, "mac": link.mac}]
        return result._replace(keys={**result.keys, "interfaces": interfaces})

    def check(self, request: PluginRequest) -> None:
        limits = _read_limits(request)
        request.require_prev_result()
        if not any(limits):
            return
        end = _require_host_end(request).name
        state: list[resources.Ifb | resources.Rate] = []
        if limits.ingress_rate:
            state.append(resources.Rate(end, limits.ingress_rate, limits.ingress_burst))
        if limits.egress_rate:
            name = _ifb_name(request)
            state += [resources.Ifb(name, end), resources.Rate(name, limits.egress_rate, limits.egress_burst)]
        wrong = [difference.message for difference in host.find(tuple(state), LiveNode()) if not difference.follows]
        refuse_faults(wrong)

    def delete(self, request: PluginRequest) -> None:
        ifb.remove(_ifb_name(request))


def _ifb_name(request: PluginRequest) -> str:
    return firewall_names.ifb(*request.attachment.key[:2])


def _read_limits(request: PluginRequest) -> _Limits:
    """Return the limits; those of the configuration replace those of the capability, all of them."""
    has_own = any(key in request.config for key in _KEYS)
    keys = request.config if has_own else request.runtime_config.section("bandwidth")
    return _Limits(*_read_limit(keys, "ingress"), *_read_limit(keys, "egress"))


def _read_limit(keys: Keys, direction: str) -> tuple[int, int]:
    rate, burst = keys.integer(f"{direction}Rate"), keys.integer(f"{direction}Burst")
    pointers = keys.pointer(f"{direction}Rate"), keys.pointer(f"{direction}Burst")
    if bool(rate) != bool(burst):
        given, missing = pointers if rate else reversed(pointers)
        raise refuse(f"{given} needs {missing}", "expected: both, or none")
    for pointer, value, accepted in zip(pointers, (rate, burst), (_RATES, _BURSTS)):
        if value and value not in accepted:
            raise refuse(f"{pointer}: {value} is out of range", f"expected: {accepted[0]} to {accepted[-1]} bits")
    return rate // 8, burst // 8


def _require_host_end(request: PluginRequest) -> Link:
    """Return the node's end of the container's veth pair, which the previous result must list."""
    result: t.Mapping[str, t.Any] = request.require_prev_result().keys
    interfaces: list[JsonObject] = list(result.get("interfaces") or ())
    inside = rtnetlink.link(request.attachment.ifname, request.attachment.netns)
    end = own_links.find_host_end(inside, request.attachment.netns) if inside else None
    on_node = [item.get("name") for item in interfaces if not item.get("sandbox")]
    if end is None or end.name not in on_node:
        raise refuse(
            f"interface {request.attachment.ifname} has no other end on the node",
            "expected: a plugin before this one that makes a veth pair, such as bridge or ptp",
        )
    return end


__all__ = ("Bandwidth",)
