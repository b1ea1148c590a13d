# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugin bandwidth: it limits what a container sends and receives."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import Keys, refuse
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._linux.links import ifb, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import sandbox
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import ChainedPlugin
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.versions import list_versions
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import VETH
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.plugins.module_utils._reference.state import host, own_links, writing
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Ifb, Rate, Resource, State

# In bits. pyroute2 cannot express the time in which a lower rate sends a packet, or a higher rate.
_RATES = range(64, 8 * 2**32)
_BURSTS = range(8, 8 * (2**32 - 1))
_KEYS = ("ingressRate", "ingressBurst", "egressRate", "egressBurst")


class _Limits(t.NamedTuple):
    """Rates in bytes per second and bursts in bytes, as the container sees the directions; 0 for no limit."""

    ingress_rate: int
    ingress_burst: int
    egress_rate: int
    egress_burst: int


class Bandwidth(ChainedPlugin[_Limits]):
    """Limits the rates of a container's veth pair by token buckets on the node's end, and on an ifb link for what it sends."""

    name = "bandwidth"
    versions = list_versions("bandwidth")

    def read(self, request: PluginRequest) -> _Limits:
        """Return the limits; those of the configuration replace those of the capability, all of them."""
        has_own = any(key in request.config for key in _KEYS)
        keys = request.config if has_own else request.runtime_config.section("bandwidth")
        return _Limits(*_read_limit(keys, "ingress"), *_read_limit(keys, "egress"))

    def describe(self, config: _Limits, known: Facts) -> t.Iterator[Resource]:
        if config.ingress_rate and known.host_end:
            yield Rate(known.host_end, config.ingress_rate, config.ingress_burst)
        if config.egress_rate and known.host_end:
            name = firewall_names.ifb(*known.attachment.key[:2])
            yield Ifb(name, known.host_end)
            yield Rate(name, config.egress_rate, config.egress_burst)

    def locate(self, request: PluginRequest, config: _Limits) -> Facts:
        return Facts(request.attachment, host_end=_require_host_end(request).name if any(config) else "")

    def add(self, request: PluginRequest) -> Result:
        limits = self.config_of(request)
        if not any(limits):
            return super().add(request)
        result = request.require_prev_result()
        with sandbox.open_sandbox(request.attachment), Undo() as undo:
            end = _require_host_end(request)
            state = tuple(self.describe(limits, Facts(request.attachment, host_end=end.name)))
            _require_same_limit(request, state)
            undo.add(lambda: self.delete(request))
            writing.make_on_node(state, end)
            made = [sandbox.require_link(resource.name) for resource in state if isinstance(resource, Ifb)]
        interfaces = [*(result.keys.get("interfaces") or ()), *({"name": link.name, "mac": link.mac} for link in made)]
        return result._replace(keys={**result.keys, "interfaces": interfaces}) if made else result

    def delete(self, request: PluginRequest) -> None:
        # The interfaces of a container in a network share it.
        link = ifb.find(firewall_names.ifb(*request.attachment.key[:2]))
        if link is not None:
            ifb.release(link, _find_host_ends(request), _find_other_ends(request))


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


def _require_same_limit(request: PluginRequest, state: State) -> None:
    """Raise an error if the limit of what another interface of the container sends would be changed."""
    node, attachment = Node(), request.attachment
    for name in (resource.name for resource in state if isinstance(resource, Ifb)):
        link = ifb.find(name)
        if link is None or not ifb.is_target(link, _find_other_ends(request)):
            continue
        rates = tuple(resource for resource in state if isinstance(resource, Rate) and resource.link == name)
        if node.token_bucket(link.ifindex) is not None and any(host.find(rates, node)):
            what = f"{attachment.ifname} has another egressRate or egressBurst than another interface of the container"
            raise refuse(
                f"{what} in network {attachment.network}, with which it shares the link {name}",
                "expected: the same values, or another network; to change the values, detach the other interface first",
            )


def _find_host_ends(request: PluginRequest) -> list[Link]:
    """Return the node's end of the container's veth pair, for DEL: as the result names it, else by the interface's name."""
    attachment = request.attachment
    keys = request.prev_result.keys if request.prev_result else {}
    names = [str(item.get("name")) for item in keys.get("interfaces") or () if not item.get("sandbox")]
    named = map(rtnetlink.link, names)
    ends = [link for link in named if link is not None and link.kind == VETH]
    if ends or not sandbox.exists(attachment):
        return ends
    end = _find_host_end(attachment)
    return [end] if end else []


def _find_host_end(attachment: Attachment) -> Link | None:
    inside = rtnetlink.link(attachment.ifname, attachment.netns)
    return own_links.find_host_end(inside, attachment.netns) if inside else None


def _find_other_ends(request: PluginRequest) -> list[Link]:
    """Return the node's ends of the veth pairs of the container's other interfaces; none if its namespace is gone."""
    netns = request.attachment.netns
    inside = rtnetlink.snapshot(netns, routes=False).links if sandbox.exists(request.attachment) else ()
    ends = (own_links.find_host_end(link, netns) for link in inside if link.name != request.attachment.ifname)
    return [end for end in ends if end is not None]


def _require_host_end(request: PluginRequest) -> Link:
    """Return the node's end of the container's veth pair, which the previous result must list."""
    result: t.Mapping[str, t.Any] = request.require_prev_result().keys
    interfaces: list[JsonObject] = list(result.get("interfaces") or ())
    end = _find_host_end(request.attachment)
    on_node = [item.get("name") for item in interfaces if not item.get("sandbox")]
    if end is None or end.name not in on_node:
        raise refuse(
            f"interface {request.attachment.ifname} has no other end on the node",
            "expected: a plugin before this one that makes a veth pair, such as bridge or ptp",
        )
    return end
