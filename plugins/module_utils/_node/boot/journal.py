# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Write lines to the journal."""

from __future__ import annotations

import sys

from ansible_collections.cni.node.plugins.module_utils._base import printable


def write_line(line: str) -> None:
    """Write one line to standard output, which systemd passes to the journal."""
    sys.stdout.write(printable.line("; ".join(filter(None, line.split("\n")))) + "\n")
    sys.stdout.flush()
