# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The service that repairs attachments as soon as they lose something, and sleeps in the kernel otherwise."""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import time
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.printable import shorten
from ansible_collections.cni.node.plugins.module_utils._node.watch import legacy_tables
from ansible_collections.cni.node.plugins.module_utils._node.watch.back_off import BackOff
from ansible_collections.cni.node.plugins.module_utils._node.watch.child import Child, Report
from ansible_collections.cni.node.plugins.module_utils._node.watch.interest import Interest
from ansible_collections.cni.node.plugins.module_utils._node.watch.listener import Listener
from ansible_collections.cni.node.plugins.module_utils._node.watch.schedule import Schedule
from ansible_collections.cni.node.plugins.module_utils._node.watch.watch_state import WatchState

# Seconds between two readings of notifications, so that a burst of them does not wake this process for each.
_BREATH = 0.1
# Seconds between two looks at legacy tables, on nodes that have some.
_LOOK = 0.5
# Processes and attachments that a line names.
_NAMED = 3

# An attachment's key, and the kind of resource.
_Item = tuple[tuple[str, str, str], str]
# Compares and repairs all attachments except some items; calls the second argument before it begins.
Compare = t.Callable[[t.Sequence[_Item], t.Callable[[], None]], JsonObject]


class Service:
    """Waits for notifications of the kernel, and lets a child process compare and repair the attachments."""

    def __init__(self, state_path: str, compare: Compare, write_line: t.Callable[[str], None]) -> None:
        """
        Args:
            state_path: The file for metrics and reports.
            write_line: Writes a line to the journal.

        Raises:
            CniError: ``IO_FAILURE``: the kernel does not notify this process.
        """
        self._compare = compare
        self._write_line = write_line
        self._listener = Listener()
        self._poll = select.poll()
        for descriptor in self._listener.descriptors:
            self._poll.register(descriptor, select.POLLIN)
        self._interest = Interest()
        self._back_off: BackOff[_Item] = BackOff()
        self._schedule = Schedule(self._back_off, time.monotonic())
        self._state = WatchState(state_path)
        self._child: Child | None = None
        self._outcome: JsonObject = {}
        self._legacy: t.Hashable = ()
        self._next_look = 0.0
        self._culprits: dict[str, None] = {}
        self._accused: tuple[str, ...] = ()
        self._failures: frozenset[str] = frozenset()
        self._state_failure = ""

    def run(self) -> t.NoReturn:
        """Compare the attachments, because some may have lost something before, and again after each change."""
        self._schedule.note_change(time.monotonic())
        _notify_systemd("READY=1")
        while True:
            self.step()

    def step(self) -> None:
        """Wait until something happens, and do what is due then."""
        events = {descriptor for descriptor, dummy in self._poll.poll(self._timeout())}
        if not events.isdisjoint(self._listener.descriptors):
            self._listen()
            time.sleep(_BREATH)
        now = time.monotonic()
        if self._legacy and now >= self._next_look:
            self._look(now)
        if self._child is not None:
            if self._child.descriptor in events:
                self._read_child(self._child)
            elif now >= self._child.deadline:
                self._end_child(self._child)
        elif (due := self._schedule.due()) is not None and now >= due:
            self._start_child()

    def _timeout(self) -> int | None:
        """Return milliseconds; None to sleep until a notification arrives."""
        due = self._schedule.due() if self._child is None else self._child.deadline
        times = [due, self._next_look if self._legacy else None]
        until = min((each for each in times if each is not None), default=None)
        return None if until is None else max(0, math.ceil((until - time.monotonic()) * 1000))

    def _listen(self) -> None:
        heard = self._listener.drain(self._interest)
        if heard.is_relevant or self._interest.is_outdated():
            self._schedule.note_change(time.monotonic())
        for culprit in heard.culprits:
            if len(self._culprits) < _NAMED:
                self._culprits[culprit] = None

    def _look(self, now: float) -> None:
        self._next_look = now + _LOOK
        before, self._legacy = self._legacy, legacy_tables.digest()
        if self._legacy != before:
            self._schedule.note_change(now)

    def _start_child(self) -> None:
        self._schedule.start(time.monotonic())
        held = self._back_off.list_held()

        def work(report: Report, await_permission: t.Callable[[], None]) -> None:
            def begin() -> None:
                report({"begun": True})
                await_permission()

            report(self._compare(held, begin))

        self._outcome = {}
        try:
            self._child = Child(work, self._listener.descriptors)
        except CniError as exc:
            self._evaluate({"error": str(exc)}, 0.0)
        else:
            self._poll.register(self._child.descriptor, select.POLLIN)

    def _read_child(self, child: Child) -> None:
        reports, has_ended = child.read()
        for report in reports:
            if "begun" in report:
                self._begin()
                child.permit()
            else:
                self._outcome = report
        if has_ended:
            self._end_child(child)

    def _begin(self) -> None:
        """Forget what has changed, because the comparison that is about to begin sees it."""
        self._listen()
        self._schedule.begin()
        self._legacy, self._next_look = legacy_tables.digest(), time.monotonic() + _LOOK
        self._accused, self._culprits = tuple(self._culprits), {}

    def _end_child(self, child: Child) -> None:
        self._poll.unregister(child.descriptor)
        status, cost = child.end()
        self._child = None
        self._evaluate({"error": f"the comparison ended with status {status}", **self._outcome}, cost)

    def _evaluate(self, outcome: JsonObject, cost: float) -> None:
        """Report the outcome of a comparison, and decide when the next one is due."""
        now = time.monotonic()
        if "interest" not in outcome:
            outcome = {"repaired": [], "failures": [f"failed: {outcome['error']}"], "has_failed": True}
        else:
            self._interest = Interest.from_dict(outcome["interest"])
        repaired = outcome["repaired"]
        self._schedule.end(now, cost, has_repaired=bool(repaired), has_failed=outcome["has_failed"])
        if repaired:
            self._culprits = {}  # among those heard meanwhile are the programs of the repair
        self._report_failures(outcome["failures"])
        self._report_repairs(repaired, now)

    def _report_failures(self, failures: t.Sequence[str]) -> None:
        """Write the lines that the last comparison did not have."""
        for line in dict.fromkeys(failures):
            if line not in self._failures:
                self._write_line(line)
        self._failures = frozenset(failures)

    def _report_repairs(self, repaired: t.Sequence[JsonObject], now: float) -> None:
        author = f"removed by {', '.join(self._accused)}" if self._accused else ""
        delays: dict[float, list[str]] = {}
        for each in repaired:
            self._write_line(f"{each['line']}{f' ({author})' if author else ''}")
            network, container_id, ifname = each["key"]
            noted = {"time": int(time.time()), "network": network, "container_id": container_id, "ifname": ifname}
            self._state.note_repair({**noted, "lost": each["lost"], "by": list(self._accused)}, is_own=each["own"])
            for resource in each["resources"]:
                delay = self._back_off.note_repair((tuple(each["key"]), resource), now)
                if delay:
                    delays.setdefault(delay, []).append(f"the {resource} of {container_id} ({ifname}) to {network}")
        for delay, names in delays.items():
            self._report_back_off(delay, names, author)
        held = self._describe_held()
        if repaired or held != self._state.held:
            self._state.held = held
            self._write_state()

    def _report_back_off(self, delay: float, names: t.Sequence[str], author: str) -> None:
        if delay == BackOff.FIRST_DELAY:
            because = f"again and again {author}" if author else "removed again and again"
            what = f"{shorten(names, _NAMED)}: {because}"
            self._write_line(f"left alone for {delay:g} s, and longer each time: {what}")

    def _describe_held(self) -> list[JsonObject]:
        return [
            {"network": key[0], "container_id": key[1], "ifname": key[2], "resource": resource}
            for key, resource in self._back_off.list_held()
        ]

    def _write_state(self) -> None:
        failure = ""
        try:
            self._state.write()
        except CniError as exc:
            failure = f"failed: {exc}"
        if failure not in ("", self._state_failure):
            self._write_line(failure)
        self._state_failure = failure


def _notify_systemd(text: str) -> None:
    """Send a text to systemd (sd_notify(3)), if it has started this process. Child processes, such as busctl, cannot."""
    address = os.environ.pop("NOTIFY_SOCKET", None)
    if address:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.connect(f"\0{address[1:]}" if address[0] == "@" else address)
            connection.send(text.encode())
