# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An existing interface is left alone: the DEL after a failed ADD would remove it."""

from __future__ import annotations

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._linux.links.link_message import Link
from ansible_collections.cni.node.plugins.module_utils._node.attachments.reconciler import Reconciler
from ansible_collections.cni.node.plugins.module_utils._node.attachments.types import DesiredAttachment, Policy
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode, return_address

ETH0 = Link(ifindex=2, name="eth0", mac="", mtu=1500, is_up=True, master=0, peer=7, kind="veth")


@pytest.fixture
def occupied(node: FakeNode) -> FakeNode:
    node.make_namespace()
    node.write("a-net")
    assert node.ensure(node.attachment()).action == "added"
    return node


def replace_network(node: FakeNode, *, dry_run: bool) -> None:
    """Remove an attachment and attach another network to its interface; fail unless both succeed in one run."""
    joining = DesiredAttachment(node.attachment(network="a-net"))
    leaving = DesiredAttachment(node.attachment(), present=False)
    outcomes = node.converge(joining, leaving, dry_run=dry_run)
    assert [(outcome.action, outcome.missing_prerequisite, outcome.error) for outcome in outcomes] == [
        ("added", None, None),
        ("removed", None, None),
    ]


def test_an_interface_of_another_network_is_not_added_again(occupied: FakeNode) -> None:
    outcome = occupied.ensure(occupied.attachment(network="a-net"))
    assert (outcome.action, outcome.changed, occupied.executor.calls) == ("failed", False, [])
    assert outcome.error is not None
    assert outcome.error.code == Code.INVALID_ENVIRONMENT
    assert "a-net: its interface belongs to the attachment of blue (eth0) to network net" in str(outcome.error)
    assert occupied.ensure(occupied.attachment()).action == "checked"


def test_check_mode_reports_an_interface_conflict_as_a_missing_prerequisite(occupied: FakeNode) -> None:
    predicted = occupied.ensure(occupied.attachment(network="a-net"), dry_run=True)
    assert (predicted.action, "its interface belongs to" in str(predicted.missing_prerequisite)) == ("added", True)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_removed_attachment_frees_its_interface(occupied: FakeNode, dry_run: bool) -> None:
    replace_network(occupied, dry_run=dry_run)


def test_another_interface_or_container_does_not_conflict(occupied: FakeNode) -> None:
    occupied.make_namespace("net-blue")
    for free in (occupied.attachment(network="a-net", ifname="eth1"), occupied.attachment("net-blue", network="a-net")):
        assert occupied.ensure(free).action == "added"


def test_an_attachment_without_its_namespace_does_not_conflict(occupied: FakeNode) -> None:
    occupied.make_namespace()
    assert occupied.ensure(occupied.attachment(network="a-net")).action == "added"


def test_an_attachment_of_a_replaced_namespace_keeps_a_foreign_interface(occupied: FakeNode) -> None:
    occupied.make_namespace()
    assert occupied.ensure(occupied.attachment(network="a-net")).action == "added"
    predicted = occupied.ensure(occupied.attachment(), dry_run=True)
    assert (predicted.action, "its interface belongs to" in str(predicted.missing_prerequisite)) == ("recreated", True)
    outcome = occupied.ensure(occupied.attachment())
    assert (outcome.action, outcome.changed, occupied.executor.calls) == ("failed", False, [])
    assert occupied.ensure(occupied.attachment(network="a-net")).action == "checked"


@pytest.fixture
def interrupted(occupied: FakeNode) -> FakeNode:
    """Return a node on which a run was killed in ADD."""
    record = occupied.record()
    assert record is not None
    occupied.runtime().intents.write(record._replace(result=None, command="ADD"))
    occupied.record_file().unlink()
    return occupied


def test_an_interrupted_attachment_keeps_its_interface(interrupted: FakeNode) -> None:
    predicted = interrupted.ensure(interrupted.attachment(network="a-net"), dry_run=True)
    assert (predicted.action, "whose ADD was not completed" in str(predicted.missing_prerequisite)) == ("added", True)
    outcome = interrupted.ensure(interrupted.attachment(network="a-net"))
    assert (outcome.action, interrupted.executor.calls) == ("failed", [])
    assert "network net, whose ADD was not completed" in str(outcome.error)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_removed_interrupted_attachment_frees_its_interface(interrupted: FakeNode, dry_run: bool) -> None:
    replace_network(interrupted, dry_run=dry_run)


def test_an_interrupted_attachment_without_its_namespace_does_not_conflict(interrupted: FakeNode) -> None:
    interrupted.make_namespace()
    assert interrupted.ensure(interrupted.attachment(network="a-net")).action == "added"


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("plugin_type", "link", "action"), [("bridge", ETH0, "failed"), ("bridge", None, "added"), ("a", ETH0, "added")]
)
def test_an_unrecorded_interface_is_kept(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, plugin_type: str, link: Link | None, action: str, dry_run: bool
) -> None:
    requested_links: list[tuple[str, str]] = []

    def read_link(name: str, path: str) -> Link | None:
        requested_links.append((name, path))
        return link

    monkeypatch.setattr(rtnetlink, "link", read_link)
    node.executor.plugins["bridge"] = return_address
    node.write(plugins=[{"type": plugin_type}])
    node.make_namespace()
    outcome = node.ensure(node.attachment(), check="never", dry_run=dry_run)
    assert (outcome.action, bool(node.executor.run("DEL"))) == (action, False)
    assert requested_links == ([("eth0", str(node.netns / "blue"))] if plugin_type == "bridge" else [])
    if action == "failed":
        assert f"{node.netns}/blue already has an interface of that name, which no record lists" in str(outcome.error)


def test_an_attachment_of_a_concurrent_run_is_found(node: FakeNode) -> None:
    """Find it by its record, because the plugins of this test create no interfaces."""
    for container in ("blue", "red"):
        node.make_namespace(container)
    node.write("a-net")
    mine, other = (Reconciler(node.runtime(), conf_dir.load(str(node.conf_dir)), Policy()) for dummy in range(2))
    assert mine.reconcile(DesiredAttachment(node.attachment("red", network="a-net"))).action == "added"
    assert other.reconcile(DesiredAttachment(node.attachment())).action == "added"
    node.executor.calls.clear()
    refused = mine.reconcile(DesiredAttachment(node.attachment(network="a-net")))
    assert (refused.action, node.executor.calls) == ("failed", [])
    assert "its interface belongs to the attachment of blue (eth0) to network net" in str(refused.error)
