# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The known flaws of a release of the reference plugins."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._reference.catalogue import PROJECT, find_plugin_type
from ansible_collections.cni.node.plugins.module_utils._reference.plugin_type import Flaw

_RELEASE: t.Final = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
# Flaws of whole releases; those of single plugins are in the catalogue.
_OF_RELEASES: t.Final = (
    Flaw((1, 0, 0), (1, 0, 1), "some plugins lack versions 0.4.0 or 1.0.0 of the specification", f"{PROJECT} #661"),
    Flaw((1, 6, 1), (1, 6, 2), "files of two builds were published as this release", f"{PROJECT} #1136"),
    Flaw((1, 7, 0), (1, 7, 1), "the published files are incomplete", f"{PROJECT} #1173"),
)


def find_flaws(release: str, plugins: t.Iterable[str]) -> list[str]:
    """Return the known flaws of a release of the reference plugins, one sentence each.

    Args:
        release: Such as ``1.8.0``; anything else has no known flaw.
        plugins: The types that are installed.
    """
    if not _RELEASE.fullmatch(release):
        return []
    numbers = tuple(map(int, release.split(".")))
    known = [("release", flaw) for flaw in _OF_RELEASES]
    known += [(name, flaw) for name in sorted(plugins) for flaw in find_plugin_type(name).flaws]
    return [
        f"{name} {release}: {flaw.text}; fixed in {'.'.join(map(str, flaw.fixed))} ({flaw.source})"
        for name, flaw in known
        if flaw.since <= numbers < flaw.fixed
    ]


__all__ = ("find_flaws",)
