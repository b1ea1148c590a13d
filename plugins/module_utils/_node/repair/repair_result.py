# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The types of the room: resources, targets, and the result of repairing an attachment."""

from __future__ import annotations

import enum
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._linux.links.traffic_control import LIBRARY


class Resource(str, enum.Enum):
    """A kind of resource that is repaired, as the option ``resources`` names it."""

    RULES = "rules"
    INTERFACES = "interfaces"


REPAIRED = "repaired: "
LIBRARY_HINT = f"without {LIBRARY}, rate limits are not repaired: install the package python3-pyroute2 on the node"


class Target(t.NamedTuple):
    """An attachment to repair.

    Attributes:
        resources: What may be repaired; drift of other resources is only reported.
    """

    record: Record
    resources: frozenset[Resource]


class Repair(t.NamedTuple):
    """Result of repairing one attachment.

    Attributes:
        drift: What was missing or different, as messages.
        left: The drift that remains, or would remain in a dry run.
        changes: What was repaired, or would be in a dry run; rules as commands.
        lacks_library: Whether something could be repaired if pyroute2 were installed.
        reason: Why the attachment was left alone, or an empty string.
        error: Why something could not be repaired.
        is_deferred: Whether another run has to try: another repair does not end, the lock cannot be used, or a plugin of
            another runtime is running for the container.
        rules_error: Why rules could not be written. An ADD could not write them either.
    """

    record: Record
    drift: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    lacks_library: bool = False
    reason: str = ""
    error: CniError | None = None
    is_deferred: bool = False
    rules_error: CniError | None = None

    @property
    def changed(self) -> bool:
        return bool(self.changes)

    @property
    def repaired(self) -> tuple[str, ...]:
        """The drift that is repaired."""
        return tuple(message for message in self.drift if message not in self.left)
