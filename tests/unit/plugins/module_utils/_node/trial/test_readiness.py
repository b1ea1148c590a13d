# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers of plugins to STATUS by network: "not ready" differs from "not supported"."""

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import conf_dir
from ansible_collections.cni.node.plugins.module_utils._node.trial.readiness import Readiness, query_readiness
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import fails_at
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conftest import MakeNode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.fake_node import FakeNode


def query_status(node: FakeNode) -> list[Readiness]:
    networks = conf_dir.load(str(node.conf_dir)).networks
    return query_readiness(node.runtime(), [networks[name] for name in sorted(networks)])


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.NOT_AVAILABLE, "unavailable"),
        (Code.LIMITED_CONNECTIVITY, "limited"),
        (Code.TRY_AGAIN, "failed"),
        (100, "failed"),
    ],
)
def test_an_unready_network_is_reported_with_its_code(make_node: MakeNode, code: int, status: str) -> None:
    node = make_node(b=fails_at("STATUS", code=code))
    node.write(cniVersion="1.1.0")
    (answer,) = query_status(node)
    assert answer.as_dict() == {
        "network": "net",
        "status": status,
        "error": {"code": code, "msg": "b fails at STATUS", "details": ""},
    }
    assert str(answer) == "network net: b fails at STATUS"


def test_each_network_has_its_own_status(node: FakeNode) -> None:
    node.write(cniVersion="1.1.0")
    node.write("old")
    node.write("without", cniVersion="1.1.0", plugins=[{"type": "nowhere"}])
    answers = query_status(node)
    assert [(answer.network, answer.status) for answer in answers] == [
        ("net", "ready"),
        ("old", "unsupported"),
        ("without", "failed"),
    ]
    assert "plugin 'nowhere' is not installed" in str(answers[2])
    assert node.executor.run("STATUS") == [("STATUS", "a"), ("STATUS", "b")]


def test_a_network_without_plugins_fails_and_no_networks_have_no_status(node: FakeNode, tmp_path: pathlib.Path) -> None:
    (node.conf_dir / "10-net.conflist").write_text(json.dumps({"cniVersion": "1.1.0", "name": "net", "plugins": []}))
    networks = conf_dir.load(str(node.conf_dir)).networks
    assert [answer.status for answer in query_readiness(node.runtime(), list(networks.values()))] == ["failed"] * len(
        networks
    )
    assert query_readiness(node.runtime(), []) == []


def test_an_unexpected_error_does_not_hide_other_networks(make_node: MakeNode) -> None:
    def breaks(call: object) -> CniError:
        raise ValueError("unexpected")

    node = make_node(b=breaks)
    node.write(cniVersion="1.1.0")
    node.write("other", cniVersion="1.1.0", plugins=[{"type": "a"}])
    assert [answer.status for answer in query_status(node)] == ["failed", "ready"]
