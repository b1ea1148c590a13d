# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The executable `cni-node`, which starts the command from the library."""

from __future__ import annotations

import os

from ansible_collections.cni.node.plugins.module_utils._base.current_library import require_library
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, io_errors
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._base.library import Library
from ansible_collections.cni.node.plugins.module_utils._linux import interpreter
from ansible_collections.cni.node.plugins.module_utils._node.files.change import FileChange, apply, plan_change
from ansible_collections.cni.node.plugins.module_utils._node.library.users import register

_MODE = 0o755
_MARK = b"# Written by cni.node for the module command: changes are overwritten.\n"
# Bytes; the mark is in the second line.
_HEAD = 4096
_TEXT = """\
#!{interpreter} -I
{mark}import sys
sys.path.insert(0, {library!r})
try:
    from ansible_collections.cni.node.plugins.module_utils._base import interruption
    interruption.end_quietly()
    from ansible_collections.cni.node.plugins.module_utils._command.main import main
    sys.exit(main(sys.argv[1:], {settings!r}))
except ImportError:
    sys.stderr.write("cni-node: " + {library!r} + " is incomplete; install the command again\\n")
    sys.exit(2)
"""


def set_up(path: str, settings: JsonMapping | None, *, dry_run: bool) -> FileChange:
    """Write the executable, or remove it if `settings` is None; a file of others is neither overwritten nor removed.

    Args:
        settings: Options that the command uses, of plain types.

    Returns:
        The change made, or predicted in a dry run.

    Raises:
        CniError: ``INVALID_ENVIRONMENT``: others have made the file, or no library or Python can be used; ``IO_FAILURE``.
    """
    is_foreign = os.path.lexists(path) and not _is_own(path)
    if settings is None:
        change = FileChange("", path, "unchanged", None, None) if is_foreign else plan_change(path, None)
        if not dry_run:
            apply(change)
        return change
    if is_foreign:
        advice = "expected: no file, or one that this module has written; remove it, or set another path"
        raise CniError(Code.INVALID_ENVIRONMENT, f"{path} was not written by cni.node", advice)
    library = require_library("the command", dry_run=dry_run)
    change = plan_change(path, _describe(library, settings), mode=_MODE)
    if not dry_run:
        apply(change)
        register(library, [path])
    return change


def _describe(library: Library, settings: JsonMapping) -> bytes:
    # Rate limits need a library that may be in the virtual environment of the task.
    python = interpreter.find_interpreter("the command cni-node", allow_venv=True)
    return _TEXT.format(
        interpreter=python, mark=_MARK.decode(), library=library.path, settings=dict(sorted(settings.items()))
    ).encode()


def _is_own(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with io_errors("read", path), open(path, "rb") as stream:
        return _MARK in stream.read(_HEAD)
