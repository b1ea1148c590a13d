# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._node.conflists.ownership import Ownership


class ConflistDirectory:
    """A directory of network configurations as it is on disk.

    Attributes:
        networks: By name, the networks that runtimes find.
        all_networks: These, and the networks that another file of the same network shadows.
        broken: By path, the error of each file that cannot be read.
        ownership: Which files this collection has written.
        own: The same as names of files, each with the name of its network.
    """

    def __init__(self, path: str) -> None:
        if not os.path.isabs(path):
            raise CniError(Code.INVALID_CONFIG, f"conf_dir: {path!r} is not an absolute path")
        loaded = conf_dir.load(path)
        self.path = path
        self.networks = loaded.networks
        self.all_networks = [*loaded.networks.values(), *loaded.shadowed]
        self.broken = loaded.broken
        self.ownership = Ownership.load(path)
        self.own = self.ownership.networks_by_file()

    def network_of(self, path: str) -> str:
        """Return the network that a file defines; of an unreadable file the one it was written for, or ""."""
        defined = (network.name for network in self.all_networks if network.source == path)
        return next(defined, self.own.get(os.path.basename(path), ""))


class PlannedDirectory(t.NamedTuple):
    """A directory of network configurations as it will be once a plan has been carried out.

    Attributes:
        wanted: The networks of the task, written or already there.
        others: What all other remaining files define.
        before: The networks that are there now, by name.
        broken: By path, the error of each remaining file that cannot be read.
        removed: Paths of the files that will be removed.
        own: Names of the files that this collection has written.
    """

    path: str
    wanted: tuple[NetworkConfiguration, ...]
    others: tuple[NetworkConfiguration, ...]
    before: t.Mapping[str, NetworkConfiguration]
    broken: t.Mapping[str, CniError]
    removed: frozenset[str]
    own: frozenset[str]

    def is_new(self, network: NetworkConfiguration) -> bool:
        """Return whether the configuration differs from the one on disk, so that nothing is attached by it yet."""
        return self.before.get(network.name) != network


__all__ = ("ConflistDirectory", "PlannedDirectory")
