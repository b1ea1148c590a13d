# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An attachment that is to become another one is not lost on the way."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import (
    AttachmentResult,
    AttachmentState,
    DesiredAttachment,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory import Call, fails_at, succeeds
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import Make
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.laboratory import (
    Json,
    Laboratory,
    gives_an_address,
)

NEW = [{"type": "a"}, {"type": "new"}]


def _moved(lab: Laboratory) -> AttachmentResult:
    """After the network has got another plugin."""
    lab.make_namespace()
    lab.ensure(lab.wanted(args={"K": "V"}), check="never")
    lab.write(plugins=NEW)
    return lab.ensure(lab.wanted(args={"K": "V"}), check="never")


def test_it_is_put_back_where_the_new_one_cannot_be_made(make: Make) -> None:
    lab = make(new=fails_at("ADD"))
    failed = _moved(lab)
    assert (failed.action, failed.changed, failed.after) == ("failed", True, AttachmentState())
    assert "to network net has been put back as it was before" in str(failed.error)
    record = lab.record()
    assert record is not None
    assert [plugin.type for plugin in record.network().plugins] == ["a", "b"]
    assert record.result is not None
    assert failed.result == record.result.keys
    assert (record.attachment.args, lab.intent()) == ({"K": "V"}, None)
    assert lab.commands() == ["DEL", "ADD", "DEL", "ADD"]


def test_the_next_run_tries_again(make: Make) -> None:
    lab = make(new=fails_at("ADD"))
    _moved(lab)
    lab.executor.plugins["new"] = succeeds
    again = lab.ensure(lab.wanted(args={"K": "V"}))
    assert (again.action, again.reason) == ("recreated", "the network's configuration has changed")


def test_where_neither_can_be_made_both_errors_are_told(make: Make) -> None:
    calls: list[str] = []

    def works_once(call: Call) -> Json | CniError | None:
        calls.append(call.command)
        if call.command == "ADD" and calls.count("ADD") > 1:
            return CniError(100, "once is enough")
        return gives_an_address(call)

    lab = make(a=works_once, new=fails_at("ADD"))
    failed = _moved(lab)
    assert (failed.action, failed.after, lab.record()) == ("failed", None, None)
    assert "to network net could not be put back as it was before either: " in str(failed.error)


def test_nothing_is_taken_away_for_a_network_whose_plugin_is_missing(lab: Laboratory) -> None:
    failed = _moved(lab)
    assert (failed.action, failed.changed, lab.commands()) == ("failed", False, [])
    assert lab.record() is not None


def test_one_that_is_made_anew_as_it_was_is_not_put_back(make: Make) -> None:
    """It would be the same ADD once more."""
    lab = make(b=lambda call: CniError(100, "no") if call.command in fails else None)
    fails: set[str] = set()
    lab.make_namespace()
    lab.ensure(lab.wanted())
    fails |= {"CHECK", "ADD"}
    failed = lab.ensure(lab.wanted())
    assert (failed.action, failed.after) == ("failed", None)
    assert lab.commands() == ["CHECK", "DEL", "ADD", "DEL"]


@pytest.mark.parametrize("old_is_first", [True, False])
def test_a_container_leaves_networks_before_it_joins_others(lab: Laboratory, old_is_first: bool) -> None:
    """The interface is to have the same name."""
    lab.make_namespace()
    lab.ensure(lab.wanted())
    lab.write("other")
    wanted = [DesiredAttachment(lab.wanted(), present=False), DesiredAttachment(lab.wanted(network="other"))]
    outcomes = lab.converge(*(wanted if old_is_first else reversed(wanted)), check="never")
    assert sorted(outcome.action for outcome in outcomes) == ["added", "removed"]
    assert lab.commands() == ["DEL", "ADD"]


def _renamed(lab: Laboratory, **policy: t.Any) -> list[AttachmentResult]:
    """After the network has got another name."""
    lab.make_namespace()
    lab.ensure(lab.wanted(args={"K": "V"}), check="never")
    lab.write("other", plugins=NEW)
    return lab.converge(
        DesiredAttachment(lab.wanted(network="other")), DesiredAttachment(lab.wanted(), present=False), **policy
    )


def test_a_container_returns_to_the_network_that_it_left_for_one_it_cannot_join(make: Make) -> None:
    lab = make(new=fails_at("ADD"))
    joined, left = _renamed(lab)
    assert (joined.action, left.action, left.changed, left.after) == ("failed", "recreated", True, AttachmentState())
    assert "to network net has been put back as it was before" in str(joined.error)
    assert left.reason == "the attachment of blue (eth0) to network other could not take its place"
    record = lab.record()
    assert record is not None
    assert (record.attachment.args, lab.intent()) == ({"K": "V"}, None)


def test_a_network_is_not_left_for_one_whose_plugin_is_missing(lab: Laboratory) -> None:
    joined, left = _renamed(lab)
    assert (joined.action, left.action, left.changed, lab.commands()) == ("failed", "failed", False, [])
    assert "it stays, for the attachment of blue (eth0) to network other cannot take its place" in str(left.error)
    assert lab.record() is not None


def test_a_container_that_can_join_the_other_network_has_left(make: Make) -> None:
    lab = make(new=succeeds)
    joined, left = _renamed(lab, check="never")
    assert (joined.action, left.action, lab.record(), lab.commands()) == ("added", "removed", None, ["DEL", "ADD"])


def test_another_interface_of_the_container_is_nobody_s_place(make: Make) -> None:
    lab = make(new=fails_at("ADD"))
    lab.make_namespace()
    lab.ensure(lab.wanted(), check="never")
    lab.write("other", plugins=NEW)
    joined, left = lab.converge(
        DesiredAttachment(lab.wanted(network="other", ifname="eth1")), DesiredAttachment(lab.wanted(), present=False)
    )
    assert (joined.action, left.action, lab.record()) == ("failed", "removed", None)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    "wrong", [{"args": {"K": "a=b"}}, {"ifname": "eth0", "netns": "/proc/self/ns/net"}], ids=["args", "netns"]
)
def test_a_network_is_not_left_for_what_is_asked_for_wrongly(make: Make, wrong: Json, dry_run: bool) -> None:
    lab = make(new=succeeds)
    lab.make_namespace()
    lab.ensure(lab.wanted(), check="never")
    lab.write("other", plugins=NEW)
    joined, left = lab.converge(
        DesiredAttachment(lab.wanted(network="other", **wrong)),
        DesiredAttachment(lab.wanted(), present=False),
        dry_run=dry_run,
    )
    assert (joined.action, left.action, left.changed, lab.commands()) == ("failed", "failed", False, [])
    assert "it stays, for the attachment of blue (eth0) to network other cannot take its place" in str(left.error)
