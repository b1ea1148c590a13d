# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import dataclasses
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._module.run import warn
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import unwanted
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
)

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule


@dataclasses.dataclass(frozen=True)
class Batch:
    """All that a task wants, and what of it this call is to do: the controller has a long batch done in several calls.

    What is to be purged is found by the first of them, so that it is the same for all.

    Attributes:
        left: Places of what this call is to do, in `wanted` and, after that, in `purged`.
    """

    wanted: list[DesiredAttachment]
    purged: list[DesiredAttachment]
    left: t.Sequence[int]

    @property
    def asked(self) -> list[DesiredAttachment]:
        every = [*self.wanted, *self.purged]
        return [every[place] for place in self.left]

    @property
    def containers(self) -> int:
        return len({one.attachment.container_id for one in self.asked})

    def rest(self, outcomes: t.Iterable[AttachmentResult]) -> dict[str, t.Any] | None:
        """Return what the next call is to be told, if there has to be one."""
        done = {outcome.attachment.key for outcome in outcomes}
        left = [place for place, one in zip(self.left, self.asked) if one.attachment.key not in done]
        if not left:
            return None
        given = (one.attachment for one in self.purged)
        purged = [(one.network, one.container_id, one.ifname, one.netns) for one in given]
        # As ASCII, so that a path of any bytes comes back as it was.
        return {"left": left, "purged": json.dumps(purged)}


def batch(module: AnsibleModule, runtime: Runtime, wanted: list[DesiredAttachment]) -> Batch:
    """Return what there is to be done; warn of what cannot be purged."""
    told = module.params["_controller"]
    if told:
        return Batch(
            wanted,
            [DesiredAttachment(Attachment(*names), present=False) for names in json.loads(told["purged"])],
            told["left"],
        )
    purged, unknown = unwanted(runtime, wanted) if module.params["purge"] else ([], [])
    warn(module, (f"not purged, for nobody can tell whose it is: {error}" for error in unknown))
    return Batch(wanted, purged, range(len(wanted) + len(purged)))


__all__ = ("Batch", "batch")
