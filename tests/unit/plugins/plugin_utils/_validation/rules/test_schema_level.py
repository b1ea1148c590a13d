# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import validate

# Of other projects and clouds, without a schema here; some are nearly the name of a reference plugin.
OTHERS = (
    "antrea",
    "azure-vnet",
    "bond",
    "cnv-tuning",
    "danm",
    "ecs-bridge",
    "ib-sriov",
    "ipvtap",
    "kube-ovn",
    "l2bridge",
    "macvtap",
    "nat",
    "ovs-cni",
    "route-override",
    "sdnbridge",
    "sriov-cni",
    "terway",
    "vpc-bridge",
    "vxlan",
    "weave-net",
    "win-bridge",
    "wlan",
)


@pytest.mark.parametrize("plugin_type", sorted({*OTHERS, *schemas.plugin_types()}))
def test_an_unknown_plugin_type_is_not_reported_as_misspelled(plugin_type: str) -> None:
    for plugin in ({"type": plugin_type}, {"type": "bridge", "ipam": {"type": plugin_type}}):
        network = {"cniVersion": "1.0.0", "name": "net", "plugins": [plugin]}
        findings = validate([Source("net", json.dumps(network).encode())], ["schema"])
        assert "misspelled-plugin" not in [finding.code for finding in findings]


def test_findings_come_in_the_order_of_the_document() -> None:
    wrong = {"type": "bridge", "mtu": "x", "ipMasq": 1, "bridge": [], "isGateway": 0}
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [wrong]}
    findings = validate([Source("net", json.dumps(network, indent=1).encode())], ["schema"])
    assert [finding.path.rpartition("/")[2] for finding in findings] == ["mtu", "ipMasq", "bridge", "isGateway"]
