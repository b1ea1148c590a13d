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
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.plugins.module_utils._node.trial import named_netns as trial_netns
from ansible_collections.cni.node.tests.support.error_of import error_of


@pytest.fixture
def paths(tmp_path: pathlib.Path) -> NodePaths:
    return NodePaths.below(str(tmp_path))


@pytest.fixture
def directory(paths: NodePaths, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return the directory of named network namespaces; every file in it counts as a namespace."""
    pathlib.Path(paths.netns_dir).mkdir(parents=True)
    monkeypatch.setattr(netns, "is_namespace", os.path.isfile)
    return pathlib.Path(paths.netns_dir)


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("dry_run", [True, False])
def test_every_name_is_validated_before_any_change(
    directory: pathlib.Path, paths: NodePaths, present: bool, dry_run: bool
) -> None:
    (directory / "there").touch()
    names = ["new" if present else "there", "a/b"]
    error = error_of(trial_netns.ensure, paths, names, present=present, dry_run=dry_run)
    assert (error.code, os.listdir(directory)) == (Code.INVALID_ENVIRONMENT, ["there"])


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_directory_in_the_way_is_refused_before_any_change(
    directory: pathlib.Path, paths: NodePaths, monkeypatch: pytest.MonkeyPatch, present: bool, dry_run: bool
) -> None:
    for operation in ("create", "delete"):
        monkeypatch.setattr(NetnsDirectory, operation, pytest.fail)
    (directory / "there").touch()
    (directory / "taken").mkdir()
    names = ["new" if present else "there", "taken"]
    error = error_of(trial_netns.ensure, paths, names, present=present, dry_run=dry_run)
    assert error.msg == f"{directory}/taken is a directory"
    assert sorted(os.listdir(directory)) == ["taken", "there"]


def test_a_dry_run_names_each_fault_once_and_in_order(directory: pathlib.Path, paths: NodePaths) -> None:
    (directory / "there").touch()
    (directory / "left-behind").symlink_to("nowhere")
    names = ["new", "there", "left-behind", "new"]
    assert trial_netns.ensure(paths, names, present=True, dry_run=True) == ["new", "left-behind"]
    assert trial_netns.ensure(paths, names, present=False, dry_run=True) == ["there", "left-behind"]
    assert sorted(os.listdir(directory)) == ["left-behind", "there"]
    assert trial_netns.ensure(paths, [], present=True, dry_run=False) == []


def test_an_unchanged_namespace_is_not_touched_and_takes_no_lock(directory: pathlib.Path, paths: NodePaths) -> None:
    (directory / "there").touch()
    with lock.hold_lock(paths.netns_lock, exclusive=True, timeout=0, what="it"):
        assert trial_netns.ensure(paths, ["there"], present=True, dry_run=False) == []
        assert trial_netns.ensure(paths, ["absent"], present=False, dry_run=False) == []


@pytest.mark.parametrize("present", [True, False])
def test_a_namespace_that_another_run_has_just_created_is_not_a_change(
    directory: pathlib.Path, paths: NodePaths, monkeypatch: pytest.MonkeyPatch, present: bool
) -> None:
    path = directory / "red"

    @contextlib.contextmanager
    def overtake(*dummy_arguments: object, **dummy: object) -> t.Iterator[None]:
        (path.touch if present else path.unlink)()
        yield

    monkeypatch.setattr(lock, "hold_lock", overtake)
    if not present:
        path.touch()
    assert trial_netns.ensure(paths, ["red"], present=present, dry_run=False) == []
    assert path.exists() is present
