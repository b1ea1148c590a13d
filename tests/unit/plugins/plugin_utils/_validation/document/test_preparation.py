# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of host-local are warnings where another plugin prepares its configuration."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils._validation.document.source import Source
from ansible_collections.cni.node.plugins.plugin_utils._validation.validate import validate

BACKWARDS = {"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.2"}


def find(plugin_type: str, ipam: JsonObject, **keys: object) -> dict[str, str]:
    """Return the severities of the findings by code."""
    plugin = {"type": plugin_type, "ipam": {"type": "host-local", **ipam}, **keys}
    network = {"cniVersion": "0.4.0", "name": "net", "plugins": [plugin]}
    return {finding.code: finding.severity for finding in validate([Source("net", json.dumps(network).encode())])}


@pytest.mark.parametrize("plugin_type", ["antrea", "azure-vnet", "calico", "cilium-cni"])
def test_a_plugin_that_prepares_host_local_may_have_no_range(plugin_type: str) -> None:
    assert find(plugin_type, {}) == {}


@pytest.mark.parametrize("plugin_type", ["bridge", "ptp", "ovs", "sriov"])
def test_a_plugin_that_passes_its_ipam_needs_a_range(plugin_type: str) -> None:
    keys = {"bridge": "br0"} if plugin_type == "ovs" else {}
    assert find(plugin_type, {}, **keys) == {"missing-key": "error"}


def test_the_bridge_of_kube_router_may_have_no_range() -> None:
    assert find("bridge", {}, bridge="kube-bridge") == {}
    assert find("bridge", {"subnet": "foo"}, bridge="kube-bridge") == {"malformed-value": "error"}


@pytest.mark.parametrize(("plugin_type", "severity"), [("ptp", "error"), ("antrea", "warning"), ("calico", "warning")])
def test_errors_of_host_local_are_warnings_where_a_program_may_complete_its_configuration(
    plugin_type: str, severity: str
) -> None:
    assert find(plugin_type, BACKWARDS) == {"range-backwards": severity}
    assert find(plugin_type, {"subnet": "foo"}) == {"malformed-value": severity}
    assert find(plugin_type, {"subnet": "10.1.0.0/24", "rangeStat": "10.1.0.9"}) == {"misspelled-key": severity}


def test_a_word_that_calico_replaces_is_accepted_under_calico_only() -> None:
    assert find("calico", {"subnet": "usePodCidr"}) == {}
    assert find("calico", {"ranges": [[{"subnet": "usePodCidr"}], [{"subnet": "usePodCidrIPv6"}]]}) == {}
    assert find("ptp", {"subnet": "usePodCidr"}) == {"malformed-value": "error"}


def test_errors_of_a_delegate_keep_their_severity() -> None:
    delegate = {"type": "antrea", "ipam": {"type": "host-local", **BACKWARDS}}
    network = {"cniVersion": "0.4.0", "name": "net", "type": "multus", "delegates": [delegate]}
    network["kubeconfig"] = "/etc/cni/net.d/multus.kubeconfig"
    findings = validate([Source("net", json.dumps(network).encode())])
    assert [(finding.code, finding.severity) for finding in findings] == [("range-backwards", "warning")]


def test_a_delegate_of_flannel_keeps_the_word_that_calico_replaces() -> None:
    """flannel itself refuses the key ipam in its delegate; nothing is said of what host-local never gets."""
    delegate = {"type": "calico", "ipam": {"type": "host-local", "subnet": "usePodCidr"}}
    network = {"cniVersion": "0.4.0", "name": "net", "plugins": [{"type": "flannel", "delegate": delegate}]}
    assert [finding.code for finding in validate([Source("net", json.dumps(network).encode())])] == ["exclusive-keys"]
