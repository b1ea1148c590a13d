# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks of one scripted plugin that changes nothing, for tests of the modules' decisions."""

from __future__ import annotations

import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

RESULT: JsonObject = {"ips": [{"address": "10.9.0.2/24", "gateway": "10.9.0.1"}]}
GIVES = ScriptedAnswer(result=RESULT)
COMPLAINS = ScriptedAnswer(error={"code": 123, "msg": "not as it was", "details": "the cable is out"})
WORKS = ScriptedAnswer()


def configuration(name: str, **keys: t.Any) -> JsonObject:
    capabilities = {"mac": True, "portMappings": True}
    return reference_networks.network({"type": f"lab-{name}", "capabilities": capabilities, **keys}, name=name)


def open_network(node: EngineNode, name: str, **answers: ScriptedAnswer | t.Sequence[ScriptedAnswer]) -> str:
    """Write a network and its plugin by hand, and return the network's name."""
    given: JsonObject = {"ADD": GIVES, **answers}
    node.plugins.write(f"lab-{name}", **given)
    node.write(configuration(name))
    return name
