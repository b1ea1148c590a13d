# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import link_change, program, rtnetlink

_KIND: t.Final = "ifb"
_OUTPUT_LIMIT: t.Final = 64 * 1024 * 1024
# The name of a link has no space and no end of a line, and anything else.
_REDIRECTS: t.Final = re.compile(r"mirred \(Egress Redirect to device ([^ \n]+)\)")
_RECEIVING: t.Final = re.compile(r"^qdisc (?:ingress|clsact) [^ \n]+ dev ([^ \n]+)", re.MULTILINE)


def names() -> list[str]:
    """Return the intermediate functional blocks of this thread's network namespace.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    return [link.name for link in rtnetlink.links() if link.kind == _KIND]


def targets() -> set[str] | None:
    """Return the links that others send all they receive to; nothing where `tc` is not installed to tell.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    path = program.find("tc")
    if not path:
        return None
    shown = [_filters(path, name) for name in sorted(_receiving(path))]
    return {target for text in shown for target in _REDIRECTS.findall(text)}


def remove(name: str) -> None:
    """Remove such a link, or find that it has gone meanwhile.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    link = rtnetlink.link(name)
    if link is not None and link.kind == _KIND:
        link_change.remove(link.ifindex, link.name)


def _receiving(path: str) -> set[str]:
    """Return the links that do something with what they receive.

    As JSON, some releases of tc print names that are none.
    """
    return set(_RECEIVING.findall(program.output([path, "qdisc", "show"], limit=_OUTPUT_LIMIT)))


def _filters(path: str, name: str) -> str:
    """Return what a link does with what it receives; nothing where it has gone meanwhile.

    The filters that plugins make cannot be had as JSON from all releases.
    """
    try:
        return program.output([path, "filter", "show", "dev", name, "ingress"])
    except CniError:
        if name in _receiving(path):
            raise
        return ""


__all__ = ("names", "remove", "targets")
