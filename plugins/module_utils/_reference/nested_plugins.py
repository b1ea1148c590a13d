# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plugins that a network runs, with those to which its plugins delegate."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import Delegation


class Executable(t.NamedTuple):
    """A plugin that a network runs.

    Attributes:
        versions: The versions of the specification that its requests may have.
        path: JSON pointer of its name in the network configuration.
        plugin: Index and type of the network's plugin that runs it, which may be the plugin itself.
    """

    type: str
    versions: tuple[str, ...]
    path: str
    plugin: tuple[int, str]


class ConfiguredPlugin(t.NamedTuple):
    """A plugin configuration of a network, or one nested in the configuration of another plugin.

    Attributes:
        keys: Its keys, with those that the delegating plugin adds.
        path: Its JSON pointer in the network configuration.
        place: The number of plugins of the same network that run before it.
        plugin: Index and type of the network's plugin that runs it, which may be the plugin itself.
    """

    type: str
    keys: t.Mapping[str, t.Any]
    versions: tuple[str, ...]
    path: str
    place: int
    plugin: tuple[int, str]


def executables(network: NetworkConfiguration) -> t.Iterator[Executable]:
    """Return every plugin that a network runs: its plugins, the plugins to which they delegate, and all IPAM plugins."""
    for plugin in all_plugins(network):
        ipam = _object(plugin.keys.get("ipam")).get("type")
        for name, place in ((plugin.type, "type"), (ipam, "ipam/type")):
            if isinstance(name, str) and name:
                yield Executable(name, plugin.versions, f"{plugin.path}/{place}", plugin.plugin)
        delegation = _delegation(plugin.type)
        if delegation and delegation.default_ipam and not ipam:
            yield Executable(delegation.default_ipam, plugin.versions, f"{plugin.path}/ipam", plugin.plugin)


def nested_types(network: NetworkConfiguration) -> tuple[str, ...]:
    """Return the types of all plugins of a network with a plugin that delegates to others, else an empty tuple."""
    if not any(_delegation(name) for name in network.plugin_types):
        return ()
    return tuple({executable.type: None for executable in executables(network) if "/" not in executable.type})


def all_plugins(network: NetworkConfiguration) -> t.Iterator[ConfiguredPlugin]:
    """Return every plugin configuration of a network, nested ones included."""
    for place, plugin in enumerate(network.plugins):
        path = f"/plugins/{plugin.index}" if network.is_list else ""
        yield from _with_delegates(
            ConfiguredPlugin(plugin.type, plugin.keys, network.versions, path, place, (plugin.index, plugin.type))
        )


def _with_delegates(plugin: ConfiguredPlugin) -> t.Iterator[ConfiguredPlugin]:
    yield plugin
    delegation = _delegation(plugin.type)
    if delegation is not None:
        yield from _delegates(plugin, delegation)


def _delegation(plugin_type: str) -> Delegation | None:
    # A run that finds every attachment unchanged runs no plugin, and does not need the catalogue.
    from ansible_collections.cni.node.plugins.module_utils._reference import catalogue

    return catalogue.find_plugin_type(plugin_type).delegation


def _delegates(plugin: ConfiguredPlugin, delegation: Delegation) -> t.Iterator[ConfiguredPlugin]:
    value, path = plugin.keys.get(delegation.key), f"{plugin.path}/{delegation.key}"
    if not delegation.is_list:
        yield from _with_delegates(_nest(plugin, delegation.complete(_object(value)), path))
        return
    for index, network in enumerate(_list(value)):
        yield from _network_plugins(plugin, _object(network), f"{path}/{index}")


def _network_plugins(
    outer: ConfiguredPlugin, network: t.Mapping[str, t.Any], path: str
) -> t.Iterator[ConfiguredPlugin]:
    """Return the plugins of a nested network, which is a network configuration list or a single plugin."""
    if network.get("cniVersion") or network.get("cniVersions"):
        with contextlib.suppress(CniError):
            outer = outer._replace(versions=config.parse_versions(network, ""))
    plugins = _list(network["plugins"]) if "plugins" in network else []
    for place, keys in enumerate(plugins):
        yield from _with_delegates(_nest(outer, _object(keys), f"{path}/plugins/{place}", place))
    if not plugins:
        yield from _with_delegates(_nest(outer, network, path))


def _nest(outer: ConfiguredPlugin, keys: t.Mapping[str, t.Any], path: str, place: int = 0) -> ConfiguredPlugin:
    plugin_type = keys.get("type")
    name = plugin_type if isinstance(plugin_type, str) else ""
    return outer._replace(type=name, keys=keys, path=path, place=place)


def _object(value: t.Any) -> t.Mapping[str, t.Any]:
    return value if isinstance(value, dict) else {}


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else []
