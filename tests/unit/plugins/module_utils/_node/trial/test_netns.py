# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import contextlib
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base import lock
from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._node.trial import netns as trial_netns
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.error_of import error_of


@pytest.fixture
def directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Any file in it passes for a namespace."""
    (tmp_path / "netns").mkdir()
    monkeypatch.setattr(netns, "DIRECTORY", str(tmp_path / "netns"))
    monkeypatch.setattr(netns, "LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(netns, "is_namespace", os.path.isfile)
    return tmp_path / "netns"


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("dry_run", [True, False])
def test_every_name_is_looked_at_before_anything_is_done(directory: pathlib.Path, present: bool, dry_run: bool) -> None:
    (directory / "there").touch()
    names = ["new" if present else "there", "a/b"]
    error = error_of(trial_netns.ensure, names, present=present, dry_run=dry_run)
    assert (error.code, os.listdir(directory)) == (Code.INVALID_ENVIRONMENT, ["there"])


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_directory_is_refused_before_anything_is_done(
    directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch, present: bool, dry_run: bool
) -> None:
    for operation in ("create", "delete"):
        monkeypatch.setattr(netns, operation, pytest.fail)
    (directory / "there").touch()
    (directory / "taken").mkdir()
    names = ["new" if present else "there", "taken"]
    error = error_of(trial_netns.ensure, names, present=present, dry_run=dry_run)
    assert error.msg == f"{directory}/taken is a directory"
    assert sorted(os.listdir(directory)) == ["taken", "there"]


def test_a_dry_run_names_what_is_wrong_once_and_in_order(directory: pathlib.Path) -> None:
    (directory / "there").touch()
    (directory / "left-behind").symlink_to("nowhere")
    names = ["new", "there", "left-behind", "new"]
    assert trial_netns.ensure(names, present=True, dry_run=True) == ["new", "left-behind"]
    assert trial_netns.ensure(names, present=False, dry_run=True) == ["there", "left-behind"]
    assert sorted(os.listdir(directory)) == ["left-behind", "there"]
    assert trial_netns.ensure([], present=True, dry_run=False) == []


def test_what_is_as_wanted_is_left_alone_and_waits_for_nobody(directory: pathlib.Path) -> None:
    (directory / "there").touch()
    with lock.hold_lock(netns.LOCK, exclusive=True, timeout=0, what="it"):
        assert trial_netns.ensure(["there"], present=True, dry_run=False) == []
        assert trial_netns.ensure(["nobody"], present=False, dry_run=False) == []


@pytest.mark.parametrize("present", [True, False])
def test_what_another_run_has_just_seen_to_is_no_change(
    directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch, present: bool
) -> None:
    path = directory / "red"

    @contextlib.contextmanager
    def overtaken(*dummy_arguments: object, **dummy: object) -> t.Iterator[None]:
        (path.touch if present else path.unlink)()
        yield

    monkeypatch.setattr(lock, "hold_lock", overtaken)
    if not present:
        path.touch()
    assert trial_netns.ensure(["red"], present=present, dry_run=False) == []
    assert path.exists() is present
