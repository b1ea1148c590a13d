# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The state that follows from a record: the built-in plugins read its configuration again, and describe what they make."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import request, version
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import NoExecutor, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_parts import (
    FirewallPart,
    safe_interfaces,
    safe_mac,
)
from ansible_collections.cni.node.plugins.module_utils._reference.state import facts, interfaces
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Resource, State


class UnreadableRules(CniError):
    """A record whose configuration does not tell which firewall rules an attachment has."""


def expected_state(record: Record, network: NetworkConfiguration, lease_dir: str) -> State | None:
    """Return the state that follows from a record.

    Args:
        network: The configuration in the record.
        lease_dir: Default of ``dataDir`` of host-local.

    Returns:
        None if CHECK is disabled, or if the plugins are not known well enough.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result or a configuration that cannot be used.
    """
    with facts.wrap_errors(record):
        known = facts.read(record, network)
        if known is None:
            return None
        return interfaces.describe(known, lease_dir, tuple(_describe_chained(known, network)))


def firewall_state(record: Record, network: NetworkConfiguration) -> list[FirewallPart]:
    """Return the firewall rules that the plugins of an attachment have made, in the order of the plugins.

    Args:
        network: The configuration in the record.

    Raises:
        UnreadableRules: A plugin would refuse its configuration, and which rules it has made is not known.
        CniError: The result cannot be used.
    """
    writing = [plugin for plugin in network.plugins if catalogue.find_plugin_type(plugin.type).writes_rules]
    if record.result is None or not writing:
        return []
    mac = _recorded_mac(record, network)
    try:
        return [
            part
            for plugin in writing
            for part in registry.load_rule_plugin(plugin.type).describe_rules(_request(record, network, plugin), mac)
        ]
    except CniError as exc:
        raise UnreadableRules(exc.code, exc.msg, exc.details) from exc


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
    return safe_mac(next(own, ""))


def _describe_chained(known: Facts, network: NetworkConfiguration) -> t.Iterator[Resource]:
    """Yield what the built-in plugins after the first one describe.

    Raises:
        CniError: ``DECODE_FAILURE``: a plugin does not accept its configuration.
    """
    for plugin in network.plugins[1:]:
        builtin = registry.load_chained_plugin(plugin.type)
        if builtin is not None:
            try:
                yield from builtin.describe_record(_request(known.record, network, plugin), known.host_end)
            except CniError as exc:
                raise facts.unusable_record_error(known.record, f"plugin {plugin.type}: {exc}") from exc


def _request(record: Record, network: NetworkConfiguration, plugin: PluginConfiguration) -> PluginRequest:
    """Return the request with which a plugin was called at ADD, as far as the record has it."""
    negotiated = record.negotiated_version(network)
    keys = request.keys_for_attachment(network, plugin, negotiated, record.attachment)
    parameters = Parameters("CHECK", record.attachment, record.builtin)
    return PluginRequest(b"", keys, negotiated, network.name, parameters, NoExecutor(), record.result)
