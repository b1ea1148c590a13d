# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An address keeps its lease as long as DEL of another plugin fails, whose rules may lead to the address."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import Engine, EngineNode, attachment
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer

pytestmark = [pytest.mark.requires_root]

PTP: JsonObject = {"type": "ptp", "ipam": reference_networks.host_local("10.1.0.0/16")}


@pytest.mark.parametrize("maker", [reference_networks.bridge(), PTP], ids=lambda keys: str(keys["type"]))
def test_del_keeps_record_and_lease_until_every_plugin_has_succeeded(
    node: EngineNode, here: Engine, blue: Namespace, maker: JsonObject
) -> None:
    node.write(reference_networks.network(maker, {"type": "odd"}))
    item = attachment("net", blue)
    node.plugins.write("odd", DEL=ScriptedAnswer(error={"code": 999, "msg": "the firewall cannot be listed"}))
    here.add(item)
    assert "the firewall cannot be listed" in str(error_of(here.delete, item))
    assert (node.leases("net"), node.record_of(item).exists(), set(blue.links())) == (["10.1.0.2"], True, {"lo"})
    node.plugins.write("odd")
    here.delete(item)
    assert (node.leases("net"), node.record_of(item).exists()) == ([], False)
