# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The versions of the specification, and what changes with them."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

KNOWN = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
LATEST = KNOWN[-1]

# The version of a configuration, a result or a plugin that names none.
IMPLIED = KNOWN[0]

# The form that libcni parses: up to three 64-bit integers, with or without a sign.
_PART = r"[+-]?0*[0-9]{1,18}"
_FORM = re.compile(rf"{_PART}(\.{_PART}){{0,2}}", re.ASCII)

_ORDER = {version: position for position, version in enumerate(KNOWN)}


def require_known(version: str, what: str) -> str:
    """Return ``version`` if this engine supports it; an empty one means 0.1.0.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION``.
    """
    if not version:
        return IMPLIED
    if version not in _ORDER:
        raise CniError(
            Code.INCOMPATIBLE_VERSION,
            f"{what}: unknown version {version!r} of the CNI specification",
            f"known versions: {', '.join(KNOWN)}",
        )
    return version


def require_form(version: str, what: str) -> str:
    """Return ``version`` if it has the form of a version, known or not; an empty one means 0.1.0.

    Raises:
        CniError: ``INCOMPATIBLE_VERSION``.
    """
    if version and not _FORM.fullmatch(version):
        raise CniError(
            Code.INCOMPATIBLE_VERSION,
            f"{what}: {version!r} is not a version of the CNI specification",
            'expected: numbers with dots between them, such as "1.0.0"; runtimes reject the whole file otherwise',
        )
    return version


def sort_known(versions: t.Iterable[str]) -> tuple[str, ...]:
    """Return the known versions among those given, lowest first, without duplicates."""
    return tuple(sorted({version for version in versions if version in _ORDER}, key=_ORDER.__getitem__))


def at_least(version: str, minimum: str) -> bool:
    """Return whether a known version is at least another known one."""
    return _ORDER[version] >= _ORDER[minimum]


def has_check(version: str) -> bool:
    """Return whether a version has CHECK, which came with 0.4.0."""
    return at_least(version, "0.4.0")


def has_prev_result_on_delete(version: str) -> bool:
    """Return whether DEL carries ``prevResult``, as it does since 0.4.0."""
    return at_least(version, "0.4.0")


def has_gc_and_status(version: str) -> bool:
    """Return whether a version has GC and STATUS, which came with 1.1.0."""
    return at_least(version, "1.1.0")


def describe(supported: t.Sequence[str]) -> dict[str, t.Any]:
    """Return the keys of a plugin's answer to VERSION (section 5, "VERSION")."""
    return {"cniVersion": LATEST, "supportedVersions": supported}
