# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attachments of built-in plugins and of executables are the same to each other: checked, repaired, deleted."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.builtin.networks import (
    CASES,
    Case,
    as_set,
    complete_state,
    prepare,
    require_check,
    run_damage,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, require_success
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.state import State

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]


@pytest.fixture(autouse=True)
def uplink(node: EngineNode) -> t.Iterator[None]:
    """Give the node a link with the name of the container's interface, as most nodes have one."""
    subprocess.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "uplink"], check=True)
    yield
    subprocess.run(["ip", "link", "delete", "eth0"], check=True)


@pytest.fixture(params=list(CASES.values()), ids=list(CASES))
def case(request: pytest.FixtureRequest, node: EngineNode) -> Case:
    chosen: Case = request.param
    return chosen


def state_after_executables(node: EngineNode, there: Engine, blue: Namespace, item: JsonObject) -> State:
    """Return the state that executables leave after ADD and DEL: a bridge, empty chains and settings stay by design."""
    there.add(item)
    there.delete(item)
    return complete_state(node, blue)


def test_executables_check_and_delete_attachments_of_the_engine(
    node: EngineNode, here: Engine, there: Engine, blue: Namespace, case: Case
) -> None:
    item = prepare(node, blue, case)
    before = state_after_executables(node, there, blue, item)
    here.add(item)
    assert here.record(item).builtin
    require_check(there, item)
    require_check(here, item)
    there.delete(item)
    assert before.difference(complete_state(node, blue)) == ""


def test_the_engine_checks_repairs_and_deletes_attachments_of_executables(
    node: EngineNode, here: Engine, there: Engine, blue: Namespace, case: Case
) -> None:
    item = prepare(node, blue, case)
    before = state_after_executables(node, there, blue, item)
    result = there.add(item)
    assert not there.record(item).builtin
    require_check(here, item)
    attached = as_set(complete_state(node, blue))
    for command in case.damage:
        run_damage(command, result, blue)
        action, changed, reason = require_success(here.ensure(item))
        assert (action, changed) == ("repaired", True), f"{command}: {reason}"
        assert attached.difference(as_set(complete_state(node, blue))) == "", command
        require_check(here, item)
    require_check(there, item)
    here.delete(item)
    assert as_set(before).difference(as_set(complete_state(node, blue))) == ""
