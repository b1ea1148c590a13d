# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin is killed with its children after a time limit."""

from __future__ import annotations

import os
import pathlib
import signal
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni import network_operations
from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.child import wait_until_dead


@pytest.fixture
def limited_node(tmp_path: pathlib.Path) -> ConformanceNode:
    return ConformanceNode(tmp_path, timeout=3)


@pytest.mark.parametrize("hang", ["yes", "deaf"])
def test_a_plugin_that_hangs_is_killed_and_the_error_has_the_limit(
    limited_node: ConformanceNode, hang: t.Literal["yes", "deaf"]
) -> None:
    limited_node.write("a", STATUS=ScriptedAnswer(hang=hang, stderr="waiting for the daemon"))
    error = error_of(network_operations.status, limited_node.runtime, limited_node.network("a"))
    assert (error.code, error.msg) == (
        Code.IO_FAILURE,
        "plugin a failed (STATUS): ran out of time (limit 3 s) and was killed",
    )
    assert "stderr (last lines): waiting for the daemon" in error.details
    wait_until_dead(limited_node.calls()[0].pid)


def test_children_of_a_plugin_are_killed_with_it_differs_from_libcni(limited_node: ConformanceNode) -> None:
    limited_node.write("a", STATUS=ScriptedAnswer(hang="yes", grandchild="same group"))
    error_of(network_operations.status, limited_node.runtime, limited_node.network("a"))
    (call,) = limited_node.calls()
    assert call.grandchild is not None
    wait_until_dead(call.grandchild)


def test_a_plugin_that_has_closed_its_output_and_hangs_is_killed_too(limited_node: ConformanceNode) -> None:
    limited_node.write("a", STATUS=ScriptedAnswer(hang="yes", close=True))
    assert "ran out of time" in error_of(network_operations.status, limited_node.runtime, limited_node.network("a")).msg
    wait_until_dead(limited_node.calls()[0].pid)


def test_the_runtime_does_not_wait_for_a_grandchild_in_its_own_session(limited_node: ConformanceNode) -> None:
    limited_node.write("a", STATUS=ScriptedAnswer(hang="yes", grandchild="own session"))
    started = time.monotonic()
    error_of(network_operations.status, limited_node.runtime, limited_node.network("a"))
    taken = time.monotonic() - started
    os.kill(t.cast("int", limited_node.calls()[0].grandchild), signal.SIGKILL)
    assert taken < 10


def test_the_time_limit_applies_to_each_plugin(limited_node: ConformanceNode) -> None:
    limited_node.write("b", DEL=ScriptedAnswer(hang="yes"))
    record = limited_node.add(limited_node.network("a", "b", "c"))
    assert "plugin b failed (DEL): ran out of time" in error_of(limited_node.runtime.delete, record).msg
    assert [call.plugin for call in limited_node.calls("DEL") if call.ended] == ["c", "a"]


def test_output_of_a_killed_plugin_is_not_a_result(limited_node: ConformanceNode) -> None:
    limited_node.write("a", ADD=ScriptedAnswer(result={"dns": {}}, hang="yes"))
    assert (
        "ran out of time"
        in error_of(limited_node.runtime.add, limited_node.network("a"), limited_node.attachment()).msg
    )
    assert limited_node.records_and_intents() == ([], [])
