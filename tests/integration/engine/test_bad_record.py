# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A record that is truncated, empty or foreign is found, reported and tolerated, and no address is lost."""

from __future__ import annotations

import base64
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.engine_node import (
    Engine,
    EngineNode,
    attachment,
    require_success,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, namespace
from ansible_collections.cni.node.tests.support.state import State

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

Damage = t.Callable[[pathlib.Path], object]


def _bytes(content: bytes) -> Damage:
    return lambda path: path.write_bytes(content)


def _half(path: pathlib.Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _keys(**changed: t.Any) -> Damage:
    def change(path: pathlib.Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **changed}), encoding="utf-8")

    return change


def _bare_result(path: pathlib.Path) -> None:
    """Return a bare result, as libcni recorded before 0.8."""
    path.write_text(json.dumps(json.loads(path.read_bytes())["result"]), encoding="utf-8")


def _directory(path: pathlib.Path) -> None:
    path.unlink()
    path.mkdir()


def _dangling_link(record: pathlib.Path) -> None:
    record.unlink()
    record.symlink_to("/nonexistent/record")


DAMAGES: dict[str, tuple[Damage, str]] = {
    "empty": (_bytes(b""), "is not valid JSON: it is empty"),
    "half": (_half, "is not valid JSON: line 1, column "),
    "zeros": (_bytes(bytes(512)), "is not valid JSON: line 1, column 1"),
    "garbage": (_bytes(b"\xff\xfe"), "is not valid JSON: byte 0 is not UTF-8"),
    "a list": (_bytes(b"[]"), "expected an object, found a list"),
    "a bare result": (_bare_result, "is not a record: the key 'kind' is missing"),
    "another kind": (_keys(kind="cniCacheV9"), "is not a record: its kind is 'cniCacheV9'"),
    "no configuration": (_keys(config=None), "is not a record: "),
    "a configuration that is not base64": (_keys(config="?"), "is not a record: "),
    "an unknown version": (_keys(**{"cni.node": {"cniVersion": "9.9.9"}}), "unknown version '9.9.9'"),
    "a result of a wrong type": (_keys(result=[]), "/result: expected an object, found a list"),
    "a text for a list": (
        _keys(**{"cni.node": {"restore": {"pluginDirs": "/opt/cni/bin", "timeout": 60}}}),
        "expected a list",
    ),
    "a link to a missing file": (_dangling_link, "a symbolic link to a missing file"),
    "another attachment's": (_keys(containerId="other"), "other"),
    "a name with a path": (_keys(networkName="../../etc"), "'../../etc' is not a network name"),
}
every_damage = pytest.mark.parametrize(("damage", "problem"), DAMAGES.values(), ids=DAMAGES)


class RecordedAttachment(t.NamedTuple):
    item: JsonObject
    before: State
    record: pathlib.Path


@pytest.fixture
def attached(node: EngineNode, engine: Engine, blue: Namespace) -> RecordedAttachment:
    node.write(reference_networks.full())
    item = attachment("net", blue, capability_args=reference_networks.CAPABILITY_ARGS)
    before = node.attach_and_detach(item)
    engine.add(item)
    return RecordedAttachment(item, before, node.record_of(item))


@every_damage
def test_an_attachment_with_a_broken_record_is_recreated(
    node: EngineNode, engine: Engine, attached: RecordedAttachment, damage: Damage, problem: str
) -> None:
    item, before, record = attached
    damage(record)
    action, dummy, reason = require_success(engine.ensure(item))
    assert action == "recreated"
    assert reason.startswith(f"its record is broken: {record}")
    assert problem in reason
    assert len(node.leases("net")) == 1
    assert require_success(engine.ensure(item)) == ("checked", False, "")
    assert require_success(engine.ensure(item, present=False)) == ("removed", True, "")
    assert before.difference(node.state()) == ""


@every_damage
def test_an_attachment_with_a_broken_record_is_deleted(
    node: EngineNode, engine: Engine, attached: RecordedAttachment, damage: Damage, problem: str
) -> None:
    item, before, record = attached
    damage(record)
    action, dummy, reason = require_success(engine.ensure(item, present=False))
    assert action == "removed"
    assert problem in reason
    assert before.difference(node.state()) == ""


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("content", [b"{", b"[]", b'{"cniVersion": "1.0.0", "name": "net"}'])
def test_an_invalid_recorded_configuration_is_tolerated(
    node: EngineNode, engine: Engine, attached: RecordedAttachment, content: bytes, present: bool
) -> None:
    """Use the current file in its place."""
    item, before, record = attached
    _keys(config=base64.b64encode(content).decode())(record)
    assert require_success(engine.ensure(item, present=present))[0] == ("recreated" if present else "removed")
    engine.ensure(item, present=False)
    assert before.difference(node.state()) == ""


