# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The steps of a diagnosis: what a packet passes, and whether it can pass there."""

from __future__ import annotations

import enum
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base import printable
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonMapping, JsonObject

# What to do when an attachment has lost something.
REPAIR = "run cni.node.repair"


class State(str, enum.Enum):
    """The state of a step."""

    OK = "ok"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Check(str, enum.Enum):
    """The subject of a step, in the order in which a packet meets it."""

    NETNS = "netns"
    LINK = "link"
    ADDRESS = "address"
    ROUTE = "route"
    PAIR = "pair"
    PORT = "port"
    BRIDGE = "bridge"
    SPOOF_CHECK = "spoof_check"
    VLAN = "vlan"
    ISOLATION = "isolation"
    MODE = "mode"
    MTU = "mtu"
    GATEWAY = "gateway"
    NEIGHBOUR = "neighbour"
    HOST_PORT = "host_port"
    REVERSE_PATH = "reverse_path"
    FORWARDING = "forwarding"
    FIREWALL = "firewall"
    MASQUERADE = "masquerade"
    LISTENER = "listener"
    WAY_BACK = "way_back"
    ANSWER = "answer"


class Step(t.NamedTuple):
    """A step of a packet's way.

    Attributes:
        place: ``node``, or the name or path of a network namespace.
        found: The value found.
        needed: The value needed; empty unless the step is broken.
        command: A command that mends it, where there is one.
        is_back: Whether the step is on the way of the answer.
    """

    check: Check
    state: State
    place: str
    found: str
    needed: str = ""
    command: str = ""
    is_back: bool = False

    def as_dict(self) -> JsonObject:
        return {
            "check": self.check.value,
            "state": self.state.value,
            "place": printable.line(self.place),
            "way": "back" if self.is_back else "there",
            "found": printable.line(self.found),
            "needed": printable.line(self.needed),
            "command": printable.line(self.command),
        }


def format_steps(steps: t.Sequence[JsonMapping]) -> list[str]:
    """Return the lines of steps, as `Step.as_dict` returns them, for readers."""
    width = max((len(f"{step['place']} {step['check']}") for step in steps), default=0)
    lines = []
    for step in steps:
        arrow = "<-" if step["way"] == "back" else "->"
        where = f"{step['place']} {step['check']}"
        lines.append(f"{arrow} {where:<{width}}  {step['state']:<7}  {step['found']}")
        if step["state"] == State.BROKEN.value:
            lines.append(f"   needed: {step['needed']}")
            lines += [f"   to mend: {step['command']}"] if step["command"] else []
    return lines


def ok(check: Check, place: str, found: str) -> Step:
    return Step(check, State.OK, place, found)


def broken(check: Check, place: str, found: str, needed: str, command: str = "") -> Step:
    return Step(check, State.BROKEN, place, found, needed, command)


def unknown(check: Check, place: str, found: str) -> Step:
    return Step(check, State.UNKNOWN, place, found)
