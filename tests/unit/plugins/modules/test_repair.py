# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module repair without a kernel. Repairs of real attachments are in tests/integration."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import OWN
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Resource
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows
from ansible_collections.cni.node.plugins.modules import repair
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner

BRIDGE: JsonObject = {"type": "bridge", "ipMasq": True}
RESULT: JsonObject = {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16"}]}

RepairNode = t.Callable[..., ModuleExit]


@pytest.fixture
def repair_node(run: ModuleRunner, tmp_path: pathlib.Path, program_dir: pathlib.Path) -> RepairNode:
    return lambda **options: run("repair", cache_dir=str(tmp_path / "cache"), **options)


def write_record(
    directory: pathlib.Path, netns: str, *plugins: JsonObject, has_result: bool = True, **network: t.Any
) -> None:
    config = {"cniVersion": "1.0.0", "name": "net", "plugins": plugins or [BRIDGE], **network}
    recorded = Result("1.0.0", RESULT) if has_result else None
    record = Record(Attachment("net", "blue", "eth0", netns), json.dumps(config).encode(), recorded)
    RecordStore.of_records(str(directory / "cache")).write(record)


def test_a_node_without_attachments_has_nothing_to_repair(repair_node: RepairNode, tmp_path: pathlib.Path) -> None:
    for check_mode in (True, False):
        done = repair_node(check_mode=check_mode).ok()
        assert (done["changed"], done["attachments"], done["summary"], done["msg"]) == (False, [], {}, "no attachments")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


SKIPPED: dict[str, tuple[str, list[JsonObject], JsonObject, bool, str]] = {
    "no path": ("", [BRIDGE], {}, True, "its record names no network namespace"),
    "gone": ("/nowhere/blue", [BRIDGE], {}, True, "its network namespace is gone"),
    "the node's own": ("/proc/self/ns/net", [BRIDGE], {}, True, "is the node's own network namespace"),
    "no result": ("/proc/self/ns/net", [BRIDGE], {}, False, "its record has no result"),
    "unknown plugins": (__file__, [{"type": "cilium-cni"}], {}, True, "its plugins are unknown: cilium-cni"),
    "disableCheck": (__file__, [BRIDGE], {"disableCheck": True}, True, "its network has disableCheck"),
}


@pytest.mark.parametrize(("netns", "plugins", "network", "has_result", "reason"), SKIPPED.values(), ids=SKIPPED)
def test_an_attachment_that_cannot_be_compared_is_named_and_left_alone(
    repair_node: RepairNode,
    tmp_path: pathlib.Path,
    netns: str,
    plugins: list[JsonObject],
    network: JsonObject,
    has_result: bool,
    reason: str,
) -> None:
    write_record(tmp_path, netns, *plugins, has_result=has_result, **network)
    done = repair_node().ok()
    (entry,) = done["attachments"]
    assert (entry["action"], entry["changed"], done["changed"]) == ("skipped", False, False)
    assert reason in entry["reason"]
    assert done["msg"] == "attachments: 1 skipped"


def test_a_record_that_cannot_be_read_is_a_warning(repair_node: RepairNode, tmp_path: pathlib.Path) -> None:
    write_record(tmp_path, "/nowhere/blue")
    path = tmp_path / "cache/results/net-red-eth0"
    path.write_text("{", encoding="utf-8")
    done = repair_node()
    assert len(done.ok()["attachments"]) == 1
    (warning,) = done.warnings
    assert warning.startswith(f"attachment not repaired: {path}")


def test_networks_select_attachments(repair_node: RepairNode, tmp_path: pathlib.Path) -> None:
    write_record(tmp_path, "/nowhere/blue")
    assert repair_node(networks=["other"]).ok()["attachments"] == []
    assert len(repair_node(networks=["other", "net"]).ok()["attachments"]) == 1


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"networks": ["a b"]}, "networks[0]"),
        ({"timeout": 0}, "timeout: 0"),
        ({"resources": ["links"]}, "value of resources must be one or more of: rules, interfaces"),
        ({"owners": ["lxc"]}, "value of owners must be one or more of: cni.node, containerd"),
    ],
)
def test_invalid_options_are_refused(repair_node: RepairNode, options: JsonObject, part: str) -> None:
    assert part in repair_node(**options).require_refusal()


def test_the_documentation_lists_the_resources_and_owners() -> None:
    documented = yaml.safe_load(repair.DOCUMENTATION)["options"]
    assert documented["resources"]["choices"] == [resource.value for resource in Resource]
    assert documented["owners"]["choices"] == [OWN, *rows.OWNER_NAMES]
