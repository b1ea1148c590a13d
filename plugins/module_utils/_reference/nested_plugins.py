# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

_RUN_OTHERS: t.Final = frozenset(("flannel", "multus"))


class Executable(t.NamedTuple):
    """A plugin that a network makes run.

    Attributes:
        versions: Those of the specification in which it may be spoken to.
        path: JSON pointer of what names it.
        plugin: Index and type of the plugin of the network that runs it, or is it.
    """

    type: str
    versions: tuple[str, ...]
    path: str
    plugin: tuple[int, str]


class Configured(t.NamedTuple):
    """A plugin configuration of a network, or one inside of another's, which that is going to run.

    Attributes:
        keys: With what is added to them: a type, at least.
        path: JSON pointer of it.
        place: How many plugins of the same network run before it.
        plugin: Index and type of the plugin of the network that runs it, or is it.
    """

    type: str
    keys: t.Mapping[str, t.Any]
    versions: tuple[str, ...]
    path: str
    place: int
    plugin: tuple[int, str]


def executables(network: NetworkConfiguration) -> t.Iterator[Executable]:
    """Return every plugin that a network makes run: its own, their IPAM plugins, and what flannel and Multus run."""
    for one in configured(network):
        ipam = _object(one.keys.get("ipam")).get("type")
        for name, place in ((one.type, "type"), (ipam, "ipam/type")):
            if isinstance(name, str) and name:
                yield Executable(name, one.versions, f"{one.path}/{place}", one.plugin)
        if one.type == "flannel" and not ipam:
            yield Executable("host-local", one.versions, f"{one.path}/ipam", one.plugin)


def nested_types(network: NetworkConfiguration) -> tuple[str, ...]:
    """Return the plugins that flannel and Multus are going to run for a network, and the IPAM plugins of these."""
    if _RUN_OTHERS.isdisjoint(network.plugin_types):
        return ()
    return tuple({one.type: None for one in executables(network) if "/" not in one.type})


def configured(network: NetworkConfiguration) -> t.Iterator[Configured]:
    """Return every plugin configuration of a network, those inside of others included."""
    for place, plugin in enumerate(network.plugins):
        path = f"/plugins/{plugin.index}" if network.is_list else ""
        yield from _with_delegates(
            Configured(plugin.type, plugin.keys, network.versions, path, place, (plugin.index, plugin.type))
        )


def _with_delegates(one: Configured) -> t.Iterator[Configured]:
    yield one
    if one.type == "flannel":
        keys = {"type": "bridge", "isGateway": True, **_object(one.keys.get("delegate"))}
        yield from _with_delegates(_inner(one, keys, f"{one.path}/delegate"))
    elif one.type == "multus":
        for index, delegate in enumerate(_list(one.keys.get("delegates"))):
            yield from _of_multus(one, _object(delegate), f"{one.path}/delegates/{index}")


def _of_multus(one: Configured, network: t.Mapping[str, t.Any], path: str) -> t.Iterator[Configured]:
    if network.get("cniVersion") or network.get("cniVersions"):
        with contextlib.suppress(CniError):
            one = one._replace(versions=config.parse_versions(network, ""))
    listed = _list(network["plugins"]) if "plugins" in network else []
    for place, plugin in enumerate(listed):
        yield from _with_delegates(_inner(one, _object(plugin), f"{path}/plugins/{place}", place))
    if not listed:
        yield from _with_delegates(_inner(one, network, path))


def _inner(one: Configured, keys: t.Mapping[str, t.Any], path: str, place: int = 0) -> Configured:
    plugin_type = keys.get("type")
    name = plugin_type if isinstance(plugin_type, str) else ""
    return one._replace(type=name, keys=keys, path=path, place=place)


def _object(value: t.Any) -> t.Mapping[str, t.Any]:
    return value if isinstance(value, dict) else {}


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else []


__all__ = ("Configured", "Executable", "configured", "executables", "nested_types")
