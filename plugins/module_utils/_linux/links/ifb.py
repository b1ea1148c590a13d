# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""IFB links, to which the plugin bandwidth redirects traffic."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._linux.links import link_change, qdiscs, rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link

_KIND = "ifb"


def names() -> list[str]:
    """Return the names of the IFB links in this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return [link.name for link in rtnetlink.links() if link.kind == _KIND]


def targets() -> set[str]:
    """Return the names of the links to which others redirect what they receive.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    present = {link.ifindex: link.name for link in rtnetlink.links()}
    return {present[target] for ifindex in present for target in qdiscs.redirects(ifindex) if target in present}


def remove(name: str) -> None:
    """Remove an IFB link; do nothing if it no longer exists; errors as `find`."""
    link = find(name)
    if link is not None:
        link_change.remove(link.ifindex, link.name)


def find(name: str) -> Link | None:
    """Return an IFB link, or None.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    link = rtnetlink.link(name)
    return link if link is not None and link.kind == _KIND else None


def is_target(link: Link, ends: t.Iterable[Link]) -> bool:
    """Return whether any of some links redirects what it receives to an IFB link; errors as `find`."""
    return any(link.ifindex in qdiscs.redirects(end.ifindex) for end in ends)


def release(link: Link, ends: t.Iterable[Link], others: t.Iterable[Link]) -> None:
    """Stop the redirection of some links to an IFB link, and remove it unless others redirect to it; errors as `find`.

    Of two processes that release it at the same time, the last one removes it, because each stops its own redirection first.
    """
    for end in ends:
        if is_target(link, [end]):
            qdiscs.stop_redirection(end.ifindex)
    if not is_target(link, others):
        link_change.remove(link.ifindex, link.name)
