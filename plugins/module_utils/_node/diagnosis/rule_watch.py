# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Watch the rules of a network namespace while a packet passes, and tell which of them drops it."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import program
from ansible_collections.cni.node.plugins.module_utils._linux.rules import iptables, packet_trace
from ansible_collections.cni.node.plugins.module_utils._linux.rules.packet_trace import PacketTrace, Passage
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.place import Place

# The chains of the legacy iptables before routing, and those of packets that are already routed.
_EARLY_CHAINS = ("PREROUTING",)
_LEGACY = ("iptables-legacy-save", "ip6tables-legacy-save")
_COUNTED_RULE = re.compile(r"\[(\d+):\d+\] -A (\S+) (.*-j (?:DROP|REJECT).*)")
_POLICY = re.compile(r":(\S+) DROP \[(\d+):\d+\]")


class Drop(t.NamedTuple):
    """A rule that drops the packet or its answer.

    Attributes:
        text: The rule and its place.
        command: The command that removes the rule, or an empty string.
        is_reply: None where both are possible.
        is_routed: Whether the rule comes after the decision by which link the packet leaves.
        is_bridged: Whether the rule belongs to a bridge.
        is_firewalld: Whether the rule is in firewalld's table.
    """

    text: str
    command: str
    is_reply: bool | None
    is_routed: bool
    is_bridged: bool = False
    is_firewalld: bool = False


class RuleWatch:
    """Watches the rules of a network namespace while a packet passes.

    Attributes:
        gap: Why a part of the rules was not watched; empty if all of them were.
    """

    def __init__(self, place: Place, flow: packet_trace.TracedFlow) -> None:
        self.place, self.gap = place, ""
        self._version = flow.version
        self._trace: PacketTrace | None = None
        self._passages: list[Passage] = []
        try:
            self._trace = place.run(lambda: PacketTrace(flow))
        except CniError as exc:
            self.gap = f"the rules in {place.name} are not traced: {exc}"
        self._counters = self._read_counters()

    def close(self) -> None:
        if self._trace is not None:
            self._trace.close()

    def read(self) -> bool:
        """Read what the kernel has reported since the last call, and return whether there was anything."""
        passages = self._trace.read() if self._trace is not None else []
        if self._trace is not None and self._trace.is_incomplete:
            self.gap = f"the kernel has dropped a part of the trace of the rules in {self.place.name}"
        self._passages += passages
        return bool(passages)

    @property
    def is_decided(self) -> bool:
        """Return whether an answer has come by, or a rule has dropped a packet, as far as it was read."""
        return any(each.is_reply or each.is_dropped for each in self._passages)

    @property
    def has_seen(self) -> bool:
        """Return whether the packet itself, not its answer, has met rules, as far as it was read."""
        return any(each.is_reply is False for each in self._passages)

    def find_drops(self) -> tuple[Drop, ...]:
        """Return the rules that drop the packet or its answer, as far as it was read."""
        drops = dict.fromkeys(self._describe(passage) for passage in self._passages if passage.is_dropped)
        counters = self._read_counters()
        changed = [rule for rule, count in counters.items() if count > self._counters.get(rule, count)]
        return (*drops, *(_legacy_drop(self.place, rule) for rule in changed))

    def _describe(self, passage: Passage) -> Drop:
        where = (passage.family, passage.table, passage.chain)
        try:
            rule = self.place.run(lambda: packet_trace.describe_rule(*where, passage.handle))
        except CniError:
            rule = f"the rule with handle {passage.handle}"
        # The kernel repeats the headers for each chain that it begins, but not for each rule.
        earlier = self._passages[: self._passages.index(passage) + 1]
        with_headers = [each for each in earlier if each.packet == passage.packet and each.is_reply is not None]
        last = with_headers[-1] if with_headers else passage
        text = f"{rule} in chain {passage.chain} of table {passage.family} {passage.table}"
        is_firewalld = passage.table == "firewalld"
        command = ""
        if passage.handle and not is_firewalld and packet_trace.is_readable(passage.table, passage.chain):
            words = ("nft", "delete", "rule", *where, "handle", str(passage.handle))
            command = self.place.command(*words)
        return Drop(
            printable.line(text), command, last.is_reply, last.is_routed, passage.family == "bridge", is_firewalld
        )

    def _read_counters(self) -> dict[tuple[str, ...], int]:
        """Return how many packets each rule and policy of the legacy iptables has dropped."""
        name = _LEGACY[self._version == 6]
        path = program.find(name)
        names = f"/proc/thread-self/net/{'ip' if self._version == 4 else 'ip6'}_tables_names"
        if path is None or not self.place.run(lambda: _has_content(names)):
            return {}
        try:
            listing = self.place.run(lambda: program.output([str(path), "-c"]))
        except CniError as exc:
            self.gap = self.gap or f"the legacy rules in {self.place.name} are not counted: {exc}"
            return {}
        counters: dict[tuple[str, ...], int] = {}
        table = ""
        for line in listing.splitlines():
            rule, policy = _COUNTED_RULE.match(line), _POLICY.match(line)
            table = line[1:] if line.startswith("*") else table
            if rule:
                counters[name, table, rule[2], rule[3]] = int(rule[1]) + counters.get(
                    (name, table, rule[2], rule[3]), 0
                )
            elif policy:
                counters[name, table, policy[1], ""] = int(policy[2])
        return counters


def _has_content(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return bool(stream.read(1))
    except OSError:  # the kernel has no such tables
        return False


def _legacy_drop(place: Place, rule: tuple[str, ...]) -> Drop:
    name, table, chain, text = rule
    tool = name[: -len("-save")]
    what = f"-A {chain} {text}" if text else f"the policy of chain {chain}"
    # What iptables prints is not quoted for a shell.
    change = ("-D", chain, *iptables.words(text)) if text else ("-P", chain, "ACCEPT")
    command = place.command(tool, "-t", table, *change)
    return Drop(
        printable.line(f"{what} in table {table} of {tool}"), printable.line(command), None, chain not in _EARLY_CHAINS
    )
