# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the engine on the items of libcni-runner: engine CONF_DIR PLUGIN_DIRS CACHE_DIR WORKERS BUILTIN COMMAND.

The program brings the attachments to their desired state as the module `attachments` does, including locks, intents and
look-ups. Like libcni-runner, it prints the seconds without the start of the process and the reading of the items.
"""

from __future__ import annotations

import json
import sys
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.library import collect_rarely
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.runtime import Runtime
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import Sharing, reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    Check,
    DesiredAttachment,
    Policy,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot.restore import restore
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import make_executor

# The policy, the state and the expected action of each command. NOTHING is a run that changes nothing.
COMMANDS: dict[str, tuple[Policy, bool, str]] = {
    "ADD": (Policy(check=Check.NEVER), True, "added"),
    "PERSIST": (Policy(check=Check.NEVER), True, "added"),
    "CHECK": (Policy(check=Check.ALWAYS), True, "checked"),
    "DRIFT": (Policy(check=Check.DRIFT), True, "checked"),
    "NOTHING": (Policy(check=Check.NEVER), True, "unchanged"),
    "DEL": (Policy(check=Check.NEVER), False, "removed"),
}
TIMEOUT = 60.0


# The changes that the module `repair` makes, and whether there must be any.
REPAIRS: dict[str, bool] = {"REPAIR": True, "REPAIRED": False}


def repair(cache_dir: str, *, changes: bool) -> None:
    """Repair all attachments as the module `repair` does."""
    repairs, unreadable = repair_node(NODE_PATHS, cache_dir, TIMEOUT, Selection(), dry_run=False)
    wrong = [repair for repair in repairs if repair.left or repair.error or repair.changed is not changes]
    if wrong or unreadable:
        sys.exit(f"{len(wrong)} of {len(repairs)} were not as expected, but {wrong[:1]} {unreadable[:1]}")


def restore_all(cache_dir: str, workers: int) -> None:
    """Restore the attachments of PERSIST as the unit at boot does."""
    results, unreadable = restore(cache_dir, workers, NODE_PATHS)
    wrong = [result for result in results if result.action != "recreated"]
    if wrong or unreadable or not results:
        sys.exit(f"{len(wrong)} of {len(results)} were not restored, but {wrong[:1]} {unreadable[:1]}")


def run(
    directories: t.Sequence[str], workers: int, policy: Policy, desired: list[DesiredAttachment], builtin: str
) -> list[AttachmentResult]:
    conf_path, plugin_dirs, cache_dir = directories
    executor = make_executor(plugin_dirs.split(":"), TIMEOUT, builtin=builtin)
    runtime = Runtime(executor, cache_dir, TIMEOUT)
    return reconcile_all(
        Reconciler(runtime, conf_dir.load(conf_path), policy), desired, workers, sharing=Sharing(executor.prepare, ())
    )


def main(arguments: list[str]) -> None:
    *directories, workers, builtin, command = arguments
    collect_rarely()  # as each process of the collection does
    if command in REPAIRS:
        started = time.monotonic()
        repair(directories[-1], changes=REPAIRS[command])
        print(time.monotonic() - started)
        return
    if command == "RESTORE":
        started = time.monotonic()
        restore_all(directories[-1], int(workers))
        print(time.monotonic() - started)
        return
    policy, present, action = COMMANDS[command]
    means = Restoration(tuple(directories[1].split(":")), TIMEOUT, builtin=builtin) if command == "PERSIST" else None
    desired = [DesiredAttachment(Attachment(**item), present, restoration=means) for item in json.load(sys.stdin)]
    started = time.monotonic()
    outcomes = run(directories, int(workers), policy, desired, builtin)
    seconds = time.monotonic() - started
    wrong = [f"{outcome.action}: {outcome.error}" for outcome in outcomes if outcome.action != action]
    if wrong:
        sys.exit(f"{len(wrong)} of {len(outcomes)} were not {action}, but {wrong[0]}")
    print(seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
