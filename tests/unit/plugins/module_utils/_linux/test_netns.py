# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths and names of network namespaces. Tests that need root are in tests/integration."""

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.lock import hold_lock
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.tests.unit.plugins.module_utils._base.error_of import error_of

OWN = "/proc/self/ns/net"


@pytest.fixture
def directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "netns").mkdir()
    monkeypatch.setattr(netns, "DIRECTORY", str(tmp_path / "netns"))
    monkeypatch.setattr(netns, "LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(netns, "_TIMEOUT", 0.0)
    return tmp_path / "netns"


@pytest.mark.parametrize("name", ["blue", "a.b", "cni-1234_x", "..x", "Ünï", "a:b", "a" * 255])
def test_a_name_is_a_file_of_the_directory(name: str) -> None:
    assert netns.path_of(name) == f"/run/netns/{name}"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-x", "a/b", "/run/netns/a", "a b", "a\n", "a\0b", "a\x7f", "a\u2028b"]
)
def test_an_invalid_name_is_refused(name: str) -> None:
    for operation in (netns.path_of, netns.create, netns.delete):
        error = error_of(operation, name)
        assert (error.code, error.msg) == (Code.INVALID_ENVIRONMENT, f"{name!r} is not a network namespace name")


def test_this_process_is_in_a_network_namespace() -> None:
    assert netns.is_namespace(OWN) is True


def test_a_link_to_a_namespace_is_one(tmp_path: pathlib.Path) -> None:
    (tmp_path / "link").symlink_to(OWN)
    assert netns.is_namespace(str(tmp_path / "link")) is True


def _nothing(path: pathlib.Path) -> None:
    pass


NONE: dict[str, t.Callable[[pathlib.Path], object]] = {
    "missing": _nothing,
    "file": pathlib.Path.touch,
    "directory": pathlib.Path.mkdir,
    "pipe that nobody writes to": os.mkfifo,
    "namespace of another kind": lambda path: path.symlink_to("/proc/self/ns/mnt"),
    "link to nowhere": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("make", NONE.values(), ids=NONE)
def test_other_files_are_no_namespaces(tmp_path: pathlib.Path, make: t.Callable[[pathlib.Path], object]) -> None:
    path = tmp_path / "x"
    make(path)
    assert netns.is_namespace(str(path)) is False
    error = error_of(netns.require_foreign, str(path))
    problem = "is not a network namespace" if path.exists() else "does not exist"
    assert (error.code, error.msg) == (Code.INVALID_ENVIRONMENT, f"CNI_NETNS: {path} {problem}")


@pytest.mark.parametrize("path", [OWN, "/proc/thread-self/ns/net", f"/proc/{os.getpid()}/ns/net"])
def test_the_nodes_own_namespace_is_refused(path: str) -> None:
    error = error_of(netns.require_foreign, path)
    assert error.msg == f"CNI_NETNS: {path} is the node's own network namespace"


def test_names_are_those_of_namespaces(directory: pathlib.Path) -> None:
    for name in ("b", "a"):
        (directory / name).symlink_to(OWN)
    (directory / "left-behind").touch()
    assert netns.names() == ["a", "b"]


def test_a_node_without_the_directory_has_none(directory: pathlib.Path) -> None:
    directory.rmdir()
    assert netns.names() == []


def test_a_file_in_place_of_a_directory_is_an_error(directory: pathlib.Path) -> None:
    directory.rmdir()
    directory.touch()
    assert error_of(netns.names).code == Code.IO_FAILURE


def test_the_file_of_a_removed_namespace_is_removed(directory: pathlib.Path) -> None:
    (directory / "left-behind").touch()
    assert netns.delete("left-behind") is True
    assert netns.delete("left-behind") is False
    assert list(directory.iterdir()) == []


def test_a_file_that_cannot_be_removed_is_an_error(directory: pathlib.Path) -> None:
    (directory / "x").mkdir()
    error = error_of(netns.delete, "x")
    assert (error.code, error.msg) == (Code.INVALID_ENVIRONMENT, f"{directory}/x is a directory")


def test_no_run_comes_between_what_another_sees_and_what_it_does(directory: pathlib.Path) -> None:
    (directory / "left-behind").touch()
    with hold_lock(netns.LOCK, exclusive=True, timeout=0, what="it"):
        for operation in (netns.create, netns.delete):
            error = error_of(operation, "left-behind")
            assert (error.code, netns.LOCK in error.details) == (Code.TRY_AGAIN, True)
    assert os.listdir(directory) == ["left-behind"]


def test_a_namespace_that_another_run_has_just_made_is_not_made_again(directory: pathlib.Path) -> None:
    (directory / "there").symlink_to(OWN)
    assert netns.create("there") is False
    assert os.readlink(directory / "there") == OWN


def test_no_lock_is_left(directory: pathlib.Path) -> None:
    netns.delete("nobody")
    assert not os.path.lexists(netns.LOCK)


@pytest.mark.parametrize(
    "error", [OSError(5, "it is so"), CniError(11, "later"), UnicodeDecodeError("ascii", b"\xe9", 0, 1, "no")]
)
def test_exceptions_of_the_other_thread_arrive_unchanged(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        netns._in_new_thread(fail)
    assert caught.value is error
