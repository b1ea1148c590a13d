# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin's message about its arguments is shown with their keys and without their values."""

from __future__ import annotations

import json

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

SECRET = 'hush "wörd'
SHOWN = (SECRET, "hush", "wörd", json.dumps(SECRET)[1:-1])


def _output(node: EngineNode, item: JsonObject) -> str:
    """Return the message of a failed run; assert that its result does not show the secret."""
    done = node.run("attachments", attachments=[item])
    assert done.status == 1, done.result
    output = json.dumps({key: value for key, value in done.result.items() if key != "invocation"}, ensure_ascii=False)
    assert not [text for text in SHOWN if text in output], output
    return done.msg


def test_an_unknown_argument_is_shown_without_its_value_unlike_libcni(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    assert 'ARGS: unknown args ["TOKEN=***"]' in _output(node, attachment("net", blue, args={"TOKEN": SECRET}))
    assert node.leases("net") == []


def test_an_unavailable_address_is_still_shown(node: EngineNode, blue: Namespace) -> None:
    node.write(reference_networks.network(reference_networks.bridge()))
    assert "10.99.0.1" in _output(node, attachment("net", blue, args={"IP": "10.99.0.1"}))


@pytest.mark.parametrize(
    "answer",
    [
        ScriptedAnswer(error={"code": 100, "msg": f"no {SECRET}", "details": json.dumps(SECRET)}),
        ScriptedAnswer(stderr=f"level=error token={SECRET}", exit=1),
        ScriptedAnswer(stdout=f"what is {SECRET}?", exit=1),
    ],
    ids=["error", "stderr", "stdout"],
)
@pytest.mark.parametrize("way", ["args", "config_args", "file"])
def test_values_are_hidden_in_every_error_of_a_plugin(
    node: EngineNode, blue: Namespace, way: str, answer: ScriptedAnswer
) -> None:
    node.plugins.write("odd", ADD=answer)
    nested = {"deep": [{"er": SECRET}]}
    plugin = {"type": "odd", **({"args": {"cni": nested}} if way == "file" else {})}
    node.write(reference_networks.network(plugin))
    given: dict[str, JsonObject] = {
        "args": {"args": {"TOKEN": SECRET}},
        "config_args": {"config_args": nested},
        "file": {},
    }
    assert "***" in _output(node, attachment("net", blue, **given[way]))


def test_values_are_hidden_in_stderr_of_a_successful_plugin(node: EngineNode, blue: Namespace) -> None:
    node.plugins.write("odd", ADD=ScriptedAnswer(result={"cniVersion": "1.0.0"}, stderr=f"token={SECRET}"))
    node.write(reference_networks.network({"type": "odd"}))
    item = attachment("net", blue, args={"TOKEN": SECRET})
    result = node.run("attachments", attachments=[item], _ansible_verbosity=3).succeeded().result
    output = json.dumps({key: value for key, value in result.items() if key != "invocation"}, ensure_ascii=False)
    assert "token=***" in output
    assert not [text for text in SHOWN if text in output]
