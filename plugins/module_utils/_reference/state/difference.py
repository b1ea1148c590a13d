# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A difference between the kernel and the state of an attachment."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import Resource


class Difference(t.NamedTuple):
    """Something that the kernel lacks of the state of an attachment.

    Attributes:
        resource: What is missing; of a link, only the properties that differ.
        message: What is missing and where.
        is_repairable: Whether it can be repaired in place.
        link: The link that it concerns, as the kernel had it; None if it is missing.
        follows: Whether it follows from another difference, so that messages about drift leave it out.
    """

    resource: Resource
    message: str
    is_repairable: bool = True
    link: Link | None = None
    follows: bool = False

    @property
    def inside(self) -> bool:
        """Return whether it is in the container's network namespace."""
        return self.resource.inside
