# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Make executables of the built-in plugins, for runtimes that start plugins as processes."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._node.files import zipapp
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import program, registry


class BuiltinExecutables(t.NamedTuple):
    """The same program under the name of each plugin: its name decides which plugin it is.

    Attributes:
        contents: Name and content of each executable.
        listing: SHA-256 digests by name.
    """

    contents: tuple[tuple[str, bytes], ...]
    listing: dict[str, str]


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


__all__ = ("BuiltinExecutables", "build")
