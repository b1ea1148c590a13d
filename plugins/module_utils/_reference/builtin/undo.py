# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Undo the steps of an ADD that fails later."""

from __future__ import annotations

import types
import typing as t


class Undo:
    """A context that calls what was added to it, the last one first, if it is left with an exception."""

    def __init__(self) -> None:
        self._steps: list[tuple[t.Callable[[], object], bool]] = []

    def add(self, step: t.Callable[[], object], *, needs_others: bool = False) -> None:
        """Add a call that undoes a step. Its errors are not reported, because the first error is the one to report.

        Args:
            needs_others: Whether it is left to DEL if a later step cannot be undone: an address with rules keeps its lease.
        """
        self._steps.append((step, needs_others))

    def __enter__(self) -> Undo:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, dummy: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        if kind is None:
            return
        has_failed = False
        for step, needs_others in reversed(self._steps):
            if has_failed and needs_others:
                continue
            try:
                step()
            except Exception:  # the other steps must not be left out
                has_failed = True
