# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The links of a node that a test makes up, as `rtnetlink.link_table` returns them."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link


class ListedLinks:
    """Stands for `rtnetlink.LinkTable`."""

    def __init__(self, links: t.Collection[Link]) -> None:
        self._links = links

    def by_name(self, name: str) -> Link | None:
        return next((link for link in self._links if link.name == name), None)

    def by_index(self, ifindex: int) -> Link | None:
        return next((link for link in self._links if link.ifindex == ifindex), None)
