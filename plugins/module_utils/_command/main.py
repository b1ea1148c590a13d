# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command `cni-node`, for a node whose controller is out of reach: its arguments, output and exit status."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.current_library import hold_current
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code, as_error
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS, NodePaths
from ansible_collections.cni.node.plugins.module_utils._command import gc, repair, restore, status, why
from ansible_collections.cni.node.plugins.module_utils._command.subcommand import Answer, Call
from ansible_collections.cni.node.plugins.module_utils._module.run import as_failure

SUBCOMMANDS = (status.SUBCOMMAND, why.SUBCOMMAND, repair.SUBCOMMAND, gc.SUBCOMMAND, restore.SUBCOMMAND)

_NAME = "cni-node"
_DESCRIPTION = "Look at the container networks of this node, and mend them, without the controller of cni.node."
_STATUS = """\
exit status: 0 if nothing is wrong, or everything was mended; 1 if something is wrong, remains or failed; 2 if the command
was refused"""
WELL, WRONG, REFUSED = range(3)


def main(arguments: t.Sequence[str], settings: JsonMapping, paths: NodePaths = NODE_PATHS) -> int:
    """Run a subcommand, print its answer, and return the exit status.

    Args:
        settings: Options of the module `command`.
    """
    _open_missing_streams()
    options = _parse(arguments)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # the locale may be C
    answer = _run(options, settings, paths)
    try:
        return _print(answer, as_json=options.json)
    except OSError as exc:
        # Python would report it once more when it closes the standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(exc, BrokenPipeError):
            sys.stderr.write(f"{_NAME}: cannot write the answer: {exc.strerror}\n")
        return WRONG


def _open_missing_streams() -> None:
    """Replace streams that were closed at the start, so that other files do not get their descriptors."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w")))


def _run(options: argparse.Namespace, settings: JsonMapping, paths: NodePaths) -> Answer:
    if os.geteuid() != 0:
        return _refuse(
            CniError(Code.INVALID_ENVIRONMENT, "only root can read and mend the networks of a node", "use sudo")
        )
    try:
        hold_current()
        answer: Answer = options.run(Call(options, settings, paths))
    except Exception as exc:
        return _refuse(as_error(exc))
    return answer


def _refuse(error: CniError) -> Answer:
    return Answer({"failed": True, **as_failure(error)}, (), is_wrong=True)


def _print(answer: Answer, *, as_json: bool) -> int:
    result = answer.result
    is_refused = "error" in result
    for warning in result.get("warnings", ()):
        sys.stderr.write(f"{_NAME}: warning: {printable.lines(warning)}\n")
    if is_refused:
        sys.stderr.write(f"{_NAME}: {printable.lines(result['msg'])}\n")
    if as_json:
        sys.stdout.write(json.dumps(result, indent=2, sort_keys=True) + "\n")
    elif not is_refused:
        sys.stdout.writelines(f"{printable.lines(line)}\n" for line in answer.lines)
    sys.stdout.flush()
    return REFUSED if is_refused else WRONG if answer.is_wrong or "warnings" in result else WELL


def _parse(arguments: t.Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(_NAME, description=_DESCRIPTION, epilog=_STATUS, allow_abbrev=False)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for subcommand in SUBCOMMANDS:
        about = f"{subcommand.help[0].upper()}{subcommand.help[1:]}."
        own = subparsers.add_parser(
            subcommand.name, help=subcommand.help, description=about, epilog=_STATUS, allow_abbrev=False
        )
        subcommand.add_options(own)
        own.add_argument("--json", action="store_true", help="print the result of the module instead of text")
        own.set_defaults(run=subcommand.run)
    return parser.parse_args(arguments)
