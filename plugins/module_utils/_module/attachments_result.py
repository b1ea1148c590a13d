# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The complete result of the module `attachments`, derived from the parts of one or several calls."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._module.run import summarize_actions


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
