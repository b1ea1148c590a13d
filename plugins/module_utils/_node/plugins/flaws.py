# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Flaws of releases of the reference plugins that an operator has to know of."""

from __future__ import annotations

import typing as t

_Numbers = tuple[int, ...]


class Flaw(t.NamedTuple):
    """A flaw of some releases.

    Attributes:
        since: The first release that has it.
        fixed: The first later release without it.
        plugins: The plugins that have it; empty for all.
        text: What it does.
        source: Where it is described.
    """

    since: _Numbers
    fixed: _Numbers
    plugins: tuple[str, ...]
    text: str
    source: str


_PROJECT: t.Final = "containernetworking/plugins"

FLAWS: t.Final = (
    Flaw(
        (0, 0, 0),
        (1, 1, 0),
        ("portmap",),
        "a new UDP mapping cuts UDP connections of all others",
        f"{_PROJECT} dca23ad4",
    ),
    Flaw(
        (1, 0, 0), (1, 0, 1), (), "some plugins lack versions 0.4.0 or 1.0.0 of the specification", f"{_PROJECT} #661"
    ),
    Flaw((1, 6, 0), (1, 6, 1), ("portmap",), "ADD fails with the nftables backend", f"{_PROJECT} #1115"),
    Flaw((1, 6, 1), (1, 6, 2), (), "files of two builds were published as this release", f"{_PROJECT} #1136"),
    Flaw((1, 7, 0), (1, 7, 1), (), "the published files are incomplete", f"{_PROJECT} #1173"),
    Flaw(
        (1, 6, 0),
        (1, 9, 0),
        ("portmap",),
        "with the nftables backend, a mapped port also takes traffic that is not for the node",
        "CVE-2025-67499",
    ),
    Flaw((1, 6, 0), (1, 9, 0), ("portmap",), "CHECK fails with the nftables backend", f"{_PROJECT} 8ee59c6f"),
    Flaw((0, 0, 0), (1, 9, 1), ("vrf",), "routes of IPAM plugins are lost in a VRF", f"{_PROJECT} #1223"),
)


def find_flaws(release: str, plugins: t.Collection[str]) -> list[str]:
    """Return the known flaws of a release of the reference plugins, one sentence each.

    Args:
        release: Such as ``1.8.0``; anything else has no known flaw.
        plugins: The types that are installed.
    """
    numbers = tuple(int(part) for part in release.split(".") if part.isascii() and part.isdigit())
    if len(numbers) != 3:
        return []
    return [
        f"{' '.join((*flaw.plugins, release))}: {flaw.text}; fixed in {'.'.join(map(str, flaw.fixed))} ({flaw.source})"
        for flaw in FLAWS
        if flaw.since <= numbers < flaw.fixed and (not flaw.plugins or set(flaw.plugins).intersection(plugins))
    ]


__all__ = ("FLAWS", "Flaw", "find_flaws")
