# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The conf dir: its network configurations, and the order in which runtimes read them."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, json_text, printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._cni import config, runtime_reading
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration, PluginConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime_reading import (
    ENDINGS,
    LIST_ENDING,
    SINGLE_ENDINGS,
)

T = t.TypeVar("T")

# With cni.exclusive, its default.
_SET_ASIDE_BY_CILIUM = ".cilium_bak"


class ConfDir(t.NamedTuple):
    """The network configurations of a conf dir, in the reference runtime's lookup order.

    Attributes:
        networks: The winning file of each name: lists come before single plugins, then the lower file name wins.
        shadowed: Networks whose name an earlier file already uses.
        broken: The error of each file that this engine does not read, by path.
        refused: The networks of those broken files that container runtimes read, by path.
        misnamed: The error of each file that this engine reads and container runtimes do not, by path.
    """

    path: str
    networks: dict[str, NetworkConfiguration]
    shadowed: tuple[NetworkConfiguration, ...]
    broken: dict[str, CniError]
    refused: t.Mapping[str, NetworkConfiguration] = {}
    misnamed: t.Mapping[str, CniError] = {}

    @property
    def runtime_networks(self) -> list[NetworkConfiguration]:
        """The networks that container runtimes find, one of each name."""
        known = {
            network.name: network
            for network in (*self.refused.values(), *reversed(self.shadowed), *self.networks.values())
            if network.source not in self.misnamed
        }
        return list(known.values())

    def get(self, name: str) -> NetworkConfiguration:
        """Return a network by its name.

        Raises:
            CniError: ``INVALID_CONFIG``, with every unreadable file, as the network may be in one of them.
        """
        if name in self.networks:
            return self.networks[name]
        known = f"networks in this directory: {', '.join(sorted(self.networks)) or 'none'}"
        broken = [f"a file that cannot be read: {error}" for error in self.broken.values()]
        aside = [describe_set_aside(file) for file in find_set_aside(self.path, name)]
        raise CniError(Code.INVALID_CONFIG, f"no network {name!r} in {self.path}", "\n".join([known, *broken, *aside]))


def load(path: str) -> ConfDir:
    """Read every network configuration of a conf dir; a missing directory has none.

    Raises:
        CniError: ``IO_FAILURE`` when the directory cannot be listed.
    """
    refused: dict[str, NetworkConfiguration] = {}
    misnamed: dict[str, CniError] = {}
    directory = ConfDir(path, {}, (), {}, refused, misnamed)
    shadowed = []
    for name in sorted(list_files(path), key=precedence):
        file = os.path.join(path, name)
        try:
            network = load_file(file)
        except CniError as exc:
            directory.broken[file] = exc
            with contextlib.suppress(CniError):
                refused[file] = _load_as_runtimes(file)
            continue
        fault = runtime_reading.find_misnamed(name, is_list=network.is_list)
        if fault:
            misnamed[file] = _make_error(file, fault)
        if directory.networks.setdefault(network.name, network) is not network:
            shadowed.append(network)
    return directory._replace(shadowed=tuple(shadowed))


def load_file(path: str) -> NetworkConfiguration:
    """Read a network configuration and its plugin directory.

    Raises:
        CniError: As `config.parse`, and ``IO_FAILURE``.
    """
    # A file name may contain line breaks.
    network = complete(config.parse(_read(path), printable.line(path)), os.path.dirname(path))
    return network if network.source == path else network._replace(source=path)


def find_misnamed(path: str) -> dict[str, CniError]:
    """Return an error for each network in a file whose name no runtime reads, such as ``10-net.yaml``, by path.

    Hidden files and copies that were set aside, such as ``10-net.conflist.bak``, have none.
    """
    found = {}
    for name in list_files(path, ("",)):
        if name.endswith(ENDINGS) or is_set_aside(name):
            continue
        file = os.path.join(path, name)
        network = _read_network(file)
        fault = runtime_reading.find_misnamed(name, is_list="plugins" in network) if network else None
        if fault:
            found[file] = _make_error(file, fault)
    return found


