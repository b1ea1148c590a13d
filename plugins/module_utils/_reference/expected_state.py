# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The state that follows from a record: the built-in plugins read its configuration again, and describe what they make."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.ip_address import parse_address, parse_network
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject, any_case
from ansible_collections.cni.node.plugins.module_utils._base.mac_address import parse_mac
from ansible_collections.cni.node.plugins.module_utils._cni import request, version
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import NoExecutor, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.described import (
    ChainedPlugin,
    DescribedPlugin,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FirewallPart,
    safe_interfaces,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state import facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import (
    ExpectedLease,
    ExpectedLink,
    ExpectedRoute,
    Resource,
    State,
    Sysctl,
    in_order,
)

# Keys of a route in results since version 1.1.0.
_ROUTE_KEYS = ("mtu", "advmss", "priority", "table", "scope")


class UnreadableConfiguration(CniError):
    """A recorded configuration that a plugin's class refuses, so that what the attachment has is not known.

    Executables of plugins accept more than the classes do.
    """


class RecordedRequests:
    """The requests that the plugins of a record got at ADD, as far as the record has them. Each configuration is read once.

    Attributes:
        network: The configuration in the record.
    """

    def __init__(self, record: Record) -> None:
        """
        Raises:
            CniError: The configuration cannot be read.
        """
        self.record, self.network = record, record.network()
        self._version = record.negotiated_version(self.network)
        self._requests: dict[int, PluginRequest] = {}

    def to(self, plugin: PluginConfiguration) -> PluginRequest:
        """Return the request to a plugin of the network."""
        if plugin.index not in self._requests:
            keys = request.keys_for_attachment(self.network, plugin, self._version, self.record.attachment)
            self._requests[plugin.index] = self._make(keys)
        return self._requests[plugin.index]

    def to_maker(self) -> PluginRequest:
        """Return the request to the plugin that made the interface: the first one, or the plugin to which it delegates."""
        first = self.network.plugins[0]
        delegation = catalogue.find_plugin_type(first.type).delegation
        if delegation is None or delegation.is_list:
            return self.to(first)
        delegate = any_case(first.keys_for_plugin).get(delegation.key)
        return self._make(delegation.complete(delegate if isinstance(delegate, dict) else {}))

    def _make(self, keys: JsonObject) -> PluginRequest:
        parameters = Parameters("CHECK", self.record.attachment, self.record.builtin)
        name, result = self.network.name, self.record.result
        return PluginRequest(b"", keys, self._version, name, parameters, NoExecutor(), result)


def expected_state(requests: RecordedRequests, lease_dir: str) -> State | None:
    """Return the links, addresses, routes, rules, settings and rates of an attachment in the kernel, and its leases.

    Args:
        lease_dir: Default of ``dataDir`` of host-local.

    Returns:
        None if CHECK is disabled, or if the plugins are not known well enough.

    Raises:
        UnreadableConfiguration: A plugin would refuse its configuration.
        CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    record, made_by = requests.record, requests.to_maker()
    row = catalogue.find_plugin_type(made_by.config.values.get("type"))
    if (
        record.result is None
        or requests.network.disable_check
        or not (row.result_is_complete and row.name in registry.TYPES)
    ):
        return None
    result, maker = record.result.to(version.LATEST), registry.load(row.name)
    with facts.wrap_errors(record.attachment):
        if not record.is_own:
            result = _with_route_keys(result, made_by)
        known = facts.read(record.attachment, result, is_loopback=row.is_loopback)
    if known is None or not isinstance(maker, DescribedPlugin):
        return None
    config, chained = _read(maker, made_by), list(_read_chained(requests))
    with facts.wrap_errors(record.attachment):
        known = maker.name_node_links(config, known)
        state: dict[t.Hashable, Resource] = {}
        _add(state, maker.describe(config, known))
        for plugin, its_config in chained:
            _move_routes(state, plugin, its_config, known)
            _add(state, plugin.describe(its_config, known))
        # loopback ignores a configuration of IPAM.
        leases = () if row.is_loopback else _leases(known, made_by, lease_dir)
        return in_order((*state.values(), *leases))


def _with_route_keys(result: Result, made_by: PluginRequest) -> Result:
    """Return a result with the keys of routes that runtimes with an older libcni leave out of their records."""
    ipam = any_case(made_by.keys).get("ipam")
    listed = ipam.get("routes") if isinstance(ipam, dict) else None
    configured = [route for route in listed if isinstance(route, dict)] if isinstance(listed, list) else []
    routes = []
    for route in result.keys.get("routes") or ():
        same = next((each for each in configured if _ends_of(each) == _ends_of(route)), {})
        routes.append({**{key: same[key] for key in _ROUTE_KEYS if key in same}, **route})
    return result._replace(keys={**result.keys, "routes": routes})


def _ends_of(route: t.Mapping[str, t.Any]) -> tuple[object, object]:
    return parse_network(route.get("dst")), parse_address(route.get("gw"))


def firewall_state(requests: RecordedRequests) -> list[FirewallPart]:
    """Return the firewall rules that the plugins of an attachment have made, in the order of the plugins.

    Raises:
        UnreadableConfiguration: A plugin would refuse its configuration, and which rules it has made is not known.
        CniError: The result cannot be used.
    """
    record, network = requests.record, requests.network
    writing = [plugin for plugin in network.plugins if catalogue.find_plugin_type(plugin.type).writes_rules]
    if record.result is None or not writing:
        return []
    mac = _recorded_mac(record, network)
    try:
        return [
            part
            for plugin in writing
            for part in registry.load_rule_plugin(plugin.type).describe_rules(requests.to(plugin), mac)
        ]
    except CniError as exc:
        raise UnreadableConfiguration(exc.code, exc.msg, exc.details) from exc


def _recorded_mac(record: Record, network: NetworkConfiguration) -> str:
    """Return the MAC of the container's interface; an empty string if another plugin may have changed it since."""
    result = record.result.to(version.LATEST).keys if record.result else {}
    if any(catalogue.find_plugin_type(plugin.type).tunes_interface for plugin in network.plugins):
        return ""
    own = (
        item.get("mac")
        for item in safe_interfaces(result)
        if item.get("sandbox") and item["name"] == record.attachment.ifname
    )
    return parse_mac(next(own, ""))


def _read_chained(requests: RecordedRequests) -> t.Iterator[tuple[ChainedPlugin[t.Any], t.Any]]:
    """Yield the plugins that changed the interface, each with its configuration."""
    for plugin in requests.network.plugins[1:]:
        builtin = registry.load(plugin.type) if plugin.type in registry.TYPES else None
        if isinstance(builtin, ChainedPlugin):
            yield builtin, _read(builtin, requests.to(plugin))


def _read(plugin: DescribedPlugin[t.Any], made_by: PluginRequest) -> t.Any:
    try:
        with facts.wrap_errors(made_by.attachment):
            return plugin.config_of(made_by)
    except CniError as exc:
        raise UnreadableConfiguration(exc.code, exc.msg, f"plugin {plugin.name}: {exc.details}") from exc


def _move_routes(state: dict[t.Hashable, Resource], plugin: ChainedPlugin[t.Any], config: t.Any, known: Facts) -> None:
    routes = [resource for resource in state.values() if isinstance(resource, ExpectedRoute) and resource.inside]
    moved = plugin.move_routes(config, known, routes)
    if moved is not routes:
        for route in routes:
            del state[_identity(route)]
        _add(state, moved)


def _add(state: dict[t.Hashable, Resource], changes: t.Iterable[Resource]) -> None:
    """Add resources to a state: those properties of a link, and values of settings, replace the former ones."""
    for change in changes:
        key = _identity(change)
        former = state.get(key)
        if isinstance(former, ExpectedLink) and isinstance(change, ExpectedLink):
            properties = zip(former, change, ExpectedLink("", change.inside))
            change = ExpectedLink._make(old if new == default else new for old, new, default in properties)
        state[key] = change


def _identity(resource: Resource) -> t.Hashable:
    if isinstance(resource, ExpectedLink):
        return ExpectedLink, resource.inside, resource.name
    return (Sysctl, resource.inside, resource.path) if isinstance(resource, Sysctl) else resource


def _leases(known: Facts, made_by: PluginRequest, lease_dir: str) -> t.Iterator[ExpectedLease]:
    ipam = any_case(made_by.keys).get("ipam")
    if isinstance(ipam, dict) and ipam.get("type") == lease_files.TYPE:
        network, container_id, ifname = known.attachment.key
        directory = os.path.join(lease_files.data_dir(ipam, lease_dir), network)
        yield from (ExpectedLease(directory, ip.interface.ip, container_id, ifname, lease_dir) for ip in known.ips)
