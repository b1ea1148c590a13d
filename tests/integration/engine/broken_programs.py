# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs of the node that are missing, fail, hang, or print something else than they should."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import typing as t

from ansible_collections.cni.node.tests.integration.engine.throwaway_node import mount, tmpfs

MISSING = ""
HANGS = "exec sleep 600"
# Shell commands, in which $real is the program. `MISSING` removes it.
FAILURES = {
    "missing": MISSING,
    "fails": "echo 'the kernel refuses' >&2; exit 1",
    "hangs": HANGS,
    "prints nonsense": "echo nonsense",
}
CUT_SHORT = '"$real" "$@" | head -c 60'
FAILS_LATE = '"$real" "$@"; echo "the kernel refuses" >&2; exit 1'


@contextlib.contextmanager
def broken(
    tool: str, scratch: pathlib.Path, failure: str, *, only: str = "*", but: str = "-"
) -> t.Iterator[pathlib.Path]:
    """Replace a program for the block, and yield its path.

    Args:
        tool: The name of the program.
        scratch: An empty directory.
        failure: What the program does instead.
        only: A pattern of the shell: with other arguments, the program works.
        but: With these arguments, the program works as well.
    """
    found = shutil.which(tool)
    assert found is not None, f"{tool} is not installed"
    directory = pathlib.Path(found).parent
    with tmpfs(scratch) as layers, contextlib.ExitStack() as stack:
        for name in ("upper", "work"):
            (layers / name).mkdir()
        options = f"lowerdir={directory},upperdir={layers}/upper,workdir={layers}/work"
        stack.enter_context(mount("-t", "overlay", "-o", options, "overlay", str(directory)))
        path = directory / tool
        if failure:
            _replace(path, layers, failure, only, but)
        else:
            path.unlink()
        yield path


def _replace(path: pathlib.Path, layers: pathlib.Path, failure: str, only: str, but: str) -> None:
    """Move a program, whose name has to stay because it may be several programs in one, and write another in its place."""
    real = path.parent / "real" / path.name
    real.parent.mkdir()
    origin = path.resolve()
    if path.is_symlink():
        path.unlink()
        real.symlink_to(origin)
    else:
        path.rename(real)
    lines = ["#!/bin/sh", f"real={real}"]
    lines += [f'case "$*" in {but}) ;; {only}) {failure}; exit;; esac', 'exec "$real" "$@"', ""]
    path.write_text("\n".join(lines), encoding="ascii")
    path.chmod(0o755)
