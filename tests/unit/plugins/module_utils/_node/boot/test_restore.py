# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is made again at boot follows from what is on disk at the moment when nobody else is at it."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.attachments.batch import reconcile_all
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    DesiredAttachment,
)
from ansible_collections.cni.node.plugins.module_utils._node.boot import main as boot_main
from ansible_collections.cni.node.plugins.module_utils._node.boot import restore as boot_restore
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.laboratory import Json, Laboratory

MEANS = Restoration(("/opt/cni/bin",), 60.0)


@pytest.fixture
def lab(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    """Its namespaces pass for named ones."""
    monkeypatch.setattr(netns, "DIRECTORY", str(lab.netns))
    monkeypatch.setattr(netns, "create", lab.make_namespace)
    monkeypatch.setattr(boot_restore, "make_executor", lambda *dummy, **keys: lab.executor)
    return lab


def attach(lab: Laboratory, **keys: t.Any) -> Record:
    lab.make_namespace()
    (outcome,) = lab.converge(DesiredAttachment(lab.wanted(**keys), restoration=MEANS))
    assert outcome.error is None
    record = lab.record()
    assert record is not None
    return record


def restored(lab: Laboratory) -> AttachmentResult:
    lab.executor.calls.clear()
    (outcome,) = boot_restore.restore(str(lab.cache_dir), 1)[0]
    return outcome


def with_host_local(lab: Laboratory, **plugin: t.Any) -> None:
    lab.write(plugins=[{"type": "a", "ipam": {"type": "host-local", "dataDir": str(lab.cache_dir)}, **plugin}])
    lab.executor.plugins["host-local"] = lambda call: None


def asked(lab: Laboratory) -> t.Any:
    (request,) = lab.executor.requests("ADD")
    return request.get("args")


def test_what_is_there_is_left_alone_and_what_is_not_is_made_with_what_is_recorded(lab: Laboratory) -> None:
    made = attach(lab, args={"K": "V"}, capability_args={"mac": "02::1"})
    lab.write(disableGC=True)
    assert (restored(lab).action, lab.commands()) == ("unchanged", [])
    lab.drop_namespace()
    assert (restored(lab).action, lab.commands()) == ("recreated", ["DEL", "ADD"])
    record = lab.record()
    assert record is not None
    assert dataclasses.replace(record, netns_identity=made.netns_identity) == made


def test_what_another_run_has_changed_since_it_was_looked_up_is_left_to_that(lab: Laboratory) -> None:
    old = attach(lab)
    wanted = DesiredAttachment(old.attachment, restoration=MEANS)
    for present in (True, False):
        lab.converge(DesiredAttachment(lab.wanted(args={"K": "W"}), present, restoration=MEANS if present else None))
        before = lab.files()
        lab.make_namespace()
        lab.executor.calls.clear()
        stale = boot_restore._AsRecorded(lab.runtime(), {old.attachment.key: old})
        (outcome,) = reconcile_all(stale, [wanted], 1)
        assert (outcome.action, outcome.reason) == ("unchanged", "another run has just been at it")
        assert (lab.commands(), lab.files()) == ([], before)


def test_its_old_address_is_asked_for_and_nothing_of_that_is_recorded(lab: Laboratory) -> None:
    with_host_local(lab, args={"labels": {"a": "b"}})
    attach(lab)
    lab.drop_namespace()
    assert restored(lab).error is None
    assert asked(lab) == {"labels": {"a": "b"}, "cni": {"ips": ["10.1.0.2"]}}
    record = lab.record()
    assert record is not None
    assert b"10.1.0.2" not in record.config
    (outcome,) = lab.converge(DesiredAttachment(lab.wanted(), restoration=MEANS))
    assert (outcome.action, outcome.changed) == ("checked", False)


UNASKED: dict[str, tuple[Json, Json]] = {
    "asked for already": ({}, {"args": {"IP": "10.1.0.2"}}),
    "asked for by capability": ({}, {"capability_args": {"ips": ["10.1.0.2/16"]}}),
    "asked for by config_args": ({}, {"config_args": {"ips": ["10.1.0.9"]}}),
    "asked for by the configuration": ({"args": {"cni": {"ips": ["10.1.0.9"]}}}, {}),
    "another kind of arguments": ({"args": ["cni"]}, {}),
}


@pytest.mark.parametrize(("plugin", "keys"), UNASKED.values(), ids=UNASKED)
def test_nothing_is_asked_for_twice(lab: Laboratory, plugin: Json, keys: Json) -> None:
    with_host_local(lab, **plugin)
    attach(lab, **keys)
    lab.drop_namespace()
    assert restored(lab).error is None
    expected = {"cni": keys["config_args"]} if "config_args" in keys else plugin.get("args")
    assert asked(lab) == expected


def test_config_args_are_given_again_beside_the_old_address(lab: Laboratory) -> None:
    with_host_local(lab)
    attach(lab, config_args={"mac": "02:00:00:00:00:01"})
    lab.drop_namespace()
    assert restored(lab).error is None
    assert asked(lab) == {"cni": {"ips": ["10.1.0.2"], "mac": "02:00:00:00:00:01"}}
    assert [request["args"] for request in lab.executor.requests("DEL")] == [{"cni": {"mac": "02:00:00:00:00:01"}}] * 1


def test_an_address_that_is_taken_is_not_asked_for(lab: Laboratory) -> None:
    with_host_local(lab)
    attach(lab)
    (lab.cache_dir / "net").mkdir()
    (lab.cache_dir / "net" / "10.1.0.2").touch()
    lab.drop_namespace()
    assert restored(lab).error is None
    assert asked(lab) is None


def test_another_runtimes_record_that_is_to_be_restored_is(lab: Laboratory) -> None:
    """It does not say which namespace it is about; ours does from then on."""
    made = attach(lab)
    lab.runtime().records.write(dataclasses.replace(made, version="", netns_identity="", restoration=None))
    (outcome,) = lab.converge(DesiredAttachment(lab.wanted(), restoration=MEANS))
    assert (outcome.action, outcome.changed) == ("checked", True)
    lab.make_namespace()
    assert restored(lab).action == "recreated"


def test_a_record_of_elsewhere_fails_and_the_program_says_so_on_one_line(
    lab: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    made = attach(lab)
    lab.runtime().records.write(dataclasses.replace(made, attachment=made.attachment.with_netns("/elsewhere/blue")))
    assert boot_main.main([str(lab.cache_dir)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("failed: the attachment of blue (eth0) to network net: /elsewhere/blue is not restored;")


def test_what_is_said_of_an_attachment_is_one_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    boot_main._say("failed: caf\udce9\x1b[2J\nmore\r\n")
    assert capsys.readouterr().out == "failed: caf\\udce9\\x1b[2J; more\\r\n"


def test_an_error_that_nothing_is_prepared_for_is_a_line_of_the_journal(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*dummy: t.Any) -> t.NoReturn:
        raise ValueError("never foreseen")

    monkeypatch.setattr(boot_main, "restore", breaks)
    assert boot_main.main([str(lab.cache_dir)]) == 1
    assert capsys.readouterr().out.startswith("failed: unexpected ValueError: never foreseen; in breaks")
