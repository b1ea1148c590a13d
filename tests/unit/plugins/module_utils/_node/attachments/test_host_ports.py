# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port of the node that another attachment maps is refused before ADD, whatever made that attachment."""

from __future__ import annotations

import pathlib
import socket
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.attachments import host_ports
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode

PORT: JsonObject = {"hostPort": 8080, "containerPort": 80}
MAPS = [{"type": "a"}, {"type": "b", "capabilities": {"portMappings": True}}]
# No process of the machine that runs these tests matters.
ALLOWED: dict[str, t.Any] = {"allow_ports_in_use": True}


@pytest.fixture
def mapping(node: FakeNode) -> FakeNode:
    node.write(plugins=MAPS)
    for name in ("blue", "red"):
        node.make_namespace(name)
    return node


def map_ports(node: FakeNode, container: str, *mappings: JsonObject, **keys: t.Any) -> Attachment:
    return node.attachment(container, capability_args={"portMappings": list(mappings or (PORT,))}, **keys)


def ensure(node: FakeNode, attachment: Attachment, **policy: t.Any) -> AttachmentResult:
    return node.ensure(attachment, **ALLOWED, **policy)


def require_refused(outcome: AttachmentResult, *fragments: str) -> None:
    assert (outcome.action, outcome.changed) == ("failed", False)
    for fragment in fragments:
        assert fragment in str(outcome.error)


def rewrite(node: FakeNode, **changes: t.Any) -> Record:
    """Change the record of the container blue."""
    record = node.record()
    assert record is not None
    changed = record._replace(**changes)
    node.runtime().records.write(changed)
    return changed


def make_foreign(node: FakeNode, **changes: t.Any) -> Record:
    return rewrite(node, version="", netns_identity="", **changes)


@pytest.mark.parametrize("dry_run", [True, False])
def test_all_ports_in_conflict_are_named_at_once(mapping: FakeNode, dry_run: bool) -> None:
    other = {"hostPort": 53, "containerPort": 53, "protocol": "UDP"}
    ensure(mapping, map_ports(mapping, "blue", PORT, other))
    outcome = ensure(mapping, map_ports(mapping, "red", PORT, other), dry_run=dry_run)
    by = "is mapped by the attachment of blue (eth0) to network net"
    require_refused(outcome, f"host port 8080/tcp {by}; host port 53/udp {by}", "or remove that attachment first")
    assert mapping.commands() == []


def test_check_mode_finds_port_conflicts_without_a_namespace(mapping: FakeNode) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    mapping.drop_namespace("red")
    require_refused(ensure(mapping, map_ports(mapping, "red"), dry_run=True), "host port 8080/tcp is mapped by")


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        ({"protocol": "udp"}, {}),
        ({"hostPort": 8081}, {}),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}),
        ({}, {"hostIP": "::"}),  # the container has no address of IPv6
    ],
)
def test_mappings_without_a_common_address_do_not_conflict(
    mapping: FakeNode, theirs: JsonObject, mine: JsonObject
) -> None:
    ensure(mapping, map_ports(mapping, "blue", {**PORT, **theirs}))
    assert ensure(mapping, map_ports(mapping, "red", {**PORT, **mine})).action == "added"


def test_two_networks_may_map_a_port_to_the_same_container(mapping: FakeNode) -> None:
    mapping.write("other", plugins=MAPS)
    ensure(mapping, map_ports(mapping, "blue"))
    second = map_ports(mapping, "blue", network="other", ifname="eth1")
    assert ensure(mapping, second).action == "added"
    third = map_ports(mapping, "blue", {**PORT, "containerPort": 81}, network="other", ifname="eth2")
    require_refused(ensure(mapping, third), "host port 8080/tcp is mapped by the attachment of blue (eth0)")


def test_an_attachment_may_change_the_container_port_of_its_mapping(mapping: FakeNode) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = {"hostPort": server.getsockname()[1], "containerPort": 80}
        ensure(mapping, map_ports(mapping, "blue", port))
        require_refused(mapping.ensure(map_ports(mapping, "red", {**port, "hostIP": "127.0.0.1"})), "is mapped by")
        assert mapping.ensure(map_ports(mapping, "blue", {**port, "containerPort": 81})).action == "recreated"


def test_sockets_that_share_a_port_are_named_once(mapping: FakeNode) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as server:
        port = server.getsockname()[1]
        with socket.create_server(("127.0.0.1", port), reuse_port=True):
            outcome = mapping.ensure(map_ports(mapping, "blue", {"hostPort": port, "containerPort": 80}))
    require_refused(outcome, "is in use")
    assert str(outcome.error).count("listens on") == 1


def test_an_interrupted_attachment_holds_its_port(mapping: FakeNode) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    record = mapping.record()
    assert record is not None
    mapping.runtime().intents.write(record._replace(result=None, command="ADD"))
    mapping.record_file().unlink()
    require_refused(ensure(mapping, map_ports(mapping, "red")), "is mapped by the attachment of blue")


def test_an_attachment_from_before_the_boot_holds_no_port(mapping: FakeNode) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    rewrite(mapping, netns_identity="another-boot:1:2:3")
    assert ensure(mapping, map_ports(mapping, "red")).action == "added"


