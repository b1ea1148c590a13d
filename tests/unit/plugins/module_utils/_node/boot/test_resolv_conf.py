# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The resolv.conf of a network namespace is made of results, and disappears with the last of them."""

from __future__ import annotations

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record, Restoration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node.boot import resolv_conf
from ansible_collections.cni.node.plugins.module_utils._node.boot.resolv_conf import ResolvConfFiles
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.strategies import json_objects

RED = {"nameservers": ["10.1.0.1", "fe80::1%eth0"], "domain": "red.test", "search": ["a.test"], "options": ["ndots:5"]}
BLUE = {"nameservers": ["10.2.0.1", "10.1.0.1"], "search": ["b.test", "a.test"]}


@pytest.fixture
def etc(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "netns"


def make_files(etc: pathlib.Path) -> ResolvConfFiles:
    return ResolvConfFiles(NodePaths(netns_etc=str(etc)))


def record(dns: JsonObject, name: str = "red", ifname: str = "eth0", directory: str = "/run/netns") -> Record:
    attachment = Attachment("net", name, ifname, f"{directory}/{name}")
    return Record(attachment, b"{}", Result("1.0.0", {"dns": dns}), restoration=Restoration((), 60.0))


def settle(etc: pathlib.Path, *records: Record) -> tuple[dict[str, str], list[str]]:
    changes, warnings = make_files(etc).plan_changes(records)
    for change in changes:
        make_files(etc).carry_out(change)
    return {pathlib.Path(change.path).parent.name: change.action for change in changes}, warnings


def test_the_file_has_each_entry_of_all_attachments_once(etc: pathlib.Path) -> None:
    records = [record(BLUE, ifname="eth1"), record(RED), record({}, "blue"), record(RED, "far", directory="/elsewhere")]
    assert settle(etc, *records) == ({"red": "created"}, [])
    assert (etc / "red" / "resolv.conf").read_text(encoding="ascii").splitlines()[1:] == [
        "nameserver 10.1.0.1",
        "nameserver fe80::1%eth0",
        "nameserver 10.2.0.1",
        "search red.test a.test b.test",
        "options ndots:5",
    ]
    assert settle(etc, *reversed(records)) == ({}, [])


def test_the_file_follows_the_results_and_is_removed_with_the_last(etc: pathlib.Path) -> None:
    settle(etc, record(RED), record(BLUE, "blue"))
    assert settle(etc, record(BLUE), record(BLUE, "blue")) == ({"red": "changed"}, [])
    assert settle(etc, record(BLUE, "blue")) == ({"red": "removed"}, [])
    assert [path.name for path in etc.iterdir()] == ["blue"]
    settle(etc)
    assert not etc.exists()


@pytest.mark.parametrize("content", ["", "nameserver 192.0.2.1\n", None])
def test_a_foreign_or_changed_file_is_kept(etc: pathlib.Path, content: str | None) -> None:
    path = etc / "red" / "resolv.conf"
    if content is None:
        settle(etc, record(RED))
        content = path.read_text(encoding="ascii") + "options rotate\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="ascii")
    changed, (warning,) = settle(etc, record(RED))
    assert (changed, path.read_text(encoding="ascii")) == ({}, content)
    assert warning.startswith(f"{path} was not written by cni.node, or was changed since")
    assert settle(etc) == ({}, [])
    assert path.exists()


def test_a_file_among_the_directories_is_ignored(etc: pathlib.Path) -> None:
    etc.mkdir()
    (etc / "README").write_text("one directory for each namespace\n", encoding="ascii")
    (etc / "broken").symlink_to("nowhere")
    assert settle(etc, record(RED)) == ({"red": "created"}, [])
    assert settle(etc) == ({"red": "removed"}, [])
    assert sorted(path.name for path in etc.iterdir()) == ["README", "broken"]


def test_an_undecided_namespace_has_no_change(etc: pathlib.Path) -> None:
    settle(etc, record(RED))
    assert make_files(etc).plan_changes([], ["/run/netns/red"]) == ([], [])


@given(st.lists(st.fixed_dictionaries({"dns": json_objects}) | json_objects, max_size=3))
def test_invalid_entries_of_a_result_are_left_out(results: list[JsonObject]) -> None:
    """A name with a line break must not become a name server."""
    results.append({"dns": {"nameservers": ["x\nnameserver 192.0.2.1", "no address"], "search": ["a b", "\n", 5, ""]}})
    for line in resolv_conf.render([{"dns": result.get("dns") or {}} for result in results]).splitlines():
        assert line.split()[0] in ("nameserver", "search", "options")
        assert "192.0.2.1" not in line
