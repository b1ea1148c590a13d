# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bench of a chapter: the node, the number of attachments and the number of rounds."""

from __future__ import annotations

import dataclasses
import pathlib

from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode


@dataclasses.dataclass(frozen=True)
class Effort:
    """Sizes and rounds of the measurements.

    Attributes:
        rounds: Rounds of measurements that take minutes.
        short_rounds: Rounds of the others.
        few: Attachments that a task often has.
        many: Attachments of a large node.
        crowd: The most attachments that a node is likely to have.
        fleets: Nodes of each fleet.
    """

    rounds: int
    short_rounds: int
    few: int
    many: int
    crowd: int
    fleets: tuple[int, ...]

    def with_rounds(self, rounds: int | None) -> Effort:
        return self if rounds is None else dataclasses.replace(self, rounds=rounds, short_rounds=rounds)


WHOLE = Effort(rounds=3, short_rounds=5, few=100, many=1000, crowd=5000, fleets=(1, 3, 10, 20))
QUICK = Effort(rounds=1, short_rounds=2, few=20, many=200, crowd=400, fleets=(1, 2))


@dataclasses.dataclass(frozen=True)
class Bench:
    """`libcni` is the program that uses libcni, and `disk` is a directory that is not in memory."""

    node: BenchNode
    libcni: pathlib.Path
    disk: pathlib.Path
    effort: Effort
    # The default of the module `attachments`.
    workers: int = dataclasses.field(default_factory=default_workers)
