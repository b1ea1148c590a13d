# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Plugins that complete the configuration of host-local before they run it."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document, DocumentPlugin

# kube-router writes the range into its file on each node.
_BRIDGE_OF_KUBE_ROUTER = "kube-bridge"
# Calico replaces these words in ``subnet`` by the ranges of the node.
_WORDS_OF_CALICO = ("usePodCidr", "usePodCidrIPv6")


def gets_ranges(plugin: DocumentPlugin) -> bool:
    """Return whether a program may fill in host-local's ranges before it runs."""
    known = plugin.traits
    return not known.passes_ipam or (known.is_bridge and plugin.keys.get("bridge") == _BRIDGE_OF_KUBE_ROUTER)


def qualify(document: Document, findings: t.Iterable[Finding]) -> t.Iterator[Finding]:
    """Yield findings; where a plugin prepares the configuration of host-local, errors about it become warnings."""
    prepared = [
        f"{plugin.ipam_path}/"
        for plugin in document.plugins
        if plugin.ipam_traits.has_ranges and not plugin.traits.passes_ipam
    ]
    for finding in findings:
        is_prepared = any(finding.path.startswith(path) for path in prepared)
        if not (is_prepared and finding.value in _WORDS_OF_CALICO):
            yield finding._replace(is_conditional=finding.is_conditional or is_prepared)
