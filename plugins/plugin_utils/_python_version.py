# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

OLDEST: t.Final = (3, 9)

# For any Python; nothing else that is printed looks like it.
PROGRAM: t.Final = "import sys; print('cni.node Python %d.%d.%d' % sys.version_info[:3])"
_ANSWER: t.Final = re.compile(r"^cni\.node Python (\d+)\.(\d+)\.(\d+)\s*$", re.MULTILINE)


def too_old(answer: str, interpreter: str, host: str) -> CniError | None:
    """Return an error if a node's Python cannot run this collection's modules.

    Args:
        answer: What `PROGRAM` has printed there.
        interpreter: The command by which it was run.
    """
    found = _ANSWER.search(answer)
    if found is None or (int(found[1]), int(found[2])) >= OLDEST:
        return None
    oldest = ".".join(map(str, OLDEST))
    return CniError(
        Code.INVALID_ENVIRONMENT,
        f"{host} has Python {'.'.join(found.groups())} as {interpreter}, and modules of cni.node need Python {oldest} or newer",
        "install one there and set ansible_python_interpreter to its path",
    )


__all__ = ("OLDEST", "PROGRAM", "too_old")
