# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""End an interrupted program as other programs end: by the signal, without a traceback."""

from __future__ import annotations

import os
import sys
import types


def end_quietly() -> None:
    """Let an interruption that has reached the end of the main thread end this process by its signal, SIGINT.

    What was begun is undone or completed before, as after another error. A shell shows the status 130, and 143 after SIGTERM,
    which ends a process at once.
    """
    sys.excepthook = _handle


def _handle(kind: type[BaseException], exc: BaseException, traceback: types.TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        import signal  # slow to load for a program that starts

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.__excepthook__(kind, exc, traceback)
