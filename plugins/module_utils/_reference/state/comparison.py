# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Compare the kernel with the state of an attachment, in its container and on the node."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.rtnetlink import View
from ansible_collections.cni.node.plugins.module_utils._reference.state import host, resources
from ansible_collections.cni.node.plugins.module_utils._reference.state.container import ContainerComparison
from ansible_collections.cni.node.plugins.module_utils._reference.state.difference import Difference
from ansible_collections.cni.node.plugins.module_utils._reference.state.node import Node
from ansible_collections.cni.node.plugins.module_utils._reference.state.resources import State


class LinkDrift(t.NamedTuple):
    """The drift of an attachment's links.

    Attributes:
        inside: Messages about the container's network namespace.
        on_node: Messages about the node.
        differences: What is missing or different.
        state: The state that was compared.
    """

    inside: tuple[str, ...]
    on_node: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    state: State = ()

    @property
    def messages(self) -> tuple[str, ...]:
        return (*self.inside, *self.on_node)

    def without(self, differences: t.Collection[Difference]) -> LinkDrift:
        """Return the drift that remains when some differences are repaired."""
        left = tuple(difference for difference in self.differences if difference not in differences)
        gone = {difference.message for difference in differences} - {difference.message for difference in left}
        inside, on_node = (tuple(each for each in messages if each not in gone) for messages in self[:2])
        return LinkDrift(inside, on_node, left, self.state)

    def compare_again(self, netns: str, node: Node) -> LinkDrift:
        """Return the drift that the same state has now, as `compare` does with a view that is younger than the state."""
        return compare(self.state, netns, node)


def compare(state: State, netns: str, node: Node, *, looks_again: bool = False) -> LinkDrift:
    """Compare the kernel with a state.

    Args:
        netns: Path of the container's network namespace.
        node: What the node has.
        looks_again: Whether what is missing in a view, which may be older than the state, is looked for again.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    view = _container_view(state, netns)
    inside = list(ContainerComparison(state, view).find())
    on_node = list(host.find(state, node, view.links, netns))
    if on_node and looks_again:
        on_node = list(host.find(state, Node(), view.links, netns))
    return LinkDrift(_messages(inside), _messages(on_node), (*inside, *on_node), state)


def _container_view(state: State, netns: str) -> View:
    inside = [resource for resource in state if resource.inside]
    kinds = set(map(type, inside))
    return rtnetlink.snapshot(
        netns,
        routes=resources.ExpectedRoute in kinds,
        rules=resources.ExpectedRule in kinds,
        settings=[resource.path for resource in inside if isinstance(resource, resources.Sysctl)],
    )


def _messages(differences: t.Iterable[Difference]) -> tuple[str, ...]:
    return tuple(difference.message for difference in differences if not difference.follows)
