# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Count the remote calls of a playbook; each item of a loop counts."""

from __future__ import annotations

import os
import pathlib
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: calls
type: notification
short_description: Counts calls for the benchmark
description:
  - The number goes to the file that the environment variable CNI_BENCH_CALLS names.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "calls"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def v2_runner_on_ok(self, result: t.Any) -> None:
        # ansible-core 2.19 made the attribute public and deprecated the private one.
        keys = result.result if hasattr(result, "result") else result._result
        # Only a module that was run returns its arguments.
        self._count += sum("invocation" in item for item in keys.get("results", [keys]))

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        pathlib.Path(os.environ["CNI_BENCH_CALLS"]).write_text(str(self._count), encoding="utf-8")
