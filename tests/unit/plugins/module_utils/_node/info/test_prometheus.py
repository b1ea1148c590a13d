# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ipaddress
import typing as t

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._node.info import prometheus
from ansible_collections.cni.node.plugins.module_utils._node.info.address_pools import Pool
from ansible_collections.cni.node.plugins.module_utils._node.watch.watch_state import WatchState

ERROR = {"code": 6, "msg": "no", "details": ""}


def _attachment(network: str = "dbnet", **facts: t.Any) -> JsonObject:
    usual = {"own": True, "drift": [], "netns_state": "present", "interrupted": None, "error": None}
    return {"network": network, **usual, **facts}


def _text(
    *attachments: JsonObject, networks: t.Sequence[JsonObject] = (), leaks: t.Mapping[str, int] | None = None
) -> str:
    pool = Pool("dbnet", ((ipaddress.ip_address("10.1.0.1"), ipaddress.ip_address("10.1.0.6")),), 5, 2, "path")
    return prometheus.format_text(prometheus.describe(networks, attachments, [pool], leaks or {}), 1732616400.7)


def test_metrics_have_a_help_a_type_and_labels() -> None:
    text = _text(leaks={"empty lease": 2})
    assert (
        "# HELP cni_node_pool_leases Addresses of a pool that are leased.\n# TYPE cni_node_pool_leases gauge\n" in text
    )
    assert 'cni_node_pool_size{network="dbnet",range="10.1.0.1-10.1.0.6"} 5\n' in text
    assert 'cni_node_leaks{kind="empty lease"} 2\n' in text
    assert text.endswith("\ncni_node_last_run_timestamp_seconds 1732616400\n")


def test_attachments_are_counted_by_network_and_owner() -> None:
    drifted, gone = _attachment(drift=["eth0 is gone"]), _attachment(drift=None, netns_state="gone")
    foreign, broken = _attachment(own=False, interrupted="DEL"), {"path": "x", "error": ERROR}
    text = _text(_attachment(), drifted, gone, foreign, broken, networks=[{"error": None}, {"error": ERROR}])
    own, other = '{network="dbnet",owner="cni.node"}', '{network="dbnet",owner="other"}'
    for line in (
        f"attachments{own} 3",
        f"attachments{other} 1",
        f"attachments_drifted{own} 1",
        # A series that ends looks like a node that no longer reports, so zero is written as well.
        f"attachments_drifted{other} 0",
        f"attachments_without_netns{own} 1",
        f"attachments_interrupted{other} 1",
        "networks 2",
        'broken_files{kind="network"} 1',
        'broken_files{kind="record"} 1',
    ):
        assert f"\ncni_node_{line}\n" in text


def test_a_hostile_name_stays_in_its_label() -> None:
    text = _text(_attachment('a"} 1\ncni_node_attachments{network="b\\'))
    assert (
        'cni_node_attachments{network="a\\"} 1\\\\ncni_node_attachments{network=\\"b\\\\",owner="cni.node"} 1\n' in text
    )
    assert len([line for line in text.split("\n") if line.startswith("cni_node_attachments{")]) == 1


def test_two_runs_differ_in_their_time_only() -> None:
    one, two = (prometheus.format_text(prometheus.describe((), (), (), {}), now) for now in (1.0, 2.0))
    assert one != two
    assert prometheus.without_time(one) == prometheus.without_time(two)


def test_repairs_of_the_node_itself_are_a_counter() -> None:
    watch = WatchState("/nonexistent")
    watch.note_repair({"network": "dbnet"}, is_own=True)
    text = prometheus.format_text(prometheus.describe((), (), (), {}, watch), 1.0)
    assert "# TYPE cni_node_watch_repairs_total counter\n" in text
    assert 'cni_node_watch_repairs_total{network="dbnet",owner="cni.node"} 1\n' in text
    assert 'cni_node_watch_repairs_total{network="dbnet",owner="other"} 0\n' in text
    assert "cni_node_watch_held 0\n" in text
    assert "watch" not in prometheus.format_text(prometheus.describe((), (), (), {}), 1.0)
