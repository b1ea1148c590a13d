# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The conf dir as it is, and as it will be after a plan."""

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
        networks: By name, the networks that this engine uses.
        all_networks: These networks, those in files that another file shadows, and those that only runtimes read.
        broken: By path, the error of each file that this engine does not read.
        refused: By path, the networks of those broken files that container runtimes read.
        misnamed: By path, the error of each file that this engine reads and container runtimes do not.
        ownership: Which files this collection has written.
        own: The names of these files, each with the name of its network.
    """

    def __init__(self, path: str) -> None:
        if not os.path.isabs(path):
            raise CniError(Code.INVALID_CONFIG, f"conf_dir: {path!r} is not an absolute path")
        loaded = conf_dir.load(path)
        self.path = path
        self.networks = loaded.networks
        self.all_networks = [*loaded.networks.values(), *loaded.shadowed, *loaded.refused.values()]
        self.broken = loaded.broken
        self.refused = loaded.refused
        self.misnamed = loaded.misnamed
        self.ownership = Ownership.load(path)
        self.own = self.ownership.networks_by_file()

    def network_of(self, path: str) -> str:
        """Return the network that a file defines; for an unreadable file, the network it was written for, or ""."""
        defined = (network.name for network in self.all_networks if network.source == path)
        return next(defined, self.own.get(os.path.basename(path), ""))

    def as_planned(self) -> PlannedDirectory:
        """Return the directory as a plan that keeps every file as it is."""
        return PlannedDirectory(
            path=self.path,
            desired=tuple(self.networks.values()),
            others=tuple(self.all_networks[len(self.networks) :]),
            before=self.networks,
            broken=self.broken,
            removed=frozenset(),
            own=frozenset(self.own),
            refused=self.refused,
            misnamed=self.misnamed,
        )


class PlannedDirectory(t.NamedTuple):
    """A directory of network configurations as it will be once a plan has been carried out.

    Attributes:
        desired: The networks of the task, to be written or unchanged.
        others: The networks of all other remaining files.
        before: The current networks, by name.
        broken: By path, the error of each remaining file that this engine does not read.
        removed: Paths of the files that will be removed.
        own: Names of the files that this collection has written.
        refused: By path, the networks of those broken files that container runtimes read.
        misnamed: By path, the error of each remaining file that this engine reads and container runtimes do not.
    """

    path: str
    desired: tuple[NetworkConfiguration, ...]
    others: tuple[NetworkConfiguration, ...]
    before: t.Mapping[str, NetworkConfiguration]
    broken: t.Mapping[str, CniError]
    removed: frozenset[str]
    own: frozenset[str]
    refused: t.Mapping[str, NetworkConfiguration] = {}
    misnamed: t.Mapping[str, CniError] = {}

    def is_new(self, network: NetworkConfiguration) -> bool:
        """Return whether the configuration differs from the one on disk, so that no attachment has it yet."""
        return self.before.get(network.name) != network
