# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bridge whose network changes to another subnet."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode, ModuleRun, attachment
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]


def _network(subnet: str, **keys: t.Any) -> JsonObject:
    return reference_networks.network(reference_networks.bridge(ipam=reference_networks.host_local(subnet), **keys))


def test_the_error_explains_how_to_change_a_bridges_subnet(node: EngineNode, blue: Namespace) -> None:
    node.write(_network("10.1.0.0/16"))
    with namespace("red") as red:
        items = [attachment("net", container) for container in (blue, red)]
        node.attach(*items)
        node.write(_network("10.9.0.0/16"))
        refused = node.run("attachments", attachments=items)
        refused.require_failure("already has an IP address different from 10.9.0.1/16", 'set "forceAddress": true')
        node.write(_network("10.9.0.0/16", forceAddress=True))
        assert [entry["action"] for entry in node.attach(*items)] == ["recreated", "recreated"]
        assert [entry["action"] for entry in node.attach(*items)] == ["checked", "checked"]
        assert all(
            address.startswith("10.9.0.") for container in (blue, red) for address in container.addresses("eth0")
        )
        node.detach(*items)


def _codes(done: ModuleRun) -> dict[str, str]:
    return {
        finding["code"]: finding["severity"]
        for finding in done.result["findings"]
        if finding["code"].startswith("bridge-")
    }


def _write(node: EngineNode, configuration: JsonObject, *, check: bool = False) -> ModuleRun:
    return node.run("conflists", conflists=[{"config": configuration}], _ansible_check_mode=check)


@pytest.mark.parametrize("check", [True, False])
def test_conflists_refuses_a_subnet_that_the_bridge_would_refuse(
    node: EngineNode, blue: Namespace, check: bool
) -> None:
    _write(node, _network("10.1.0.0/16")).succeeded()
    node.attach(attachment("net", blue))
    before = (node.conf_dir / "10-net.conflist").read_bytes()
    refused = _write(node, _network("10.9.0.0/16"), check=check)
    refused.require_failure("cni0 has the address 10.1.0.1/16", '"forceAddress": true', "(bridge-address-differs)")
    assert (node.conf_dir / "10-net.conflist").read_bytes() == before
    assert [entry["action"] for entry in node.attach(attachment("net", blue))] == ["checked"]
    node.detach(attachment("net", blue))


def _ping_gateway(container: Namespace) -> bool:
    return container.run("ping", "-c1", "-W1", "10.1.0.1", check=False).returncode == 0


def test_conflists_refuses_a_subnet_that_an_idle_bridge_has(node: EngineNode, blue: Namespace) -> None:
    _write(node, _network("10.1.0.0/16", bridge="old0")).succeeded()
    node.attach(attachment("net", blue))
    node.detach(attachment("net", blue))
    (node.conf_dir / "10-net.conflist").unlink()
    for check in (True, False):
        refused = _write(node, _network("10.1.0.0/16", bridge="new0"), check=check)
        refused.require_failure(
            "the bridge old0, which has no ports, has the address 10.1.0.1/16", "ip link delete old0", "(idle-bridge)"
        )
        assert not (node.conf_dir / "10-net.conflist").exists()
    subprocess.run(["ip", "link", "delete", "old0"], check=True)
    assert _write(node, _network("10.1.0.0/16", bridge="new0")).succeeded().result["findings"] == []
    node.attach(attachment("net", blue))
    assert _ping_gateway(blue)
    node.detach(attachment("net", blue))


def test_a_network_that_only_changes_its_bridge_is_warned_of_the_old_one(node: EngineNode, blue: Namespace) -> None:
    _write(node, _network("10.1.0.0/16", bridge="old0")).succeeded()
    node.attach(attachment("net", blue))
    moved = _network("10.1.0.0/16", bridge="new0")
    (warning,) = _write(node, moved).succeeded().result["findings"]
    assert (warning["code"], warning["severity"]) == ("idle-bridge", "warning")
    assert warning["hint"].endswith("until you remove it: ip link delete old0")
    node.attach(attachment("net", blue))
    assert not _ping_gateway(blue)
    subprocess.run(["ip", "link", "delete", "old0"], check=True)
    assert _ping_gateway(blue)
    assert _write(node, moved).succeeded().result["findings"] == []
    node.detach(attachment("net", blue))


def test_check_mode_names_the_attachments_that_a_changed_network_cuts_off(node: EngineNode, blue: Namespace) -> None:
    _write(node, _network("10.1.0.0/16")).succeeded()
    with namespace("red") as red, namespace("green") as green:
        items = [attachment("net", container) for container in (blue, red)]
        node.attach(*items, attachment("net", green))
        changed = _network("10.9.0.0/16", forceAddress=True)
        planned = _write(node, changed, check=True).succeeded()
        assert _codes(planned) == {"bridge-address-replaced": "warning"}
        arguments: JsonObject = {"attachments": items, "planned_conflists": planned.result["conflists"]}
        predicted = node.run("attachments", **arguments, _ansible_check_mode=True).succeeded()
        warnings = "\n".join(map(str, predicted.result["warnings"]))
        assert (
            "network net: 2 attachments would lose the network for a short time and be recreated: blue (eth0), red (eth0); "
            in warnings
        )
        assert "attachments that are not listed keep its earlier configuration: green (eth0)" in warnings
        assert [entry["action"] for entry in node.attach(*items)] == ["checked", "checked"]
        written = _write(node, changed).succeeded()
        done = node.run("attachments", **{**arguments, "planned_conflists": written.result["conflists"]}).succeeded()
        keys = ("container_id", "action", "reason", "changed")
        assert [[entry[key] for key in keys] for entry in predicted.entries] == [
            [entry[key] for key in keys] for entry in done.entries
        ]
        assert done.result["diff"] == predicted.result["diff"]
        assert "warnings" not in done.result
        node.detach(*items, attachment("net", green))


def test_the_error_states_that_file_and_attachment_disagree(node: EngineNode, blue: Namespace) -> None:
    node.write(_network("10.1.0.0/16"))
    node.attach(attachment("net", blue))
    path = node.write(_network("10.9.0.0/16"))
    refused = node.run("attachments", attachments=[attachment("net", blue)])
    refused.require_failure(
        "has been added again as it was before", f"{path} has the configuration that could not be attached"
    )
    (entry,) = node.run("node_info", gather=["attachments"]).succeeded().entries
    assert entry["network_state"] == "changed"
    node.detach(attachment("net", blue))


@pytest.mark.parametrize("check", [True, False])
def test_a_changed_bridge_does_not_fail_a_run_without_changes(node: EngineNode, check: bool) -> None:
    _write(node, _network("10.1.0.0/16")).succeeded()
    subprocess.run(["ip", "link", "add", "cni0", "type", "bridge"], check=True)
    subprocess.run(["ip", "address", "add", "10.9.0.1/16", "dev", "cni0"], check=True)
    done = _write(node, _network("10.1.0.0/16"), check=check).succeeded()
    assert (done.result["changed"], _codes(done)) == (False, {"bridge-address-differs": "warning"})
    assert "cni0 has the address 10.9.0.1/16" in str(done.result["warnings"])
    refused = _write(node, _network("10.1.0.0/16", mtu=1400), check=check)
    refused.require_failure("cni0 has the address 10.9.0.1/16", "(bridge-address-differs)")
    assert _codes(refused) == {"bridge-address-differs": "error"}
