# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find and run the programs of the node's system, such as iptables and nft."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import durable, process
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code

# The PATH of a module may lack the directories of system programs.
_SYSTEM_PATH = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin"
# Seconds in which a program has to end.
TIMEOUT = 30.0
# Characters of unexpected output that an error shows.
_EXCERPT = 200
# Parts of the messages of iptables and nft about a kernel without a protocol or a table, and of nft without a way to list
# rules: in none of them has a plugin written rules.
_UNSUPPORTED = (
    "not supported",
    "Table does not exist",
    "cache initialization failed: Invalid argument",
    "rule set generation id: Invalid argument",
    "not compiled-in",
)


def find(name: str) -> str | None:
    """Return the path of a system program, or None."""
    # The import of `shutil` takes a tenth of the start of a built-in executable.
    paths = (os.path.join(directory, name) for directory in _SYSTEM_PATH.split(":"))
    return next(filter(durable.is_executable, paths), None)


def output(argv: t.Sequence[str], *, stdin: str = "", limit: int = process.OUTPUT_LIMIT) -> str:
    """Run a program and return its standard output; invalid UTF-8 becomes surrogates, as in `stdin`.

    Args:
        argv: The program's path and its arguments.
        limit: Bytes.

    Raises:
        CniError: ``IO_FAILURE``, with the program's standard error.
    """
    name = os.path.basename(argv[0])
    try:
        outcome = process.run(argv, os.environb, stdin.encode("utf-8", "surrogateescape"), TIMEOUT, limit)
    except OSError as exc:
        raise CniError(Code.IO_FAILURE, f"{name} cannot be run: {exc.strerror}") from exc
    if outcome.stopped or outcome.status:
        why = outcome.stopped or outcome.stderr.decode("utf-8", "replace").strip()
        raise CniError(Code.IO_FAILURE, " ".join([name, *argv[1:], "failed"]), why)
    return outcome.stdout.decode("utf-8", "surrogateescape")


def run_silent(argv: t.Sequence[str], *, stdin: str = "") -> None:
    """Run a program that prints nothing if it succeeds; one that prints something is not the expected program.

    Raises:
        CniError: As `output`.
    """
    printed = output(argv, stdin=stdin)
    if printed.strip():
        what = f"{os.path.basename(argv[0])} printed something, and may not have done its work"
        raise CniError(Code.IO_FAILURE, what, printed[:_EXCERPT])


def is_unsupported(error: CniError) -> bool:
    """Return whether a listing failed because the node does not support such objects, so that it has none."""
    return any(message in error.details for message in _UNSUPPORTED)


def json_output(argv: t.Sequence[str], *, limit: int = process.OUTPUT_LIMIT) -> t.Any:
    """Run a program and return its output decoded from JSON; None if it printed nothing.

    Raises:
        CniError: As `output`.
    """
    text = output(argv, limit=limit)
    try:
        return json.loads(text, strict=False) if text.strip() else None
    except ValueError as exc:
        raise CniError(Code.IO_FAILURE, f"the output of {' '.join(argv)} is not JSON: {exc}") from exc
