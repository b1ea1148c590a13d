# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._module.attachments_items import desired_attachments
from ansible_collections.cni.node.plugins.module_utils._module.attachments_result import CONTINUATION_KEY
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import find_unlisted
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
)

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


class Batch(t.NamedTuple):
    """The attachments of a task, and those that this call is due to reconcile: a long task takes several calls.

    The first call finds what is purged, so that it is the same for all calls.

    Attributes:
        listed: What the task lists.
        purged: What is removed because the task does not list it.
        places: The positions, in `all`, of those due.
        all: Both `listed` and `purged`.
        containers: The number of containers among those due.
    """

    listed: list[DesiredAttachment]
    purged: list[DesiredAttachment]
    places: t.Sequence[int]
    all: list[DesiredAttachment]
    due: list[DesiredAttachment]
    containers: int

    def continuation(self, results: t.Iterable[AttachmentResult]) -> dict[str, t.Any]:
        """Return what the result passes to the next call, under its key; empty where nothing is left to do."""
        done = {result.attachment.key for result in results}
        places = [place for place, item in zip(self.places, self.due) if item.attachment.key not in done]
        if not places:
            return {}
        attachments = (item.attachment for item in self.purged)
        purged = [(each.network, each.container_id, each.ifname, each.netns) for each in attachments]
        # As ASCII, so that a path of any bytes comes back as it was.
        return {CONTINUATION_KEY: {"left": places, "purged": json.dumps(purged)}}


def plan_batch(module: AnsibleModule, runtime: Runtime) -> Batch:
    """Return what this call has to do; warn of what cannot be purged."""
    listed, continuation = desired_attachments(module.params), module.params[CONTINUATION_KEY]
    purged: list[DesiredAttachment] = []
    unreadable: list[CniError] = []
    if continuation:
        keys = json.loads(continuation["purged"])
        purged = [DesiredAttachment(Attachment(*names), present=False) for names in keys]
    elif module.params["purge"]:
        purged, unreadable = find_unlisted(runtime, listed)
    warn(module, (f"not purged, because its owner is unknown: {error}" for error in unreadable))
    everything = [*listed, *purged]
    places = continuation["left"] if continuation else range(len(everything))
    due = [everything[place] for place in places]
    return Batch(listed, purged, places, everything, due, len({item.attachment.container_id for item in due}))


__all__ = ("Batch", "plan_batch")
