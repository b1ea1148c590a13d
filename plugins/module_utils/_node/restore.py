# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations

import sys
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node import resolv_conf
from ansible_collections.cni.node.plugins.module_utils._node.outcome import Outcome
from ansible_collections.cni.node.plugins.module_utils._node.restoration import addresses, restore


def main(cache_dirs: t.Sequence[str]) -> int:
    """Restore what is recorded in these directories, and say so, a line each; the status is 0 if nothing failed."""
    failed = False
    try:
        for cache_dir in cache_dirs:
            outcomes, broken = restore(cache_dir, default_workers())
            failed |= any(outcome.error for outcome in outcomes)
            for line in (*map(_line, outcomes), *(f"not restored: {error}" for error in broken)):
                _say(line)
        changes, warnings = resolv_conf.changes([record for path in cache_dirs for record in _lasting(path)])
        for warning in warnings:
            _say(warning)
        for change in changes:
            resolv_conf.carry_out(change)
    except CniError as exc:
        _say(f"failed: {exc}")
        failed = True
    return int(failed)


def _lasting(cache_dir: str) -> list[Record]:
    return RecordStore.of_records(cache_dir).read_lasting()[0]


def _line(outcome: Outcome) -> str:
    if outcome.error:
        return f"failed: the {outcome.attachment}: {outcome.error}"
    keys = outcome.result or {}
    has = addresses(Result(str(keys.get("cniVersion", "")), keys)) if keys else ()
    had = outcome.restoration_after.addresses if outcome.restoration_after else ()
    lost = [address for address in had if address not in has]
    return "".join(
        [
            f"{outcome.action}: the {outcome.attachment}",
            f", {' '.join(has)}" if has else "",
            f", which was {' '.join(lost)} before" if lost and has else "",
        ]
    )


def _say(line: str) -> None:
    sys.stdout.write("; ".join(line.splitlines()) + "\n")
    sys.stdout.flush()


__all__ = ("main",)
