# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find networks with IPv6 addresses on a node that has IPv6 switched off or would lose its router."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.identifier import is_ifname
from ansible_collections.cni.node.plugins.module_utils._linux import sysctl
from ansible_collections.cni.node.plugins.module_utils._linux.links import router_advertisements
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._node.conflists.directory import PlannedDirectory
from ansible_collections.cni.node.plugins.module_utils._reference import catalogue
from ansible_collections.cni.node.plugins.module_utils._reference.addresses.ipam_ranges import Range, range_sets
from ansible_collections.cni.node.plugins.module_utils._reference.nested_plugins import ConfiguredPlugin, all_plugins

_NEW_LINKS = "default"


def check(planned: PlannedDirectory, view: View, *, tolerate_missing: bool) -> t.Iterator[Finding]:
    """Find networks that give IPv6 addresses to links of the node, if IPv6 is switched off or the node loses its router.

    Args:
        tolerate_missing: Report it as tolerated: another task may still switch IPv6 on.
    """
    find_links = functools.lru_cache(maxsize=1)(router_advertisements.find_dependent_links)
    for network in planned.desired:
        for plugin in all_plugins(network):
            subnet = _find_routed_subnet(plugin)
            if subnet is None:
                continue
            setting = f"net/ipv6/conf/{_find_link(plugin, view)}/disable_ipv6"
            if sysctl.read_at(setting) == "1":
                finding = _report_switched_off(network, plugin, subnet, setting)
                yield finding._replace(is_tolerated=tolerate_missing, is_unchanged=not planned.is_new(network))
            yield from (_report_ignored(network, plugin, subnet, link) for link in find_links())


def _find_routed_subnet(plugin: ConfiguredPlugin) -> Range | None:
    """Return the first IPv6 subnet whose gateway is an address of the node, None without one."""
    if not catalogue.is_routed(plugin.type, plugin.keys):
        return None
    members = (member for members in range_sets(plugin.keys.get("ipam")) for member in members)
    return next((member for member in members if member.subnet.version == 6), None)


def _find_link(plugin: ConfiguredPlugin, view: View) -> str:
    """Return the existing link that gets the gateways, or the name of the settings that new links start with."""
    if not catalogue.find_plugin_type(plugin.type).is_bridge:
        return _NEW_LINKS
    name = catalogue.gateway_link_name(plugin.keys)
    exists = is_ifname(name) and any(link.name == name for link in view.links)
    return name if exists else _NEW_LINKS


def _report_switched_off(
    network: NetworkConfiguration, plugin: ConfiguredPlugin, subnet: Range, setting: str
) -> Finding:
    name = sysctl.canonical(setting)
    message = f"IPv6 is switched off on this node, so that ADD fails: {name} is 1"
    hint = f"set it to 0, for example with sysctls of cni.node.kernel, or remove {subnet.subnet}"
    return _finding("family-switched-off", network, plugin, subnet, message, hint)


def _report_ignored(network: NetworkConfiguration, plugin: ConfiguredPlugin, subnet: Range, link: str) -> Finding:
    message = f"ADD switches on IPv6 forwarding: {router_advertisements.describe_loss(link)}"
    setting = router_advertisements.accept_setting(link)
    hint = f"set {setting} to {router_advertisements.KEPT} before the first ADD, for example with sysctls of cni.node.kernel"
    return _finding("router-ignored", network, plugin, subnet, message, hint)


def _finding(
    code: str, network: NetworkConfiguration, plugin: ConfiguredPlugin, subnet: Range, message: str, hint: str
) -> Finding:
    path = f"{plugin.path}/ipam{subnet.path}"
    return Finding(code, network.source, path, message, hint, str(subnet.subnet), plugin.plugin)
