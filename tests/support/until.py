# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait for another process."""

from __future__ import annotations

import time
import typing as t

T = t.TypeVar("T")


def until(condition: t.Callable[[], T | None], seconds: float = 60) -> T:
    """Return the first value of `condition` that is not None."""
    deadline = time.monotonic() + seconds
    while (value := condition()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition did not hold within {seconds} s")
        time.sleep(0.005)
    return value
