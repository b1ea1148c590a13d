# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An executor that records the duration of each call."""

from __future__ import annotations

import time

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import NEVER, BuiltinExecutor
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import PluginCall, Stopwatch
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryExecutor,
    fails_at,
    succeeds,
)


def test_each_call_is_timed_even_if_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([1.0, 1.25, 2.0, 4.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    watch = Stopwatch(BuiltinExecutor(MemoryExecutor(a=succeeds, b=fails_at("ADD")), NEVER))
    attachment = Attachment("net", "blue", "eth0")
    assert b"1.1.0" in watch.execute("a", b"{}", Parameters("VERSION"))
    with pytest.raises(CniError):
        watch.execute("b", b"{}", Parameters("ADD", attachment))
    assert watch.calls == [PluginCall("a", "VERSION", 0.25, None), PluginCall("b", "ADD", 2.0, attachment.key)]


def test_the_stopwatch_reports_a_missing_plugin() -> None:
    watch = Stopwatch(BuiltinExecutor(MemoryExecutor(a=succeeds), NEVER))
    assert watch.require("a") == "memory:a"
    with pytest.raises(CniError):
        watch.require("b")
