# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Find out why one address does not reach another: follow the packet, and stop at the first thing that is broken."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis import probe
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.endpoints import find_destination, find_source
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.examination import Examination, SentPacket
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.node_places import NodePlaces
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.packet import Packet
from ansible_collections.cni.node.plugins.module_utils._node.diagnosis.step import State, Step, format_steps

T = t.TypeVar("T")


class Diagnosis(t.NamedTuple):
    """The way of a packet, as far as it was followed.

    Attributes:
        source, destination: The names that the operator gave.
        steps: In the order of the packet's way; the last one is broken if any is.
        answer: What the probe received; empty if none was sent.
        leaving: The packet as it leaves the node; None if it does not.
        own_sources, own_targets: What the node has of both ends.
        missing: Why no packet was followed: the node does not have an end that is given by a name.
    """

    source: str
    destination: str
    steps: tuple[Step, ...]
    answer: str
    leaving: Packet | None = None
    own_sources: tuple[str, ...] = ()
    own_targets: tuple[str, ...] = ()
    missing: str = ""

    @property
    def broken(self) -> Step | None:
        return next((step for step in self.steps if step.state is State.BROKEN), None)

    @property
    def is_reached(self) -> bool | None:
        """Return whether the destination is reached; None if that is not known."""
        if self.broken is not None:
            return False
        return True if self.answer == probe.ANSWERED else None

    def as_dict(self) -> JsonObject:
        reached: JsonObject = {} if self.is_reached is None else {"reached": self.is_reached}
        broken: JsonObject = {} if self.broken is None else {"broken": self.broken.as_dict()}
        return {
            "answer": self.answer,
            "steps": [step.as_dict() for step in self.steps],
            "ends": {"from": list(self.own_sources), "to": list(self.own_targets)},
            **reached,
            **broken,
            **self._describe_leaving(),
        }

    def _describe_leaving(self) -> JsonObject:
        packet = self.leaving
        if packet is None:
            return {}
        return {"leaves": {"from": str(packet.source), "to": packet.target, "source_port": packet.source_port}}

    @property
    def summary(self) -> str:
        """One sentence."""
        if self.missing:
            return self.missing
        way = f"{self.source} -> {self.destination}"
        step = self.broken
        if step is not None:
            direction = ", on the way back" if step.is_back else ""
            return f"{way}: broken in {step.as_dict()['place']}{direction}: {step.as_dict()['found']}"
        return f"{way}: {'reached' if self.is_reached else 'nothing is broken, as far as the node shows'}"

    @property
    def lines(self) -> list[str]:
        """A list of the steps for readers."""
        return [*format_steps([step.as_dict() for step in self.steps]), self.summary]


def diagnose(
    paths: NodePaths,
    cache_dir: str,
    source: str,
    destination: str,
    timeout: float,
    *,
    dry_run: bool,
    sent: SentPacket | None = None,
    elsewhere: bool = False,
) -> Diagnosis:
    """Follow a packet from one end to the other and its answer back.

    Args:
        source: ``node``, a container ID, the name or path of a network namespace, or an address.
        destination: ``ADDRESS`` or the name of an attachment, with ``:PORT`` and ``/PROTOCOL`` if needed.
        timeout: Seconds to wait for the answer to the packet.
        dry_run: Send nothing.
        sent: The packet, if another node has sent it.
        elsewhere: Follow nothing, instead of an error, if the node does not have an end that is given by a name.

    Raises:
        CniError: ``INVALID_CONFIG``: an end is malformed; ``UNKNOWN_CONTAINER``: it cannot be found; ``IO_FAILURE``: the kernel
            cannot be read.
    """
    with netns.open_current() as home:
        places = NodePlaces(paths, cache_dir, home)
        begin, no_begin = _find(lambda: find_source(source, places, paths), elsewhere)
        end, no_end = _find(lambda: find_destination(destination, places), elsewhere)
        ends = Diagnosis(
            source,
            destination,
            (),
            "",
            own_sources=tuple(map(str, begin.list_own_addresses())) if begin is not None else (),
            own_targets=tuple(end.list_own_targets(places)) if end is not None else (),
            missing=no_begin or no_end,
        )
        if begin is None or end is None:
            return ends
        examination = Examination(places, begin, end, timeout, dry_run=dry_run, sent=sent)
        steps = tuple(examination.steps())
    return ends._replace(steps=steps, answer=examination.answer, leaving=examination.leaving)


def _find(find: t.Callable[[], T], elsewhere: bool) -> tuple[T | None, str]:
    """Return an end; with `elsewhere`, None and the error if the node does not have it."""
    try:
        return find(), ""
    except CniError as exc:
        if not elsewhere or exc.code != Code.UNKNOWN_CONTAINER:
            raise
        return None, str(exc)