def test_a_record_of_another_runtime_may_have_keys_in_any_case(mapping: FakeNode) -> None:
    attachment = map_ports(mapping, "blue", {"HostPort": 8080, "ContainerPort": 80, "Protocol": "TCP", "HostIP": ""})
    ensure(mapping, map_ports(mapping, "blue"))
    make_foreign(mapping, attachment=attachment)
    require_refused(
        ensure(mapping, map_ports(mapping, "red")), "host port 8080/tcp is mapped by the attachment of blue"
    )


@pytest.mark.parametrize("directory", ["results", "cache/results"])
def test_a_record_in_the_directory_of_another_runtime_holds_its_port(mapping: FakeNode, directory: str) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    record = make_foreign(mapping)
    mapping.runtime().records.remove(record.attachment.key)
    RecordStore(f"{mapping.paths.state_dir}/{directory}").write(record)
    require_refused(
        ensure(mapping, map_ports(mapping, "red")), "host port 8080/tcp is mapped by the attachment of blue"
    )


def test_a_foreign_record_without_its_namespace_holds_no_port(mapping: FakeNode) -> None:
    """The record may be from an earlier boot, which it does not show."""
    ensure(mapping, map_ports(mapping, "blue"))
    make_foreign(mapping)
    mapping.drop_namespace("blue")
    assert ensure(mapping, map_ports(mapping, "red")).action == "added"


@pytest.mark.parametrize(
    "odd",
    [
        "8080",
        [7],
        [{}],
        [{"hostPort": {}}],
        [{"hostPort": 8080}],
        [{**PORT, "hostIP": "here"}],
        [{**PORT, "hostIP": 7}],
    ],
)
def test_an_invalid_mapping_holds_no_port(mapping: FakeNode, odd: t.Any) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    make_foreign(mapping, attachment=mapping.attachment(capability_args={"portMappings": odd}))
    assert ensure(mapping, map_ports(mapping, "red")).action == "added"


def test_a_broken_record_holds_no_port(mapping: FakeNode) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    rewrite(mapping, config=b"no network")
    mapping.record_file().with_name("net-x-eth0").write_text('{"portMappings"')
    assert ensure(mapping, map_ports(mapping, "red")).action == "added"


def test_a_replacement_may_map_the_port_of_the_removed_attachment(mapping: FakeNode) -> None:
    mapping.write("other", plugins=MAPS)
    ensure(mapping, map_ports(mapping, "blue"))
    leaving, joining = map_ports(mapping, "blue"), map_ports(mapping, "blue", network="other")
    outcomes = mapping.converge(DesiredAttachment(joining), DesiredAttachment(leaving, present=False), **ALLOWED)
    assert [outcome.action for outcome in outcomes] == ["added", "removed"]


def test_an_attachment_is_kept_when_its_replacement_has_a_port_conflict(mapping: FakeNode) -> None:
    mapping.write("other", plugins=MAPS)
    mapping.ensure(mapping.attachment())
    ensure(mapping, map_ports(mapping, "red"))
    joining = DesiredAttachment(map_ports(mapping, "blue", network="other"))
    for outcome in mapping.converge(joining, DesiredAttachment(mapping.attachment(), present=False), **ALLOWED):
        require_refused(outcome, "host port 8080/tcp is mapped by the attachment of red (eth0)")
    assert mapping.record() is not None


def test_an_empty_intent_holds_no_port(mapping: FakeNode) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    mapping.record_file().unlink()
    mapping.intent_file().parent.mkdir(parents=True, exist_ok=True)
    mapping.intent_file().write_text("")
    assert ensure(mapping, map_ports(mapping, "red")).action == "added"


def test_port_mappings_without_a_plugin_hold_no_port(mapping: FakeNode) -> None:
    mapping.write("other")
    ensure(mapping, map_ports(mapping, "blue"))
    assert ensure(mapping, map_ports(mapping, "red", network="other")).action == "added"


def test_an_unchanged_attachment_reads_no_ports(mapping: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    monkeypatch.delattr(host_ports, "HostPorts")
    assert ensure(mapping, map_ports(mapping, "blue")).action == "checked"
    assert ensure(mapping, mapping.attachment("red")).action == "added"


def test_records_are_read_once_for_all_attachments(mapping: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    real = host_ports.HostPorts

    def count(*arguments: t.Any) -> host_ports.HostPorts:
        made.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(host_ports, "HostPorts", count)
    names = [f"c{number}" for number in range(20)]
    for name in names:
        mapping.make_namespace(name)
    desired = [
        DesiredAttachment(map_ports(mapping, name, {**PORT, "hostPort": 9000 + at})) for at, name in enumerate(names)
    ]
    assert {outcome.action for outcome in mapping.converge(*desired, **ALLOWED)} == {"added"}
    assert len(made) == 1


def test_only_records_with_the_text_are_read(mapping: FakeNode) -> None:
    ensure(mapping, map_ports(mapping, "blue"))
    mapping.ensure(mapping.attachment("red"))
    records, broken = mapping.runtime().records.read_containing('"portMappings"')
    assert ([record.attachment.container_id for record in records], broken) == (["blue"], {})
    assert pathlib.Path(mapping.cache_dir, "results", "net-red-eth0").exists()
