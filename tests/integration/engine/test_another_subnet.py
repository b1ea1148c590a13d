# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bridge that is to be the gateway of another subnet."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.engine import networks
from ansible_collections.cni.node.tests.integration.engine.node import Json, Node, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]


def _network(subnet: str, **keys: t.Any) -> Json:
    return networks.network(networks.bridge(ipam=networks.host_local(subnet), **keys))


def test_the_error_says_how_a_bridge_gets_another_subnet(node: Node, blue: Namespace) -> None:
    node.write(_network("10.1.0.0/16"))
    with namespace("red") as red:
        items = [attachment("net", one) for one in (blue, red)]
        node.attach(*items)
        node.write(_network("10.9.0.0/16"))
        refused = node.run("attachments", attachments=items)
        refused.failed("already has an IP address different from 10.9.0.1/16", 'give the plugin "forceAddress": true')
        node.write(_network("10.9.0.0/16", forceAddress=True))
        assert [entry["action"] for entry in node.attach(*items)] == ["recreated", "recreated"]
        assert [entry["action"] for entry in node.attach(*items)] == ["checked", "checked"]
        assert all(address.startswith("10.9.0.") for one in (blue, red) for address in one.addresses("eth0"))
        node.detach(*items)
