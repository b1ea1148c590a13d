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

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._reference.attachment_drift import AttachmentDrift
    from ansible_collections.cni.node.plugins.module_utils._reference.rules.firewall_drift import PartDrift
    from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference


class Resource(str, enum.Enum):
    """A kind of resource that is repaired, as the option ``resources`` names it."""

    RULES = "rules"
    INTERFACES = "interfaces"


_REPAIRED = "repaired: "
LIBRARY_HINT = f"without {LIBRARY}, rate limits are not repaired: install the package python3-pyroute2 on the node"


class Change(t.NamedTuple):
    """A repair of one thing, as results show it.

    Attributes:
        text: A command for a rule.
    """

    resource: Resource
    text: str


class Target(t.NamedTuple):
    """An attachment to repair, and its drift.

    Attributes:
        resources: What may be repaired; drift of other resources is only reported.
    """

    record: Record
    resources: frozenset[Resource]
    drift: AttachmentDrift

    @property
    def lost_parts(self) -> tuple[PartDrift, ...]:
        """The parts of the firewall rules that are repaired."""
        return self.drift.rules.missing if Resource.RULES in self.resources else ()

    @property
    def differences(self) -> list[Difference]:
        """The differences of the interfaces that are repaired."""
        return [each for each in self._repairable if _can_write(each)]

    @property
    def lacks_library(self) -> bool:
        return any(not _can_write(each) for each in self._repairable)

    @property
    def _repairable(self) -> list[Difference]:
        links = self.drift.links
        if Resource.INTERFACES not in self.resources or not self.drift.rules.is_readable or links is None:
            return []
        return [each for each in links.differences if each.is_repairable]

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes that repair it."""
        links = (f"{_REPAIRED}{each.message}" for each in self.differences if not each.follows)
        rules = dict.fromkeys(command for part in self.lost_parts for command in part.commands)
        return (
            *(Change(Resource.INTERFACES, text) for text in links),
            *(Change(Resource.RULES, text) for text in rules),
        )

    def predict(self) -> AttachmentDrift:
        """Return the drift that would remain after a repair."""
        links, rules = self.drift.links, self.drift.rules
        if links is not None:
            links = links.without(self.differences)
        return self.drift._replace(links=links, rules=rules.without_drift() if self.lost_parts else rules)


def _can_write(difference: Difference) -> bool:
    # A run that finds no difference does not load it.
    from ansible_collections.cni.node.plugins.module_utils._reference import interface_repair

    return interface_repair.can_write(difference)


class Repair(t.NamedTuple):
    """Result of repairing one attachment.

    Attributes:
        drift: What was missing or different, as messages.
        left: The drift that remains, or would remain in a dry run.
        changes: What was repaired, or would be in a dry run; rules as commands.
        resources: The kinds of what was repaired.
        lacks_library: Whether something could be repaired if pyroute2 were installed.
        reason: Why the attachment was left alone, or an empty string.
        error: Why something could not be repaired.
        is_deferred: Whether another run has to try: another repair does not end, the lock cannot be used, or a plugin of
            another runtime is running for the container.
        rules_error: Why rules could not be written. An ADD could not write them either.
        after: The drift that `left` shows; None if it is not known.
    """

    record: Record
    drift: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    resources: frozenset[Resource] = frozenset()
    lacks_library: bool = False
    reason: str = ""
    error: CniError | None = None
    is_deferred: bool = False
    rules_error: CniError | None = None
    after: AttachmentDrift | None = None

    @property
    def changed(self) -> bool:
        return bool(self.changes)

    @property
    def repaired(self) -> tuple[str, ...]:
        """The drift that is repaired."""
        return tuple(message for message in self.drift if message not in self.left)


def describe(repair: Repair) -> str:
    """Return the line of an attachment in the journal, or an empty string if nothing happened to it."""
    if repair.error:
        return f"failed: the {repair.record.attachment}: {repair.error}"
    return f"repaired: the {repair.record.attachment}: {'; '.join(repair.repaired)}" if repair.changed else ""
