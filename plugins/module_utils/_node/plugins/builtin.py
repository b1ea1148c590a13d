# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Make executables of the built-in plugins, for runtimes that start plugins as processes."""

from __future__ import annotations

import functools
import json
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._node.files.digest import sha256
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import program, registry

_TEXT: t.Final = """\
#!{interpreter} -I
# Written by cni.node: a built-in plugin. Its name decides which one.
import sys

sys.path.insert(0, {library!r})
try:
    from {program} import main
except ImportError:
    sys.stdout.write({error!r})
    sys.exit(1)
sys.exit(main(sys.argv[0]))
"""


class BuiltinExecutables(t.NamedTuple):
    """One program, installed under each plugin's name, which tells it which plugin to run.

    Attributes:
        contents: Name and content of each executable.
        listing: SHA-256 digests by name.
    """

    contents: tuple[tuple[str, bytes], ...]
    listing: dict[str, str]


@functools.lru_cache(maxsize=1)
def build(interpreter: str, library: Library) -> BuiltinExecutables:
    """Make the executables.

    Args:
        interpreter: Path of the Python that runs them.
        library: What they run.
    """
    error = CniError(
        Code.INVALID_ENVIRONMENT,
        f"the library of cni.node is not in {library.path}",
        "run cni.node.plugins again, which installs it",
    )
    answer = json.dumps({"cniVersion": "1.0.0", **error.as_dict()}) + "\n"
    text = _TEXT.format(interpreter=interpreter, library=library.path, program=program.__name__, error=answer)
    content = text.encode()
    names = sorted(registry.TYPES)
    return BuiltinExecutables(tuple((name, content) for name in names), dict.fromkeys(names, sha256(content)))


__all__ = ("BuiltinExecutables", "build")