@pytest.mark.parametrize(("plugin", "directory"), [("host-local", "net"), ("tuning", ".")])
def test_a_roll_back_writes_no_file_to_a_directory_of_another_program(
    node: EngineNode, attached: RecordedAttachment, tmp_path: pathlib.Path, plugin: str, directory: str
) -> None:
    notes = tmp_path / directory / "notes"
    notes.parent.mkdir(exist_ok=True)
    notes.touch()
    item, dummy, record = attached
    own = {"dataDir": str(tmp_path)}
    plugins = {
        "host-local": [reference_networks.bridge(ipam=reference_networks.host_local("10.1.0.0/16", **own))],
        "tuning": [reference_networks.bridge(), {"type": "tuning", "mtu": 1400, **own}],
    }
    recorded = json.dumps(reference_networks.network(*plugins[plugin])).encode()
    _keys(config=base64.b64encode(recorded).decode())(record)
    node.write(reference_networks.network(reference_networks.bridge(bridge="lo")))
    error = str(Engine(node, "always").ensure(item).error)  # the plugins themselves write there
    assert f"could not be added again as it was before: {notes.parent} is not used: only a record names it" in error
    assert list(notes.parent.iterdir()) == [notes]


def test_the_module_reports_the_broken_record(node: EngineNode, attached: RecordedAttachment) -> None:
    _half(attached.record)
    (entry,) = node.run("node_info", gather=["attachments"]).succeeded().entries
    assert (entry["path"], entry["error"]["code"]) == (str(attached.record), 6)
    (entry,) = node.attach(attached.item)
    assert (entry["action"], entry["changed"]) == ("recreated", True)
    assert entry["reason"].startswith(f"its record is broken: {attached.record} is not valid JSON: line 1, column ")


def test_a_broken_record_without_a_configuration_is_an_error(node: EngineNode, attached: RecordedAttachment) -> None:
    _half(attached.record)
    (node.conf_dir / "10-net.conflist").unlink()
    fragments = (
        str(attached.record),
        "DEL has no configuration to use instead",
        "add the network again, or remove the record",
    )
    node.refusal({**attached.item, "state": "absent"}, *fragments)
    assert len(node.leases("net")) == 1


def test_a_directory_in_place_of_a_record_is_named(node: EngineNode, attached: RecordedAttachment) -> None:
    """Report it: it can be neither read nor replaced."""
    _directory(attached.record)
    node.refusal(attached.item, str(attached.record), "Is a directory")
    attached.record.rmdir()
    assert len(node.leases("net")) == 1


def test_purge_reports_and_keeps_unreadable_records(node: EngineNode, attached: RecordedAttachment) -> None:
    _half(attached.record)
    before = node.state()
    done = node.run("attachments", attachments=[], purge=True)
    assert str(attached.record) in json.dumps(done.result)
    assert before.difference(node.state()) == ""


def test_attachments_whose_names_join_to_one_file_name_stay_distinct(node: EngineNode) -> None:
    for name, link in (("a", "cni0"), ("a-b", "cni1")):
        ipam = reference_networks.host_local(f"10.{link[-1]}.0.0/16")
        node.write(reference_networks.network(reference_networks.bridge(bridge=link, ipam=ipam), name=name))
    with namespace("b-c") as first, namespace("c") as second:
        items = [attachment("a", first), attachment("a-b", second)]
        assert node.record_of(items[0]) == node.record_of(items[1])
        before = node.attach_and_detach(*items)
        assert [entry["action"] for entry in node.attach(*items)] == ["added", "added"]
        assert [entry["action"] for entry in node.attach(*items)] == ["checked", "checked"]
        assert [entry["action"] for entry in node.detach(items[0])] == ["removed"]
        assert node.attach(items[1])[0]["action"] == "checked"
        node.detach(items[1])
        assert before.difference(node.state()) == ""


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"kind": "cniCacheV1"}'])
def test_a_broken_intent_is_tolerated(
    node: EngineNode, engine: Engine, attached: RecordedAttachment, content: bytes
) -> None:
    """Do not treat the attachment as complete, because the interrupted operation is unknown."""
    item, before, record = attached
    node.cache_dir.joinpath("cni.node", "intents", record.name).write_bytes(content)
    assert require_success(engine.ensure(item, check="never"))[0] == "recreated"
    assert (node.intents(), len(node.leases("net"))) == ([], 1)
    engine.ensure(item, present=False)
    assert before.difference(node.state()) == ""


def test_an_intent_beside_its_complete_record_is_removed(
    node: EngineNode, engine: Engine, attached: RecordedAttachment
) -> None:
    """Continue after a run that was killed after writing the record."""
    intent = json.loads(attached.record.read_bytes())
    intent["cni.node"]["command"] = "ADD"
    del intent["result"]
    node.cache_dir.joinpath("cni.node", "intents", attached.record.name).write_text(
        json.dumps(intent), encoding="utf-8"
    )
    assert require_success(engine.ensure(attached.item)) == ("checked", False, "")
    assert node.intents() == []
