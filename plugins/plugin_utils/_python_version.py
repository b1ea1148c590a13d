# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Refuse nodes whose Python is too old."""

from __future__ import annotations

import re

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

OLDEST = (3, 9)

# Runs in every version of Python.
PROGRAM = "import sys; print('cni.node Python %d.%d.%d' % sys.version_info[:3])"
_ANSWER = re.compile(r"^cni\.node Python (\d+)\.(\d+)\.(\d+)\s*$", re.MULTILINE)


def too_old(answer: str, interpreter: str, host: str) -> CniError | None:
    """Return an error if a node's Python cannot run this collection's modules.

    Args:
        answer: Output of `PROGRAM` on the node.
        interpreter: The command that ran it.
    """
    version = _ANSWER.search(answer)
    if version is None or (int(version[1]), int(version[2])) >= OLDEST:
        return None
    oldest = ".".join(map(str, OLDEST))
    return CniError(
        Code.INVALID_ENVIRONMENT,
        f"{interpreter} of {host} is Python {'.'.join(version.groups())}, but modules of cni.node need Python {oldest} or newer",
        "install a newer Python on the node and set ansible_python_interpreter to its path",
    )
