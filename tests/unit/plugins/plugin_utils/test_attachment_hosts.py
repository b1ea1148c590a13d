# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The attachments of a report as hosts: names are harmless and unique, whatever a record says."""

from __future__ import annotations

import typing as t

import pytest

pytest.importorskip("ansible.errors", reason="the inventory is made on the controller")

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.plugin_utils import _attachment_hosts
from ansible_collections.cni.node.plugins.plugin_utils._report import report_data
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._report import example_fleet


def make_report(**nodes: list[JsonObject]) -> JsonObject:
    """Return the report about nodes with these attachments."""
    results = [
        report_data.NodeResults(name, example_fleet.facts(attachments=attachments))
        for name, attachments in nodes.items()
    ]
    return report_data.build(results, example_fleet.NOW)


def names(report: object) -> list[str]:
    return [host.name for host in _attachment_hosts.list_hosts(report)]


def test_an_attachment_becomes_a_host_with_its_groups_and_facts() -> None:
    red = example_fleet.attachment("dbnet", "red", ports=["8080->80/tcp"], own=False)
    (host,) = _attachment_hosts.list_hosts(make_report(one=[red]))
    assert host.name == "one.red.eth0"
    assert host.groups == ["cni_attachments", "cni_network_dbnet", "cni_node_one", "cni_owner_other"]
    assert host.facts == {
        "node": "one",
        "network": "dbnet",
        "container_id": "red",
        "ifname": "eth0",
        "netns": "/run/netns/red",
        "addresses": ["10.1.0.2"],
        "ports": ["8080->80/tcp"],
        "owner": "other",
    }


@pytest.mark.parametrize("state", ["gone", "replaced", "unknown"])
def test_an_attachment_without_its_namespace_is_left_out(state: str) -> None:
    red = example_fleet.attachment("dbnet", "red", netns_state=state)
    assert names(make_report(one=[red])) == []


@pytest.mark.parametrize("text", ["{{ x }}", "a,b:c", "!a", "é", "a/b", "a b", "\x1b[2J", "x" * 300, "~x", "[1:9]", ""])
def test_names_of_hosts_and_groups_are_harmless_and_bounded(text: str) -> None:
    red = example_fleet.attachment(text, text, ifname=text)
    (host,) = _attachment_hosts.list_hosts(make_report(one=[red]))
    for name in (host.name, *host.groups):
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
        assert len(name) < 256
    assert host.name.startswith("one.")


def test_names_that_would_be_equal_get_digests() -> None:
    first = example_fleet.attachment("dbnet", "b.c")
    second = example_fleet.attachment("dbnet", "c")
    long = [example_fleet.attachment("dbnet", "x" * 70 + end) for end in ("1", "2")]
    found = names(make_report(**{"a": [first, *long], "a.b": [second]}))
    assert len(set(found)) == 4
    assert [name.startswith("a.b.c.eth0-") for name in found].count(True) == 2


def test_a_node_that_was_not_read_is_listed() -> None:
    report = report_data.build([report_data.NodeResults("one", None)], example_fleet.NOW)
    assert (names(report), _attachment_hosts.list_unread(report)) == ([], ["one"])


def _break(report: JsonObject, key: str, value: t.Any) -> JsonObject:
    report["nodes"][0]["attachments"][0][key] = value
    return report


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        "text",
        {"format": 2, "nodes": []},
        {"format": 1},
        {"format": 1, "nodes": [1]},
        {"format": 1, "nodes": [{"name": "one", "read": True}]},
        *(
            _break(make_report(one=[example_fleet.attachment("dbnet", "red")]), key, value)
            for key, value in (("netns", 1), ("addresses", [1]), ("ports", None), ("container_id", {}))
        ),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_not_a_report_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="expected: "):
        _attachment_hosts.list_hosts(data)
