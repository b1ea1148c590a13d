# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A single comparison of what a runtime needs with what the node has."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

OK = "ok"
MISSING = "missing"
WARNING = "warning"


class PreflightCheck(t.NamedTuple):
    """Something that a runtime needs, and what the node has.

    Attributes:
        subject: What it is about, such as ``plugin bridge``.
        state: `OK`, `MISSING` or `WARNING`.
        hint: What to do, or an empty string.
    """

    runtime: str
    subject: str
    needed: str
    found: str
    state: str = OK
    hint: str = ""

    def as_dict(self) -> JsonObject:
        """Return the check as modules return it, escaped."""
        escaped: JsonObject = printable.escape_all(self._asdict())
        return escaped

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return printable.line(f"{self.runtime}: {self.subject}: {self.found}, needed: {self.needed}{hint}")
