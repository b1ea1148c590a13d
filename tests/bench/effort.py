# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every chapter is given: where to measure, how much, and how often."""

from __future__ import annotations

import dataclasses
import pathlib

from ansible_collections.cni.node.plugins.module_utils._base.process import default_workers
from ansible_collections.cni.node.tests.bench.bench_node import BenchNode


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much, and how often.

    Attributes:
        many_rounds: Where those who are compared differ by less than one round differs from the next.
        few: Attachments where real plugins run.
        many: Attachments where the runtime's own work is looked at.
        crowd: As many as a node may ever have.
        fleets: Nodes of each fleet.
    """

    rounds: int
    short_rounds: int
    many_rounds: int
    few: int
    many: int
    crowd: int
    fleets: tuple[int, ...]


WHOLE = Effort(rounds=3, short_rounds=5, many_rounds=10, few=100, many=1000, crowd=5000, fleets=(3, 10, 30, 50))
QUICK = Effort(rounds=1, short_rounds=3, many_rounds=3, few=20, many=200, crowd=400, fleets=(2, 3))


@dataclasses.dataclass(frozen=True)
class Bench:
    """`libcni` is the program over libcni; `disk` a directory that is not in memory."""

    node: BenchNode
    libcni: pathlib.Path
    disk: pathlib.Path
    effort: Effort
    # As many as the module `attachments` takes when it is not told.
    workers: int = dataclasses.field(default_factory=default_workers)
