# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The result of the module `attachments`: its parts from one or several calls, and the whole derived from them."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import Action

if t.TYPE_CHECKING:
    from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Key
    from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
    from ansible_collections.cni.node.plugins.module_utils._module.engine import StderrLog
    from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import AttachmentResult
    from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import PluginCall, Stopwatch


def complete_result(parts: t.Mapping[str, t.Any], *, predicted: bool) -> JsonObject:
    """Return the complete result of the module `attachments`, derived from its parts.

    Args:
        parts: ``attachments``, ``timing`` and ``diff``. Where attachments are restored at boot, also ``files``, or the
            ``error`` that prevented them.
        predicted: Whether the parts come from check mode.
    """
    entries = parts["attachments"]
    return {
        **parts,
        "summary": dict(collections.Counter(entry["action"] for entry in entries)),
        "changed": any(entry["changed"] for entry in entries) or bool(parts.get("files")),
        "failed": any(entry["action"] == "failed" for entry in entries) or "error" in parts,
        "msg": _message(parts, predicted),
    }


def _message(parts: t.Mapping[str, t.Any], predicted: bool) -> str:
    entries, files = parts["attachments"], parts.get("files")
    actions = summarize_actions((entry["action"] for entry in entries), predicted=predicted)
    first = f"attachments: {actions}{_phrase_timing(parts['timing'])}"
    if files:
        first += f"; files for restoration at boot: {summarize_actions((file['action'] for file in files), predicted=predicted)}"
    failures = [_failure(entry) for entry in entries if entry["action"] == "failed"]
    if "error" in parts:
        failures.append(f"the files for restoration at boot are incomplete: {CniError(**parts['error'])}")
    return "\n".join([first, *failures])


def _phrase_timing(timing: t.Mapping[str, t.Any]) -> str:
    """Return the time spent as text, or an empty string if no plugin was run."""
    if timing["slowest"] is None:
        return ""
    workers = f", summed over {timing['workers']} workers" if timing["workers"] > 1 else ""
    return f"; {timing['total']:.1f} s, {timing['plugins']:.1f} s in plugins{workers}"


def _failure(entry: t.Mapping[str, t.Any]) -> str:
    attachment = Attachment(entry["network"], entry["container_id"], entry["ifname"])
    return f"{attachment}: {CniError(**entry['error'])}"


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
    return {
        **describe(outcome),
        "plugin_seconds": round(plugin_seconds, 6),
        "builtin_plugins": executor.list_builtin(outcome.attachment.key),
        **({} if log is None else {"stderr": log.entries(outcome.attachment.key)}),
    }


def describe(outcome: AttachmentResult) -> JsonObject:
    """Return the keys of an attachment's entry that its result has, without those of its plugins' calls."""
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
