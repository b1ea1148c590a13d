# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options select the attachments and the resources that a repair of the node covers."""

from __future__ import annotations

import base64
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import OWN, Selection, repair_node
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair, Resource

CONFIG = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "bridge"}]}).encode()
OURS = Record(Attachment("net", "blue", "eth0"), CONFIG, version="1.0.0")
DIGEST, UUID = "0123456789abcdef" * 4, "01234567-89ab-cdef-0123-456789abcdef"
BUSY = "an operation on it was interrupted or is in progress"


def foreign(container_id: str, netns: str, network: str = "net") -> Record:
    return Record(Attachment(network, container_id, "eth0", netns), CONFIG)


OF_PODMAN = foreign(DIGEST, f"/run/netns/netns-{UUID}")
OF_NERDCTL = foreign(f"default-{DIGEST}", "/proc/1234/ns/net")
OF_NOBODY = foreign("x", "/run/netns/x")
RECORDS = {OWN: OURS, "podman": OF_PODMAN, "nerdctl": OF_NERDCTL, "": OF_NOBODY}


def select(**keys: t.Any) -> set[str]:
    selection = Selection(**{key: frozenset(values) for key, values in keys.items()})
    return {maker for maker, record in RECORDS.items() if selection.has(record)}


def test_without_a_choice_every_attachment_is_selected() -> None:
    assert select() == set(RECORDS)


@pytest.mark.parametrize("owners", [[OWN], ["podman"], ["nerdctl"], ["podman", OWN]], ids="+".join)
def test_owners_select_the_attachments_that_they_may_have_made(owners: list[str]) -> None:
    assert select(owners=owners) == set(owners)


def test_an_attachment_that_several_runtimes_may_have_made_is_selected_by_each() -> None:
    record = foreign(DIGEST, f"/run/netns/cni-{UUID}")
    assert Selection(owners=frozenset({"podman"})).has(record)
    assert Selection(owners=frozenset({"podman", "crio"})).has(record)
    assert not Selection(owners=frozenset({"crio"})).has(record)  # it would have written CNI_ARGS
    with_args = Attachment("net", DIGEST, "eth0", record.attachment.netns, {"K8S_POD_INFRA_CONTAINER_ID": DIGEST})
    for owner in ("podman", "containerd"):
        assert Selection(owners=frozenset({owner})).has(record._replace(attachment=with_args))


def test_networks_and_owners_both_have_to_match() -> None:
    assert select(networks=["net"], owners=["podman"]) == {"podman"}
    assert select(networks=["other"], owners=["podman"]) == set()


@pytest.mark.parametrize(
    ("resources", "own", "others"),
    [
        (None, {Resource.RULES, Resource.INTERFACES}, {Resource.RULES}),
        ({Resource.INTERFACES}, {Resource.INTERFACES}, {Resource.INTERFACES}),
        (set(), set(), set()),
    ],
)
def test_only_rules_of_other_runtimes_are_repaired_unless_resources_are_chosen(
    resources: set[Resource] | None, own: set[Resource], others: set[Resource]
) -> None:
    selection = Selection(resources=None if resources is None else frozenset(resources))
    assert selection.resources_of(OURS) == own
    assert selection.resources_of(OF_PODMAN) == others


class Records:
    """The records of a node, below one directory. No attachment has a network namespace."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.paths = NodePaths.below(str(directory))
        self._cache_dir = str(directory / "cache")
        self.own, self.intents = RecordStore.of_records(self._cache_dir), RecordStore.of_intents(self._cache_dir)
        self.others = RecordStore(f"{self.paths.state_dir}/results")

    def repair(self, **selection: t.Any) -> dict[str, str]:
        """Return the reason of each attachment by the ID of its container."""
        repairs, self.errors = repair_node(self.paths, self._cache_dir, 10, Selection(**selection), dry_run=False)
        assert all(each == Repair(each.record, reason=each.reason) for each in repairs)
        reasons = {each.record.attachment.container_id: each.reason for each in repairs}
        assert len(reasons) == len(repairs)
        return reasons


@pytest.fixture
def records(tmp_path: pathlib.Path) -> Records:
    return Records(tmp_path)


def test_attachments_of_all_runtimes_are_considered(records: Records) -> None:
    records.own.write(OURS)
    records.others.write(OF_PODMAN)
    assert set(records.repair()) == {"blue", DIGEST}
    assert set(records.repair(owners=frozenset({"podman"}))) == {DIGEST}
    assert set(records.repair(networks=frozenset({"other"}))) == set()


@pytest.mark.parametrize("command", ["ADD", "DEL"])
def test_an_attachment_with_an_intent_is_skipped(records: Records, command: str) -> None:
    red = OURS._replace(attachment=Attachment("net", "red", "eth0"))
    for record in (OURS, red):
        records.own.write(record)
    records.intents.write(red._replace(command=command))
    assert records.repair() == {"blue": "its record has no result", "red": BUSY}


def test_a_record_that_cannot_be_read_is_an_error_beside_the_others(records: Records) -> None:
    records.own.write(OURS)
    records.others.write(OF_PODMAN)
    broken = pathlib.Path(records.others.path_of(OF_PODMAN.attachment.key))
    broken.write_bytes(b"{")
    assert set(records.repair()) == {"blue"}
    (error,) = records.errors
    assert str(broken) in str(error)


def test_the_namespace_of_the_result_is_used_if_the_record_names_none(records: Records) -> None:
    """So old releases of libcni have written it."""
    result: JsonObject = {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "/nowhere/red"}]}
    document = {
        "kind": "cniCacheV1",
        "containerId": "red",
        "config": base64.b64encode(CONFIG).decode(),
        "ifName": "eth0",
        "networkName": "net",
        "result": result,
    }
    path = pathlib.Path(records.others.directory, "net-red-eth0")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    assert records.repair() == {"red": "its network namespace is gone"}
    document["result"] = {"cniVersion": "1.0.0"}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert records.repair() == {"red": "its record names no network namespace"}
