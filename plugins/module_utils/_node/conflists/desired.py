# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The network configurations that a task requests, as files of the conf dir."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir, config, runtime_reading
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration

_FILENAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.@+\-]*", re.ASCII)


class DesiredConflist(t.NamedTuple):
    """A network configuration that a task wants to be present or absent.

    Attributes:
        where: The item, as errors name it.
        content: The JSON text of the file; None if the file should be absent.
        network: The network's name, if the item gives one.
        filename: The file's name, if the item gives one; otherwise it is made from priority and network.
    """

    where: str
    content: bytes | None
    network: str = ""
    filename: str = ""
    priority: int = 10


class FileToWrite(t.NamedTuple):
    """A file that should be present.

    Attributes:
        network: The network that it defines; its `source` is the file's path.
        content: The text of the file.
    """

    network: NetworkConfiguration
    content: bytes


class FileToRemove(t.NamedTuple):
    """A file that should be absent; with an empty path, every file that defines the network."""

    where: str
    network: str
    path: str


class DesiredFiles(t.NamedTuple):
    """The items of a task as files of a directory."""

    present: list[FileToWrite]
    absent: list[FileToRemove]


def locate(items: t.Iterable[DesiredConflist], directory: str) -> DesiredFiles:
    """Return the files that items describe, with every configuration parsed.

    Raises:
        CniError: A configuration or file name is invalid, or two items define the same network or file.
    """
    files = DesiredFiles([], [])
    for item in items:
        if item.content is None:
            path = _path(item, item.filename, directory) if item.filename else ""
            files.absent.append(FileToRemove(item.where, item.network, path))
        else:
            file = FileToWrite(_parse(item, item.content, directory), item.content)
            _require_distinct(file.network, item, files.present)
            files.present.append(file)
    return files


def _parse(item: DesiredConflist, content: bytes, directory: str) -> NetworkConfiguration:
    network = conf_dir.complete(config.parse(content, item.where), directory)
    path = _path_for(network, item, directory)
    if item.network and item.network != network.name:
        raise CniError(
            Code.INVALID_CONFIG,
            f"{item.where}: the name is {item.network!r}, but the configuration defines {network.name!r}",
            "correct one of them, or leave out the item's name",
        )
    return network._replace(source=path)


def _path_for(network: NetworkConfiguration, item: DesiredConflist, directory: str) -> str:
    endings = (runtime_reading.LIST_ENDING,) if network.is_list else runtime_reading.SINGLE_ENDINGS
    filename = item.filename or f"{item.priority:02d}-{network.name}{endings[0]}"
    path = _path(item, filename, directory)
    if not filename.endswith(endings):
        kind = "a list of plugins" if network.is_list else "a single plugin"
        raise CniError(
            Code.INVALID_CONFIG,
            f"{item.where}: the file name {filename!r} does not fit {kind}",
            f"expected: a name that ends with {' or '.join(endings)}; or leave out filename",
        )
    return path


def _path(item: DesiredConflist, filename: str, directory: str) -> str:
    if not _FILENAME.fullmatch(filename) or not filename.endswith(runtime_reading.ENDINGS):
        raise CniError(
            Code.INVALID_CONFIG,
            f"{item.where}: {filename!r} is not a valid file name for a network configuration",
            f"expected: letters, digits, '_', '.', '@', '+', '-', and one of {', '.join(runtime_reading.ENDINGS)} at the end",
        )
    return os.path.join(directory, filename)


def _require_distinct(network: NetworkConfiguration, item: DesiredConflist, others: t.Sequence[FileToWrite]) -> None:
    if any(other.network.name == network.name for other in others):
        raise CniError(Code.INVALID_CONFIG, f"{item.where}: network {network.name!r} is given twice")
    if any(other.network.source == network.source for other in others):
        raise CniError(
            Code.INVALID_CONFIG,
            f"{item.where}: another item writes {network.source} as well",
            "give each network a file of its own",
        )
