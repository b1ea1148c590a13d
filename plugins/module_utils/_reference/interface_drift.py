# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The drift of an attachment's links: what the kernel lacks of the state that follows from its record."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import NoExecutor, Parameters
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.state import facts, interfaces
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift, compare
from ansible_collections.cni.node.plugins.module_utils._reference.state.facts import Facts
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Resource, State


def find_drift(record: Record, network: NetworkConfiguration, view: NodeView) -> LinkDrift | None:
    """Compare the kernel with the state that follows from a record, without running a plugin.

    Args:
        network: The configuration in the record.
        view: What the node has. Whatever seems to be missing in it is looked for again.

    Returns:
        None if CHECK is disabled or the result cannot be compared with the kernel.

    Raises:
        CniError: ``IO_FAILURE``; ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    state = expected_state(record, network, view.lease_dir)
    if state is None:
        return None
    return compare(state, record.attachment.netns, view)


def expected_state(record: Record, network: NetworkConfiguration, lease_dir: str) -> State | None:
    """Return the state that follows from a record.

    Args:
        network: The configuration in the record.
        lease_dir: Default of ``dataDir`` of host-local.

    Returns:
        None if CHECK is disabled, or if the plugins are not known well enough.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result or a configuration that cannot be used.
    """
    with facts.wrap_errors(record):
        known = facts.read(record, network)
        if known is None:
            return None
        return interfaces.describe(known, lease_dir, tuple(_describe_chained(known, network)))


def _describe_chained(known: Facts, network: NetworkConfiguration) -> t.Iterator[Resource]:
    """Yield what the built-in plugins after the first one describe, from the configuration with which each was called.

    Raises:
        CniError: ``DECODE_FAILURE``: that is not a configuration that the plugin accepts.
    """
    record = known.record
    version = record.negotiated_version(network)
    for plugin in known.chained:
        builtin = registry.find_chained(plugin.row.name)
        if builtin is not None:
            parameters = Parameters("CHECK", record.attachment, record.builtin)
            request = PluginRequest(b"", dict(plugin.keys), version, network.name, parameters, NoExecutor())
            try:
                yield from builtin.describe_record(request, known.host_end)
            except CniError as exc:
                raise facts.unusable_record_error(record, f"plugin {plugin.row.name}: {exc}") from exc
