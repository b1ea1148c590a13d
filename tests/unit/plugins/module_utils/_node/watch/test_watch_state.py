# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The file for metrics and reports survives a restart of the service, and any content."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._node.watch.watch_state import WatchState, read_if_present


def repair(network: str = "net") -> dict[str, object]:
    return {"time": 1, "network": network, "container_id": "blue", "ifname": "eth0", "lost": ["x"], "by": []}


def test_repairs_are_counted_after_a_restart_too(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "run" / "state.json")
    assert read_if_present(path) is None
    for number in range(30):
        state = WatchState(path)
        state.note_repair(repair(f"net{number % 2}"), is_own=number % 3 == 0)
        state.write()
    read = read_if_present(path)
    assert read is not None
    assert read.counts == {"net0": {"cni.node": 5, "other": 10}, "net1": {"cni.node": 5, "other": 10}}
    assert len(read.recent) == 20


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{",
        '{"format": 2}',
        '{"format": 1}',
        '{"format": 1, "counts": {"a": 1}, "recent": [], "held": []}',
    ],
)
def test_an_unreadable_file_is_replaced(tmp_path: pathlib.Path, content: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(content, encoding="utf-8")
    state = WatchState(str(path))
    assert (state.counts, state.recent, state.held) == ({}, [], [])
    state.note_repair(repair(), is_own=True)
    state.write()
    assert WatchState(str(path)).counts == {"net": {"cni.node": 1, "other": 0}}
