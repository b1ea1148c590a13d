# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Make executables of the built-in plugins, for runtimes that start plugins as processes."""

from __future__ import annotations

import functools
import os
import re
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.access import exposures
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._node.files import zipapp
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import program, registry

_SYSTEM_PYTHON: t.Final = "/usr/bin/python3"
_SUPPORTED: t.Final = re.compile(r"python3\.(9|[1-9]\d+)")


class BuiltinExecutables(t.NamedTuple):
    """The same program under the name of each plugin: its name decides which plugin it is.

    Attributes:
        contents: Name and content of each executable.
        listing: SHA-256 digests by name.
    """

    contents: tuple[tuple[str, bytes], ...]
    listing: dict[str, str]


def find_interpreter(candidates: t.Iterable[str] = ()) -> str:
    """Return the Python that runs executables: that of this process, not a virtual environment, or else the system's.

    A runtime runs it as root at each ADD, and other users must not be able to replace it or to remove it.

    Args:
        candidates: Paths to try instead.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``: there is no such Python.
    """
    reasons = []
    for path in candidates or _list_interpreters():
        if os.access(path, os.X_OK):
            found = exposures(path)
            if not found:
                return path
            reasons.append(str(found[0]))
    advice = f"set ansible_python_interpreter to a Python of the system, such as {_SYSTEM_PYTHON}"
    what = "no Python can run the built-in plugins as executables"
    raise CniError(
        Code.INVALID_ENVIRONMENT, what, "\n".join([*reasons, f"expected: one that only root can change; {advice}"])
    )


def _list_interpreters() -> t.Iterator[str]:
    if sys.prefix == sys.base_prefix:
        yield sys.executable
    yield f"{sys.base_exec_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    if _SUPPORTED.fullmatch(os.path.basename(os.path.realpath(_SYSTEM_PYTHON))):
        yield _SYSTEM_PYTHON


@functools.lru_cache(maxsize=1)
def build(interpreter: str) -> BuiltinExecutables:
    """Make the executables.

    Args:
        interpreter: Path of the Python that runs them, for which they have compiled modules.
    """
    content = zipapp.build(program.__name__, "sys.argv[0]", interpreter=interpreter)
    digest = sha256(content)
    names = sorted(registry.TYPES)
    return BuiltinExecutables(tuple((name, content) for name in names), dict.fromkeys(names, digest))


__all__ = ("BuiltinExecutables", "build", "find_interpreter")
