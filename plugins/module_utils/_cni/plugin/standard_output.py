# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Write the result or the error of a plugin to standard output (section 2, "CNI protocol")."""

from __future__ import annotations

import os
import sys

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_error


def require() -> None:
    """Require that standard output is open.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    # Python has no object for a descriptor that was closed at its start.
    if sys.stdout is None:
        raise CniError(Code.IO_FAILURE, "standard output is closed", "expected: a descriptor for the result")


def write(output: bytes) -> None:
    """Write to standard output.

    Raises:
        CniError: ``IO_FAILURE``.
    """
    require()
    try:
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
    except OSError as exc:
        # Python would try again at its end, and print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise io_error("write", "standard output", exc) from exc
