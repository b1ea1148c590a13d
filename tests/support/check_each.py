# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One test for many cases of one rule, whose failure names each case that breaks the rule."""

from __future__ import annotations

import os
import traceback
import typing as t

C = t.TypeVar("C")


def check_each(cases: t.Mapping[str, C], check: t.Callable[[C], None]) -> None:
    """Run a check on every case.

    Raises:
        AssertionError: The check has failed for the cases that the message names, or there are no cases.
    """
    assert cases, "there are no cases to check"
    errors = {name: error for name, case in cases.items() if (error := _find_error(check, case))}
    failures = [f"{name}: {_describe(error)}" for name, error in errors.items()]
    assert not failures, "\n".join([f"{len(failures)} of {len(cases)} cases fail:", *failures])


def _find_error(check: t.Callable[[C], None], case: C) -> Exception | None:
    try:
        check(case)
    except Exception as error:
        return error
    return None


def _describe(error: Exception) -> str:
    """Return the place, the type and the message of an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}: {type(error).__name__}: {error}"
