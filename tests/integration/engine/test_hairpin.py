# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A container reaches itself by its own mapped port only through a bridge with hairpinMode, as docs/howto/ports.md says."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.connections import NODE, listen, neighbour
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, attachment
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import map_port
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

HOST_PORT, CONTAINER_PORT = 8080, 80
# A packet that a bridge does not send back is lost without an answer.
SHORTLY = 1.5  # seconds


@pytest.mark.parametrize("builtin", ["always", "never"])
@pytest.mark.parametrize("has_hairpin", [True, False])
def test_a_container_reaches_its_own_mapped_port_with_hairpin_mode(
    node: EngineNode, blue: Namespace, has_hairpin: bool, builtin: str
) -> None:
    ipam = reference_networks.host_local("10.1.0.0/16", routes=reference_networks.DEFAULT_ROUTES)
    bridge = reference_networks.bridge(ipMasq=True, hairpinMode=has_hairpin, ipam=ipam)
    node.write(reference_networks.network(bridge, reference_networks.PORTMAP))
    web = map_port(blue)
    node.attach(web, builtin=builtin)
    with namespace("red") as red, neighbour(), listen(blue.path, 4, CONTAINER_PORT) as listener:
        other = attachment("net", red)
        node.attach(other, builtin=builtin)
        listener.connect(red.path, NODE[4], HOST_PORT)
        if has_hairpin:
            listener.connect(blue.path, NODE[4], HOST_PORT)
        else:
            with pytest.raises(TimeoutError):
                listener.connect(blue.path, NODE[4], HOST_PORT, patience=SHORTLY)
        node.detach(other, builtin=builtin)
