# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Merge the results of the calls of one long task of the module `attachments`."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module.arguments import CONTROLLER_KEY
from ansible_collections.cni.node.plugins.module_utils._module.items.attachments_result import complete_result

_LISTS = ("warnings", "deprecations")
_SUMS = ("total", "plugins")


class MergedCalls:
    """Merge the results of the calls of one long task into the result of a single call.

    Attributes:
        continuation: State to pass to the next call; empty if there is none.
    """

    def __init__(self, first: JsonObject, *, predicted: bool) -> None:
        """
        Args:
            predicted: Whether the task runs in check mode.
        """
        self._predicted = predicted
        self._total = len(first["attachments"]) + len(first[CONTROLLER_KEY]["remaining"])
        self._remaining: list[int] = list(range(self._total))
        self._entries: dict[int, JsonObject] = {}
        self._results: list[JsonObject] = []
        self._broken: JsonObject = {}
        self.take(first)

    def take(self, result: JsonObject) -> None:
        """Add the result of a call. A result without attachments ends the task."""
        self.continuation: JsonObject = result.get(CONTROLLER_KEY) or {}
        if "attachments" not in result:
            self._broken = result
            return
        remaining = self.continuation.get("remaining", [])
        done = sorted(set(self._remaining) - set(remaining))
        self._entries.update(zip(done, result["attachments"]))
        self._remaining = remaining
        self._results.append(result)

    def progress(self, seconds: float, *, names: bool) -> str:
        """Return the progress as one line.

        Args:
            seconds: Time since the start.
            names: Whether to name plugins.
        """
        entries = self._entries.values()
        failed = sum(entry["action"] == "failed" for entry in entries)
        rate = len(entries) / seconds
        parts = [f"attachments: {len(entries)} of {self._total}", f"{rate:.{0 if rate >= 10 else 1}f}/s"]
        if failed:
            parts.insert(1, f"{failed} failed")
        slowest = self._timing()["slowest"]
        if slowest and names:
            parts.append(f"slowest {slowest['type']} {slowest['seconds']:.2f} s")
        return ", ".join(parts)

    def result(self) -> JsonObject:
        merged: JsonObject = {}
        for result in self._results:
            merged.update(result)
        merged.pop(CONTROLLER_KEY, None)
        merged.update(
            _lists(self._results),
            attachments=[self._entries[place] for place in sorted(self._entries)],
            timing=self._timing(),
            diff=self._diff(),
        )
        done = complete_result(merged, predicted=self._predicted)
        return self._broken_result(done) if self._broken else done

    def _broken_result(self, done: JsonObject) -> JsonObject:
        """Return the result of a call that failed as a whole, merged with the results of earlier calls."""
        msg = f"{self._broken.get('msg', '')}\nbefore that, of {self._total} {done['msg']}".strip()
        ended = {**done, **self._broken, **_lists([done, self._broken]), "changed": done["changed"], "msg": msg}
        return {**ended, "failed": not self._broken.get("unreachable", False)}

    def _timing(self) -> JsonObject:
        timings = [result["timing"] for result in self._results]
        calls = [timing["slowest"] for timing in timings if timing["slowest"]]
        merged: JsonObject = {key: round(sum(timing[key] for timing in timings), 6) for key in _SUMS}
        merged["workers"] = max(timing["workers"] for timing in timings)
        merged["slowest"] = max(calls, key=lambda call: call["seconds"], default=None)
        return merged

    def _diff(self) -> JsonObject | list[JsonObject]:
        """Return one diff of all attachments, then the diffs of files, which only the last call returns."""
        diffs = [result["diff"] if isinstance(result["diff"], list) else [result["diff"]] for result in self._results]
        states: JsonObject = {"before": {}, "after": {}}
        for first, *dummy in diffs:
            for key, state in states.items():
                state.update(first[key])
        files = diffs[-1][1:]
        return [states, *files] if files else states


def _lists(results: t.Iterable[JsonObject]) -> dict[str, list[t.Any]]:
    """Return warnings and deprecations without duplicates."""
    merged: dict[str, list[t.Any]] = {}
    for result in results:
        for key in _LISTS:
            for entry in result.get(key, ()):
                if entry not in merged.setdefault(key, []):
                    merged[key].append(entry)
    return merged
