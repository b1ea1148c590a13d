# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration


class Prospect(t.NamedTuple):
    """A directory of network configurations as it is going to be.

    Attributes:
        wanted: The networks to be written, and those to stay as they are because they are wanted so.
        others: What all other files that stay define.
        before: What the directory has now, by the network's name.
        broken: What is wrong with the files that cannot be read and stay, by path.
        removed: Paths of the files that go.
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
        """Tell whether nothing is attached to a network by this configuration yet."""
        return self.before.get(network.name) != network


__all__ = ("Prospect",)
