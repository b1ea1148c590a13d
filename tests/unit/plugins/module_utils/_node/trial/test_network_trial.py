# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A verification removes everything that it created. tests/integration tests the faults that it finds."""

from __future__ import annotations

import errno
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.links import rtnetlink
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.plugins.module_utils._node.trial.network_trial import Verification
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import fails_at, succeeds
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode


@pytest.fixture
def node(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """Return a node whose network namespaces are named ones below its own directory."""

    def ensure(dummy: NodePaths, names: t.Sequence[str], *, present: bool, dry_run: bool) -> list[str]:
        for name in names:
            (node.make_namespace if present else node.drop_namespace)(name)
        return list(names)

    monkeypatch.setattr(trial_netns, "ensure", ensure)
    return node


def test_a_network_whose_plugins_are_not_ready_fails_without_an_add(node: FakeNode) -> None:
    node.executor.plugins["b"] = fails_at("STATUS", code=50)
    node.write(cniVersion="1.1.0")
    node.write("other", cniVersion="1.1.0", plugins=[{"type": "a"}])
    node.write("old")
    verification = Verification(node.runtime(), conf_dir.load(str(node.conf_dir)), 0)
    planned = verification.plan([])
    verification.carry_out(planned)
    assert [(trial.network, trial.action, trial.status) for trial in planned] == [
        ("net", "failed", "unavailable"),
        ("old", "verified", "unsupported"),
        ("other", "verified", "ready"),
    ]
    assert (planned[0].error and planned[0].error.code, planned[0].addresses) == (Code.NOT_AVAILABLE, ())
    assert ("ADD", "b") in node.executor.run()  # of the network that has no STATUS
    assert len(node.executor.run("ADD")) == 3
    assert list(node.netns.iterdir()) == []


def test_a_network_whose_dhcp_daemon_does_not_run_is_not_tried(node: FakeNode) -> None:
    node.write("other")
    path = node.conf_dir / "dhcp.sock"
    node.write(plugins=[{"type": "a", "ipam": {"type": "dhcp", "daemonSocketPath": str(path)}}])
    node.executor.plugins["dhcp"] = succeeds
    verification = Verification(node.runtime(), conf_dir.load(str(node.conf_dir)), 0)
    predicted = verification.plan([])
    verification.predict(predicted)
    net, other = planned = verification.plan([])
    verification.carry_out(planned)
    fault = f"network net: the daemon of the plugin dhcp does not run: {path} does not exist"
    assert (net.action, net.addresses) == ("failed", ())
    assert net.error is not None
    assert (net.error.code, net.error.msg) == (Code.NOT_AVAILABLE, fault)
    assert "provision with cni_node_dhcp: true" in net.error.details
    assert [trial.action for trial in predicted] == ["skipped", "skipped"]
    assert predicted[0].reason.startswith(fault)
    assert other.action == "verified"
    assert len(node.executor.run("ADD")) == 2  # both plugins of the other network
    assert list(node.netns.iterdir()) == []


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (OSError(errno.EINVAL, "Invalid argument"), Code.IO_FAILURE),
        (ValueError("unexpected"), Code.INTERNAL),
    ],
)
def test_a_trial_that_cannot_be_inspected_fails_and_is_removed(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, raised: Exception, code: int
) -> None:
    node.write("other")
    result = {"cniVersion": "1.0.0", "ips": [{"address": "10.1.0.2/16", "gateway": "10.1.0.1"}]}
    node.executor.plugins["a"] = lambda call: result if call.command == "ADD" else None

    def fail_for_net(path: str, dummy: object) -> bool:
        if path.endswith(net.netns):
            raise raised
        return True

    monkeypatch.setattr(netns, "run_inside", fail_for_net)
    monkeypatch.setattr(rtnetlink, "link", lambda name, path="": None)
    verification = Verification(node.runtime(), conf_dir.load(str(node.conf_dir)), 1)
    net, other = trials = verification.plan([])
    verification.carry_out(trials)
    assert (net.action, net.error and net.error.code) == ("failed", code)
    assert (other.action, other.addresses) == ("verified", ("10.1.0.2/16",))
    assert list(node.netns.iterdir()) == []
    assert node.runtime().records.read_all() == ([], {})
