# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Named network namespaces. Tests that need root are in tests/integration."""

from __future__ import annotations

import os
import pathlib
import threading
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._linux import syscall
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.tests.support.error_of import error_of

OWN = "/proc/self/ns/net"


@pytest.fixture
def paths(tmp_path: pathlib.Path) -> NodePaths:
    return NodePaths.below(str(tmp_path))


@pytest.fixture
def namespaces(paths: NodePaths) -> NetnsDirectory:
    return NetnsDirectory(paths, lock_timeout=0)


@pytest.fixture
def directory(paths: NodePaths) -> pathlib.Path:
    path = pathlib.Path(paths.netns_dir)
    path.mkdir(parents=True)
    return path


def test_only_namespaces_are_listed(directory: pathlib.Path, namespaces: NetnsDirectory) -> None:
    for name in ("b", "a"):
        (directory / name).symlink_to(OWN)
    (directory / "left-behind").touch()
    assert namespaces.names() == ["a", "b"]


def test_a_namespace_for_which_no_thread_starts_leaves_no_file(
    directory: pathlib.Path, namespaces: NetnsDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(dummy: threading.Thread) -> t.NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(syscall, "mount", lambda *dummy: None)  # only root may
    error = error_of(namespaces.create, "blue")
    what = f"cannot create the network namespace {directory}/blue: Resource temporarily unavailable"
    assert (error.code, error.msg, os.listdir(directory)) == (Code.IO_FAILURE, what, [])


def test_a_node_without_the_directory_has_no_namespaces(directory: pathlib.Path, namespaces: NetnsDirectory) -> None:
    directory.rmdir()
    assert namespaces.names() == []


def test_a_file_in_place_of_a_directory_is_an_error(directory: pathlib.Path, namespaces: NetnsDirectory) -> None:
    directory.rmdir()
    directory.touch()
    assert error_of(namespaces.names).code == Code.IO_FAILURE


def test_the_file_of_a_removed_namespace_is_removed(directory: pathlib.Path, namespaces: NetnsDirectory) -> None:
    (directory / "left-behind").touch()
    assert namespaces.delete("left-behind") is True
    assert namespaces.delete("left-behind") is False
    assert list(directory.iterdir()) == []


def test_a_file_that_cannot_be_removed_is_an_error(directory: pathlib.Path, namespaces: NetnsDirectory) -> None:
    (directory / "x").mkdir()
    error = error_of(namespaces.delete, "x")
    assert (error.code, error.msg) == (Code.INVALID_ENVIRONMENT, f"{directory}/x is a directory")


def test_a_run_fails_while_another_holds_the_lock(
    directory: pathlib.Path, namespaces: NetnsDirectory, paths: NodePaths
) -> None:
    (directory / "left-behind").touch()
    with hold_lock(paths.netns_lock, exclusive=True, timeout=0, what="it"):
        for operation in (namespaces.create, namespaces.delete):
            error = error_of(operation, "left-behind")
            assert (error.code, paths.netns_lock in error.details) == (Code.TRY_AGAIN, True)
    assert os.listdir(directory) == ["left-behind"]


def test_a_namespace_that_another_run_has_just_created_is_kept(
    directory: pathlib.Path, namespaces: NetnsDirectory
) -> None:
    (directory / "there").symlink_to(OWN)
    assert namespaces.create("there") is False
    assert os.readlink(directory / "there") == OWN


def test_the_lock_file_of_namespaces_is_removed(
    directory: pathlib.Path, namespaces: NetnsDirectory, paths: NodePaths
) -> None:
    namespaces.delete("nobody")
    assert not os.path.lexists(paths.netns_lock)
