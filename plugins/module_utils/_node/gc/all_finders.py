# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.gc.bridge_ports import BridgePortFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.finder import Finder, GcRun
from ansible_collections.cni.node.plugins.module_utils._node.gc.firewall_rules import FirewallRuleFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.ifb_links import IfbLinkFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.iptables_rules import IptablesRuleFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.nftables_rules import (
    NftMasqueradeFinder,
    NftPortMappingFinder,
)
from ansible_collections.cni.node.plugins.module_utils._node.gc.orphan_chains import OrphanChainFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.spoof_chains import SpoofChainFinder
from ansible_collections.cni.node.plugins.module_utils._node.gc.tuning_files import SavedValueFinder

# In the order of collection: a leaked link may be what keeps a chain. A new kind of leak is one more class here. Attachments
# (records.py) and leases (leases.py) are not in it: the collector makes a finder for each directory of leases.
FINDERS: t.Final[tuple[t.Callable[[GcRun], Finder[t.Any]], ...]] = (
    IptablesRuleFinder,
    NftMasqueradeFinder,
    OrphanChainFinder,
    NftPortMappingFinder,
    FirewallRuleFinder,
    IfbLinkFinder,
    BridgePortFinder,
    SavedValueFinder,
    SpoofChainFinder,
)

__all__ = ("FINDERS",)
