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

_Keys = t.Mapping[str, t.Any]


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


def executables(network: NetworkConfiguration) -> t.Iterator[Executable]:
    """Return every plugin that a network makes run: its own, their IPAM plugins, and what flannel and Multus run."""
    for plugin in network.plugins:
        place = f"/plugins/{plugin.index}" if network.is_list else ""
        for name, versions, path in _types(plugin.keys, network.versions, place):
            yield Executable(name, versions, path, (plugin.index, plugin.type))


def _types(keys: _Keys, versions: tuple[str, ...], path: str) -> t.Iterator[tuple[str, tuple[str, ...], str]]:
    plugin_type, ipam = keys.get("type"), _object(keys.get("ipam"))
    for name, place in ((plugin_type, f"{path}/type"), (ipam.get("type"), f"{path}/ipam/type")):
        if isinstance(name, str) and name:
            yield name, versions, place
    if plugin_type == "flannel":
        yield from _types({"type": "bridge", **_object(keys.get("delegate"))}, versions, f"{path}/delegate")
        if not ipam.get("type"):
            yield "host-local", versions, f"{path}/ipam"
    elif plugin_type == "multus":
        for index, delegate in enumerate(_list(keys.get("delegates"))):
            yield from _network(_object(delegate), versions, f"{path}/delegates/{index}")


def _network(keys: _Keys, versions: tuple[str, ...], path: str) -> t.Iterator[tuple[str, tuple[str, ...], str]]:
    if keys.get("cniVersion") or keys.get("cniVersions"):
        with contextlib.suppress(CniError):
            versions = config.parse_versions(keys, "")
    yield from _types(keys, versions, path)
    for index, plugin in enumerate(_list(keys.get("plugins"))):
        yield from _types(_object(plugin), versions, f"{path}/plugins/{index}")


def _object(value: t.Any) -> _Keys:
    return value if isinstance(value, dict) else {}


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else []


__all__ = ("Executable", "executables")
