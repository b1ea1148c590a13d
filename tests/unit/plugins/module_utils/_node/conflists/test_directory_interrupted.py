# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that is killed at any moment leaves only old or new files, and the next run recognizes them as its own."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import durable
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import (
    NetD,
    absent,
    present,
    text,
)

NEW = [present("a", text("a", disableGC=True)), present("b", priority=20), present("new"), absent("c")]
BEFORE = {"10-a.conflist": text("a"), "10-b.conflist": text("b"), "10-c.conflist": text("c")}
AFTER = {"10-a.conflist": text("a", disableGC=True), "10-new.conflist": text("new"), "20-b.conflist": text("b")}


class Killed(BaseException):
    pass


def _kill_before(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the run right before the given one of its changes to the directory."""
    steps = iter(range(step))

    def with_kill(operation: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
        def run(*arguments: t.Any, **keywords: t.Any) -> t.Any:
            if next(steps, None) is None:
                raise Killed
            return operation(*arguments, **keywords)

        return run

    monkeypatch.setattr(durable, "write", with_kill(durable.write))
    monkeypatch.setattr(durable, "remove", with_kill(durable.remove))


# Claim, two files and one moved, two removed, settle.
STEPS = 7


@pytest.mark.parametrize("step", range(STEPS))
def test_the_next_run_completes_a_killed_run_and_purge_removes_its_files(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    net_d = NetD(tmp_path / "net.d")
    net_d.ensure(*(present(name) for name in "abc"))
    foreign = net_d.put("00-foreign.conflist", text("foreign")).read_bytes()
    with monkeypatch.context() as with_kill:
        _kill_before(step, with_kill)
        with pytest.raises(Killed):
            net_d.ensure(*NEW)
    between = net_d.files()
    assert between.pop("00-foreign.conflist") == foreign
    for name, content in between.items():
        assert content in (BEFORE.get(name), AFTER.get(name))
    copy = NetD(tmp_path / "copy")
    copy.path.mkdir()
    for path in net_d.path.iterdir():
        (copy.path / path.name).write_bytes(path.read_bytes())
    net_d.ensure(*NEW)
    assert net_d.files() == {**AFTER, "00-foreign.conflist": foreign}
    copy.ensure(purge=True)
    assert copy.files() == {"00-foreign.conflist": foreign}
    assert os.listdir(copy.path) == ["00-foreign.conflist"]


def test_no_run_has_more_steps_than_are_interrupted(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net_d = NetD(tmp_path / "net.d")
    net_d.ensure(*(present(name) for name in "abc"))
    _kill_before(STEPS, monkeypatch)
    net_d.ensure(*NEW)
    assert net_d.files() == AFTER


@pytest.mark.parametrize("name", [".cni.node-x.tmp", ".cni.node.owned"])
def test_runtimes_ignore_the_files_of_this_collection(tmp_path: pathlib.Path, name: str) -> None:
    net_d = NetD(tmp_path / "net.d")
    net_d.ensure(present("a"))
    if not (net_d.path / name).exists():
        net_d.put(name, b"{")
    assert net_d.ensure(present("a")) == {"10-a.conflist": "unchanged"}
