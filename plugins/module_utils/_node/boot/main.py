# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import as_error
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._node.boot import resolv_conf
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import read_restorable, restore

T = t.TypeVar("T")


def main(cache_dirs: t.Sequence[str]) -> int:
    """Restore the attachments recorded in cache directories, and print a line for each; return 0 if none failed."""
    went_well = [_attempt(_restore, path) for path in cache_dirs]
    return 0 if all([*went_well, _attempt(_resolve, cache_dirs)]) else 1


def _attempt(step: t.Callable[[T], bool], subject: T) -> bool:
    try:
        return step(subject)
    except Exception as exc:
        _say(f"failed: {as_error(exc)}")
        return False


def _restore(cache_dir: str) -> bool:
    outcomes, broken = restore(cache_dir, default_workers())
    for line in (*map(_line, outcomes), *(f"not restored: {error}" for error in broken)):
        _say(line)
    return not any(outcome.error for outcome in outcomes)


def _resolve(cache_dirs: t.Sequence[str]) -> bool:
    changes, warnings = resolv_conf.changes(record for path in cache_dirs for record in read_restorable(path))
    for warning in warnings:
        _say(warning)
    for change in changes:
        resolv_conf.carry_out(change)
    return True


def _line(outcome: AttachmentResult) -> str:
    if outcome.error:
        return f"failed: the {outcome.attachment}: {outcome.error}"
    keys = outcome.result or {}
    has = Result(str(keys["cniVersion"]), keys).addresses if keys else ()
    restoration = outcome.after.restoration if outcome.after else None
    had = restoration.addresses if restoration else ()
    lost = [address for address in had if address not in has]
    return "".join(
        [
            f"{outcome.action.value}: the {outcome.attachment}",
            f", {' '.join(has)}" if has else "",
            f", instead of {' '.join(lost)}" if lost and has else "",
        ]
    )


def _say(line: str) -> None:
    sys.stdout.write(printable.line("; ".join(filter(None, line.split("\n")))) + "\n")
    sys.stdout.flush()


__all__ = ("main",)
