# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Leaks that are looked for after DEL. Tests that remove them are in tests/integration."""

from __future__ import annotations

import functools
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._base.workers import Workers
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._node.attachments.del_leaks import (
    remove_del_leaks as remove_leaks,
)
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.tests.support.error_of import error_of

BY_IPTABLES: JsonObject = {"type": "bridge", "ipMasq": True}
BY_NFTABLES: JsonObject = {**BY_IPTABLES, "ipMasqBackend": "nftables"}
CHECKED: JsonObject = {"type": "bridge", "macspoofchk": True}


@pytest.fixture(autouse=True)
def tool(program_dir: pathlib.Path) -> pathlib.Path:
    """Return the log of a fake nft, which fails as on a kernel without nf_tables."""
    return fail_to_list(program_dir, "netlink: Error: cache initialization failed: Invalid argument")


def fail_to_list(directory: pathlib.Path, message: str) -> pathlib.Path:
    path, asked = directory / "nft", directory / "asked"
    path.write_text(f'#!/bin/sh\necho "$*" >>{asked}\necho "{message}" >&2\nexit 1\n', encoding="utf-8")
    path.chmod(0o755)
    return asked


@pytest.fixture
def paths(tmp_path: pathlib.Path) -> NodePaths:
    return NodePaths.below(str(tmp_path))


@pytest.fixture
def records(tmp_path: pathlib.Path) -> RecordStore:
    return RecordStore(str(tmp_path / "results"))


remove_del_leaks = functools.partial(remove_leaks, is_deleted=True)


def record(plugin: JsonObject, netns: str = "/nothing") -> Record:
    document = {"cniVersion": "1.0.0", "name": "net", "plugins": [plugin]}
    return Record(Attachment("net", "blue", "eth0", netns), json.dumps(document).encode())


@pytest.mark.parametrize("plugin", [BY_NFTABLES, CHECKED])
def test_unreadable_rules_are_an_error_if_the_network_uses_nftables(
    records: RecordStore, paths: NodePaths, plugin: JsonObject
) -> None:
    assert error_of(remove_del_leaks, record(plugin), records, paths).code == Code.IO_FAILURE


def test_unreadable_rules_are_ignored_if_the_network_uses_iptables(
    records: RecordStore, paths: NodePaths, tool: pathlib.Path
) -> None:
    remove_del_leaks(record(BY_IPTABLES), records, paths)
    assert tool.exists()


def test_rules_that_nftables_may_have_are_an_error_if_they_cannot_be_listed(
    records: RecordStore, paths: NodePaths, program_dir: pathlib.Path
) -> None:
    fail_to_list(program_dir, "netlink: Error: cache initialization failed: Too many open files")
    assert error_of(remove_del_leaks, record(BY_IPTABLES), records, paths).code == Code.IO_FAILURE


@pytest.mark.parametrize("plugin", [BY_NFTABLES, CHECKED])
def test_no_rules_are_listed_if_the_namespace_exists(
    records: RecordStore, paths: NodePaths, tool: pathlib.Path, plugin: JsonObject
) -> None:
    remove_del_leaks(record(plugin, "/proc/self/ns/net"), records, paths)
    assert not tool.exists()


def test_no_rules_are_listed_if_the_network_makes_no_rules(
    records: RecordStore, paths: NodePaths, tool: pathlib.Path
) -> None:
    for plugin in ({"type": "bridge"}, {**BY_NFTABLES, "ipMasq": False}, {**CHECKED, "macspoofchk": False}):
        remove_del_leaks(record(plugin), records, paths)
    assert not tool.exists()


def test_records_and_rules_are_read_once_for_several_attachments_with_leaks(
    records: RecordStore, paths: NodePaths, program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [record(BY_NFTABLES)._replace(attachment=Attachment("net", name, "eth0", "/no")) for name in ("a", "b", "c")]
    for each in made:
        records.write(each)
    place = {"family": "inet", "table": "cni_plugins_masquerade", "chain": "masq_checks", "expr": []}
    names = [firewall_names.instance(*each.attachment.key) for each in made]
    rules = [{"rule": {**place, "handle": 9 + number, "comment": name}} for number, name in enumerate(names)]
    table = {"table": {"family": "inet", "name": "cni_plugins_masquerade"}}
    log = program_dir / "log"
    (program_dir / "listing").write_text(json.dumps({"nftables": [table, *rules]}), encoding="utf-8")
    (program_dir / "nft").write_text(
        f'#!/bin/sh\necho "$*" >>{log}\n/bin/cat >>{log}\n[ "$1" = -f ] || /bin/cat {program_dir}/listing\n',
        encoding="utf-8",
    )
    read, count = RecordStore.read_all, list[RecordStore]()

    def read_all(store: RecordStore) -> tuple[list[Record], dict[str, CniError]]:
        count.append(store)
        return read(store)

    monkeypatch.setattr(RecordStore, "read_all", read_all)
    removals = [functools.partial(remove_del_leaks, each, records, paths) for each in made]
    Workers(1, 3).run(t.cast("list[t.Callable[[], None]]", removals))
    assert count == [records]
    written = log.read_text(encoding="utf-8").splitlines()
    assert written[:3] == ["-j list tables", "-j list table inet cni_plugins_masquerade", "-f -"]
    assert sorted(written[3:]) == [
        f"delete rule inet cni_plugins_masquerade masq_checks handle {handle}" for handle in (10, 11, 9)
    ]
