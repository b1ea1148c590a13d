# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The drift of an attachment's links: what the kernel lacks of the state that follows from its record."""

from __future__ import annotations

from ansible_collections.cni.node.plugins.module_utils._reference.expected_state import RecordedRequests, expected_state
from ansible_collections.cni.node.plugins.module_utils._reference.node_view import NodeView
from ansible_collections.cni.node.plugins.module_utils._reference.state.comparison import LinkDrift, compare


def find_drift(requests: RecordedRequests, view: NodeView, *, looks_again: bool = True) -> LinkDrift | None:
    """Compare the kernel with the state that follows from a record, without running a plugin.

    Args:
        view: What the node has.
        looks_again: Whether what is missing in the view, which may be older than the record, is looked for again.

    Returns:
        None if CHECK is disabled or the result cannot be compared with the kernel.

    Raises:
        CniError: ``IO_FAILURE``; ``INCOMPATIBLE_VERSION`` or ``DECODE_FAILURE`` for a result that cannot be used.
    """
    state = expected_state(requests, view.lease_dir)
    if state is None:
        return None
    return compare(state, requests.record.attachment.netns, view, looks_again=looks_again)
