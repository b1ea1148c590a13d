# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A container that moves to another or a changed network is never left without a network."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

UNWILLING = ScriptedAnswer(error={"code": 102, "msg": "not today"})


def _records(node: EngineNode) -> list[str]:
    return [path.name for path in (node.cache_dir / "results").iterdir()]


@pytest.mark.parametrize("name", ["net", "other"])
def test_a_failed_move_is_rolled_back(node: EngineNode, blue: Namespace, name: str) -> None:
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True)))
    node.attach(attachment("net", blue))
    node.plugins.write("odd", ADD=UNWILLING)
    (node.conf_dir / "10-net.conflist").unlink()
    node.write(reference_networks.network(reference_networks.bridge(ipMasq=True), {"type": "odd"}, name=name))
    done = node.run("attachments", attachments=[attachment(name, blue)], purge=True)
    done.require_failure(
        "not today", "the attachment of blue (eth0) to network net has been added again as it was before"
    )
    assert (_records(node), len(node.leases("net")), node.intents()) == (["net-blue-eth0"], 1, [])
    node.plugins.write("odd")
    done = node.run("attachments", attachments=[attachment(name, blue)], purge=True)
    assert done.succeeded().result["changed"]
    assert (_records(node), len(node.leases(name)), node.intents()) == ([f"{name}-blue-eth0"], 1, [])
