# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The level consistency: values that are valid one by one but do not work together."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.finding import Finding
from ansible_collections.cni.node.plugins.plugin_utils._validation.document import preparation
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.document import Document
from ansible_collections.cni.node.plugins.plugin_utils._validation.rules import (
    backends,
    chain,
    cluster_pools,
    gateways,
    kernel_routes,
    links,
    pools,
    routes,
    tuned_values,
)


def findings(document: Document) -> t.Iterator[Finding]:
    """Find values that are valid one by one but do not work together."""
    yield from preparation.qualify(document, _findings(document))


def _findings(document: Document) -> t.Iterator[Finding]:
    yield from chain.findings(document)
    for plugin in document.plugins:
        yield from pools.findings(document, plugin)
        yield from cluster_pools.findings(document, plugin)
        yield from gateways.findings(document, plugin)
        yield from routes.findings(document, plugin)
        yield from kernel_routes.findings(document, plugin)
        yield from links.findings(document, plugin)
        yield from tuned_values.findings(document, plugin)
        yield from backends.findings(document, plugin)
