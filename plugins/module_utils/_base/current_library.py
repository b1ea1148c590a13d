# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The library that this process runs from. A launcher does not need it, and what it imports is sent with each call."""

from __future__ import annotations

import json
import os
import re

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.library import REQUEST, Library

# This file is so many levels below the library.
_DEPTH = 7
_DIGEST = re.compile(r"[0-9a-f]{64}")


def find_current() -> Library | None:
    """Return the library that this process runs from, or else the one that the controller has named, or None."""
    top, digest = os.path.split(__file__.rsplit("/", _DEPTH)[0])
    if _DIGEST.fullmatch(digest):
        return Library(top, digest)
    request = os.environ.get(REQUEST)
    if request is None:
        return None
    keys = json.loads(request)
    return Library(keys["top"], keys["digest"])


def hold_current() -> None:
    """Hold the library that this process runs from, if it does; errors as `Library.hold`."""
    library = find_current()
    if library is not None:
        library.hold()


def require_library(purpose: str, *, dry_run: bool) -> Library:
    """Return the library for a file that will refer to it.

    Args:
        purpose: The option that needs the library, for the error.
        dry_run: Whether a library that is still missing is accepted, because the run itself will install it.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``: it is not on the node.
    """
    library = find_current()
    if library is not None and (dry_run or library.is_complete):
        return library
    where = library.path if library else "any directory that this task knows"
    advice = "expected: the module cni.node.library has installed it, and reports why if it cannot"
    raise CniError(
        Code.INVALID_ENVIRONMENT,
        f"{purpose} requires the library of the collection, which is not in {where}",
        advice,
    )
