# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The Python for programs that the node runs as root, without a task."""

from __future__ import annotations

import os
import re
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.access import exposures
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

_SYSTEM_PYTHON = "/usr/bin/python3"
_SUPPORTED = re.compile(r"python3\.(9|[1-9]\d+)")


def find_interpreter(what: str, *, allow_venv: bool = False, candidates: t.Iterable[str] = ()) -> str:
    """Return a Python that users other than root can neither replace nor remove.

    Args:
        what: What it runs, as a plural, for the error.
        allow_venv: Whether it may belong to a virtual environment, whose libraries the programs need.
        candidates: Paths to try instead of those of this process and of the system.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``: there is no such Python.
    """
    reasons = []
    for path in candidates or _list_interpreters(allow_venv):
        if os.access(path, os.X_OK):
            found = exposures(path)
            if not found:
                return path
            reasons.append(str(found[0]))
    advice = f"set ansible_python_interpreter to a Python of the system, such as {_SYSTEM_PYTHON}"
    raise CniError(
        Code.INVALID_ENVIRONMENT,
        f"no Python can run {what}",
        "\n".join([*reasons, f"expected: one that only root can change; {advice}"]),
    )


def _list_interpreters(allow_venv: bool) -> t.Iterator[str]:
    if allow_venv or sys.prefix == sys.base_prefix:
        yield sys.executable
    yield f"{sys.base_exec_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    if _SUPPORTED.fullmatch(os.path.basename(os.path.realpath(_SYSTEM_PYTHON))):
        yield _SYSTEM_PYTHON
