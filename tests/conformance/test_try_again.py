# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Section 5, "Error", code 11: "to notify the runtime it should re-try the operation later"."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.tests.conformance.conformance_node import ConformanceNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

LATER = ScriptedAnswer(error={"code": 11, "msg": "not now"})


def test_add_is_tried_again_after_del_differs_from_libcni(node: ConformanceNode) -> None:
    """Section 2: no second ADD of an attachment without a DEL between."""
    node.write("b", ADD=[LATER, LATER, ScriptedAnswer()])
    node.runtime.add(node.network("a", "b"), node.attachment())
    undone = [("ADD", "a"), ("ADD", "b"), ("DEL", "b"), ("DEL", "a")]
    assert node.ran() == [*undone, *undone, ("ADD", "a"), ("ADD", "b")]


@pytest.mark.parametrize("command", ["CHECK", "DEL"])
def test_check_and_del_are_tried_again_differs_from_libcni(node: ConformanceNode, command: str) -> None:
    record = node.add(node.network("a"))
    node.write("a", **{command: [LATER, LATER, ScriptedAnswer()]})
    if command == "CHECK":
        node.runtime.check(record)
    else:
        node.runtime.delete(record)
    assert node.ran() == [(command, "a")] * 3
