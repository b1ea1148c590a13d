# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The command that restores attachments at boot."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import as_error
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._node.boot.journal import write_line
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import restore, write_resolv_conf

T = t.TypeVar("T")


def main(cache_dirs: t.Sequence[str], paths: NodePaths) -> int:
    """Restore attachments, and print a line for each that was changed or failed; return 0 if nothing failed."""
    successes = [_attempt(functools.partial(_restore, paths), path) for path in cache_dirs]
    return 0 if all([*successes, _attempt(functools.partial(_write_resolv_conf, paths), cache_dirs)]) else 1


def _attempt(step: t.Callable[[T], bool], argument: T) -> bool:
    try:
        return step(argument)
    except Exception as exc:
        write_line(f"failed: {as_error(exc)}")
        return False


def _restore(paths: NodePaths, cache_dir: str) -> bool:
    results, doubts = restore(cache_dir, default_workers(), paths)
    for line in (*map(_format, results), *(f"not restored: {doubt}" for doubt in doubts)):
        write_line(line)
    return not doubts and not any(result.error for result in results)


def _write_resolv_conf(paths: NodePaths, cache_dirs: t.Sequence[str]) -> bool:
    for warning in write_resolv_conf(cache_dirs, paths):
        write_line(warning)
    return True


def _format(result: AttachmentResult) -> str:
    if result.error:
        return f"failed: the {result.attachment}: {result.error}"
    keys = result.result or {}
    addresses = Result(str(keys["cniVersion"]), keys).addresses if keys else ()
    restoration = result.after.restoration if result.after else None
    previous_addresses = restoration.addresses if restoration else ()
    lost_addresses = [address for address in previous_addresses if address not in addresses]
    return "".join(
        [
            f"{result.action.value}: the {result.attachment}",
            f", {' '.join(addresses)}" if addresses else "",
            f", instead of {' '.join(lost_addresses)}" if lost_addresses and addresses else "",
        ]
    )
