# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much a test repeats: everything in the outer ring, `make test-all`, and a sample in the inner one, `make test`."""

from __future__ import annotations

import os
import random
import typing as t

IS_OUTER = os.environ.get("CNI_RING") == "outer"
# CNI_SEED repeats the sample of an earlier run; pytest's header shows it.
SEED = int(os.environ.get("CNI_SEED") or random.randrange(1_000_000))

Item = t.TypeVar("Item")


def repetitions(outer: int, inner: int) -> int:
    return outer if IS_OUTER else inner


def sample(
    items: t.Sequence[Item], inner: int, key: t.Callable[[Item], object] = lambda item: None, *, seed: int = SEED
) -> list[Item]:
    """Return all items in the outer ring, else a sample in their order.

    Args:
        items: The items.
        inner: Take one of so many in the inner ring.
        key: Of each value of this function, at least one item is in the sample.
        seed: Makes the same sample each time.
    """
    if IS_OUTER:
        return list(items)
    choice = random.Random(seed)
    chosen = set(range(choice.randrange(inner), len(items), inner))
    indexes: dict[object, list[int]] = {}
    for index, item in enumerate(items):
        indexes.setdefault(key(item), []).append(index)
    chosen |= {choice.choice(group) for group in indexes.values() if chosen.isdisjoint(group)}
    return [items[index] for index in sorted(chosen)]
