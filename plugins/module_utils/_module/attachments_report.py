# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The parts of the result of the module `attachments`: entries, diff, warnings and timing."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Action, AttachmentResult
from ansible_collections.cni.node.plugins.module_utils._reference.executor import PluginCall, Stopwatch

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
    from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
    from ansible_collections.cni.node.plugins.module_utils._module.stderr_log import StderrLog


def entries_and_diff(
    outcomes: t.Sequence[AttachmentResult], executor: Stopwatch, log: StderrLog | None = None
) -> JsonObject:
    """Return the entries of all attachments, and the diff of those that change.

    Args:
        log: Standard error of plugins, if it is shown.
    """
    took: dict[Key | None, float] = collections.defaultdict(float)
    for call in executor.calls:
        took[call.attachment] += call.seconds
    changed = [outcome for outcome in outcomes if outcome.changed]
    return {
        "attachments": [_entry(outcome, took[outcome.attachment.key], executor, log) for outcome in outcomes],
        "diff": {
            "before": {str(outcome.attachment): _before(outcome) for outcome in changed},
            "after": {str(outcome.attachment): _after(outcome) for outcome in changed},
        },
    }


def warnings(outcomes: t.Iterable[AttachmentResult]) -> t.Iterator[str]:
    """Yield warnings about items that did not fail."""
    for outcome in outcomes:
        yield from (str(error) for error in (outcome.missing_prerequisite, outcome.tolerated) if error)


def timing(calls: t.Sequence[PluginCall], workers: int, total: float) -> JsonObject:
    """Return the time spent: `total` seconds, and those in plugins summed over all workers."""
    slowest = max(calls, key=lambda call: call.seconds, default=None)
    return {
        "total": round(total, 6),
        "plugins": round(sum(call.seconds for call in calls), 6),
        "workers": workers,
        "slowest": slowest and _call(slowest),
    }


def _call(call: PluginCall) -> JsonObject:
    return {"type": call.type, "command": call.command, "seconds": round(call.seconds, 6)}


def _entry(outcome: AttachmentResult, plugin_seconds: float, executor: Stopwatch, log: StderrLog | None) -> JsonObject:
    attachment = outcome.attachment
    return {
        "network": attachment.network,
        "container_id": attachment.container_id,
        "ifname": attachment.ifname,
        "netns": attachment.netns,
        "action": outcome.action.value,
        "changed": outcome.changed,
        "reason": outcome.reason,
        "interrupts": _interrupts(outcome.interrupted),
        "result": dict(outcome.result or {}),
        "error": outcome.error.as_dict() if outcome.error else None,
        "false_alarms": [error.msg for error in outcome.false_alarms],
        "seconds": round(outcome.seconds, 6),
        "plugin_seconds": round(plugin_seconds, 6),
        "builtin_plugins": executor.list_builtin(attachment.key),
        **({} if log is None else {"stderr": log.entries(attachment.key)}),
    }


def _interrupts(record: Record | None) -> JsonObject | None:
    """Return what a container loses, for a short time or for good, when its recorded attachment is deleted."""
    if record is None:
        return None
    maps_ports = any("portMappings" in plugin.capabilities for plugin in record.network().plugins)
    return {"addresses": list(record.addresses), "ports": record.requested_ports if maps_ports else []}


def _before(outcome: AttachmentResult) -> str:
    reason = f", but {outcome.reason}" if outcome.reason else ""
    return f"attached{_restoration_text(outcome.before.restoration)}{reason}" if outcome.before else "absent"


def _after(outcome: AttachmentResult) -> str:
    if outcome.after is None:
        return "absent"
    repetition = " anew" if outcome.before and (outcome.touched or outcome.action is Action.RECREATED) else ""
    attached = f"attached{repetition}{_restoration_text(outcome.after.restoration)}"
    return "\n".join([attached, *outcome.repairs])


def _restoration_text(restoration: Restoration | None) -> str:
    if restoration is None:
        return ""
    return f", restored at boot (plugins in {':'.join(restoration.plugin_dirs)}, time limit {restoration.timeout:g} s)"
