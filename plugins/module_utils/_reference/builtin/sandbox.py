# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The network namespace of a container, in which plugins read and write."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import io_errors
from ansible_collections.cni.node.plugins.module_utils._base.group_commit import GroupCommit
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.contract import PluginRequest
from ansible_collections.cni.node.plugins.module_utils._cni.plugin.keys import refuse
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import kernel_writer, link_change, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.kernel_writer import KernelWriter
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._reference.state.own_links import LinkClaim

T = t.TypeVar("T")


class _Policy:
    """The network namespaces that may be a container's: not that of the node, unless the runtime says so."""

    allow_own = False


_POLICY = _Policy()


def follow_override(value: str) -> None:
    """Accept the plugin's own network namespace from now on if the runtime asks for it.

    Args:
        value: That of ``CNI_NETNS_OVERRIDE``, which concerns executables.
    """
    _POLICY.allow_own = value.lower() in ("1", "true")


def open_sandbox(attachment: Attachment) -> t.ContextManager[int]:
    """Return a descriptor of the container's network namespace, as a context; errors as `netns.open_foreign`."""
    return netns.open_foreign(attachment.netns, allow_own=_POLICY.allow_own)


def exists(attachment: Attachment) -> bool:
    """Return whether the container's network namespace is there, for DEL. The node's own belongs to no container."""
    return bool(attachment.netns) and netns.is_foreign(attachment.netns, allow_own=_POLICY.allow_own)


def run_inside(attachment: Attachment, operation: t.Callable[[KernelWriter], T]) -> T:
    """Call a function in the container's network namespace, with a writer for it.

    Raises:
        CniError: As `open_sandbox`; ``IO_FAILURE``; an error of the function.
    """

    def run() -> T:
        with kernel_writer.connect() as writer:
            return operation(writer)

    return call_inside(attachment, run)


def call_inside(attachment: Attachment, operation: t.Callable[[], T]) -> T:
    """Call a function that only reads in the container's network namespace; errors as `run_inside`."""
    with open_sandbox(attachment) as descriptor, io_errors("enter", attachment.netns):
        return netns.run_in(descriptor, operation)


def require_link(name: str) -> Link:
    """Return a link of this thread's network namespace; raise an error if there is none."""
    link = rtnetlink.link(name)
    if link is None:
        raise refuse(f"there is no link {name}")
    return link


def require_link_inside(attachment: Attachment) -> Link:
    """Return the container's interface; raise an error if there is none."""
    link = rtnetlink.link(attachment.ifname, attachment.netns)
    if link is None:
        raise refuse(f"there is no interface {attachment.ifname} in {attachment.netns}")
    return link


def remove_link(attachment: Attachment) -> None:
    """Remove the container's link that has the interface's name, which ADD has just made.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    link = rtnetlink.link(attachment.ifname, attachment.netns) if exists(attachment) else None
    if link is not None:
        link_change.remove(link.ifindex, link.name, attachment.netns)


def remove_own_link(request: PluginRequest, plugin_type: str) -> None:
    """Remove the link that ADD has made, even if it was renamed. Another link that has its name stays.

    A veth pair is removed by the node's end, together with those of other threads.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    attachment, addresses = request.attachment, request.own_addresses() or frozenset()
    if not exists(attachment):
        return
    claim = LinkClaim.from_result(attachment, plugin_type, request.prev_result, addresses)
    links = claim.find_links(attachment.netns)
    if links.host_end is not None:
        _REMOVALS.submit(links.host_end.ifindex)
    elif links.inside is not None:
        link_change.remove(links.inside.ifindex, links.inside.name, attachment.netns)


def _remove_all(indexes: t.Sequence[int]) -> dict[int, Exception]:
    link_change.remove_all(indexes)
    return {}


# The kernel removes the veth pairs of all threads that wait in the time of one.
_REMOVALS = GroupCommit(_remove_all)