def _read_network(path: str) -> json_text.JsonObject:
    """Return the network configuration in a file of any name, or an empty object if it has none."""
    try:
        value = json_text.decode(_read(path), path)
    except CniError:
        return {}
    is_network = isinstance(value, dict) and "cniVersion" in value and ("plugins" in value or "type" in value)
    return value if is_network else {}


def _make_error(path: str, fault: runtime_reading.Misnamed) -> CniError:
    return CniError(Code.INVALID_CONFIG, f"{printable.line(path)}: {fault.message}", fault.hint)


def _load_as_runtimes(path: str) -> NetworkConfiguration:
    """Return the network that container runtimes find in a file that this engine refuses.

    Raises:
        CniError: They find none.
    """

    def read_plugin_directory(name: str) -> list[tuple[str, bytes]]:
        below = os.path.join(os.path.dirname(path), name)
        files = [os.path.join(below, file) for file in list_files(below, SINGLE_ENDINGS[:1])]
        return [(printable.line(file), _read(file)) for file in files]

    return runtime_reading.read(_read(path), path, read_plugin_directory)


def complete(network: NetworkConfiguration, directory: str) -> NetworkConfiguration:
    """Append the plugins of a network's plugin directory.

    Args:
        directory: The directory of the network's file, which need not exist yet.

    Raises:
        CniError: As `config.parse_plugin`, ``IO_FAILURE``, and ``INVALID_CONFIG`` if there is no plugin.
    """
    if network.is_list and not network.load_only_inlined_plugins:
        appended = _plugin_directory(network, os.path.join(directory, network.name))
        network = network.with_plugins(appended) if appended else network
    return network.require_plugins()


def list_files(path: str, endings: tuple[str, ...] = ENDINGS) -> list[str]:
    """Return the file names that runtimes read as network configurations, without hidden files."""
    names: list[str] = []
    with io_errors("list", path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = os.listdir(path)
    return sorted(
        name
        for name in names
        if name.endswith(endings) and name[0] != "." and not os.path.isdir(os.path.join(path, name))
    )


def find_set_aside(path: str, network: str) -> list[str]:
    """Return the paths of files that define a network, and whose ending keeps runtimes from reading them."""
    found = []
    for name in durable.list_directory(path):
        file = os.path.join(path, name)
        if is_set_aside(name):
            with contextlib.suppress(CniError):
                if config.parse(_read(file), printable.line(file)).name == network:
                    found.append(file)
    return found


def is_set_aside(name: str) -> bool:
    """Return whether a name belongs to a copy, such as ``10-net.conflist.bak`` and ``10-net.conflist~``."""
    return not name.endswith(ENDINGS) and any(f"{ending}{mark}" in name for ending in ENDINGS for mark in ".-_~@ ")


def describe_set_aside(file: str) -> str:
    """Return who has set a file aside, and what to do."""
    name = printable.line(os.path.basename(file))
    if name.endswith(_SET_ASIDE_BY_CILIUM):
        return f"it is set aside as {name}: Cilium renames files of others; set cni.exclusive to false in Cilium, and rename it back"
    return f"it is set aside as {name}: rename it back, or remove it"


def without(files: t.Mapping[str, T], paths: t.Container[str]) -> dict[str, T]:
    """Return what is known about files, without some of their paths."""
    return {path: known for path, known in files.items() if path not in paths}


def precedence(name: str) -> tuple[bool, str]:
    """Return the sort key of a file name: the winning file comes first, lists before single plugins."""
    return not name.endswith(LIST_ENDING), name


def _plugin_directory(network: NetworkConfiguration, path: str) -> list[PluginConfiguration]:
    plugins = []
    for index, name in enumerate(list_files(path, SINGLE_ENDINGS[:1]), start=len(network.plugins)):
        file = os.path.join(path, name)
        escaped_path = printable.line(file)
        keys = json_text.decode(_read(file), escaped_path, unique_keys=True)
        plugins.append(config.parse_plugin(keys, index, escaped_path, ""))
    return plugins


def _read(path: str) -> bytes:
    content = durable.read(path)
    if content is None:
        raise CniError(Code.IO_FAILURE, f"cannot read {path}, which no longer exists")
    return content
