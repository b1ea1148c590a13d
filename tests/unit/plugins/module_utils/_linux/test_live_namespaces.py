# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Properties of network namespaces that need no other namespace. The other tests are in tests/integration."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces, netns
from ansible_collections.cni.node.tests.support.until import until

OWN = "/proc/self/ns/net"


def test_the_namespace_of_a_process_is_alive() -> None:
    def find_namespace() -> int | None:
        # Its path may name any process that has it, and that may have ended by now.
        with contextlib.suppress(OSError):
            return os.stat(live_namespaces.reachable_paths()[inode(OWN)]).st_ino
        return None

    assert until(find_namespace) == inode(OWN)


def test_addresses_of_both_families_are_found_with_a_namespace_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_namespaces, "reachable_paths", lambda: {inode(OWN): OWN})
    monkeypatch.setattr(netns, "run_inside", lambda path, operation: operation())
    paths_by_address = live_namespaces.addresses().netns_by_address
    assert paths_by_address["127.0.0.1"] == OWN
    if "1" in pathlib.Path("/proc/net/if_inet6").read_text(encoding="ascii"):
        assert paths_by_address["::1"] == OWN


class Paths:
    """Files that stand for network namespaces; entering a namespace opens its file."""

    def __init__(self, directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.listings: list[dict[int, str]] = []
        self.failures: dict[str, OSError] = {}
        self.dropped: set[str] = set()
        monkeypatch.setattr(live_namespaces, "reachable_paths", lambda: self.listings.pop(0))
        monkeypatch.setattr(netns, "run_inside", self._inside)

    def make(self, name: str, like: str = "") -> str:
        """Create a path to the same namespace as `like`, or to a new namespace."""
        path = self.directory / name
        if like:
            os.link(like, path)
        else:
            path.touch()
        return str(path)

    def list_paths(self) -> list[str]:
        return [path for path, dummy in live_namespaces.run_in_each(lambda: None)]

    def _inside(self, path: str, operation: t.Callable[[], t.Any]) -> t.Any:
        if path in self.dropped:
            pathlib.Path(path).unlink()
        if path in self.failures:
            raise self.failures[path]
        with open(path, "rb"):
            return operation()


@pytest.fixture
def paths(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    return Paths(tmp_path, monkeypatch)


def inode(path: str) -> int:
    return os.stat(path).st_ino


def test_a_namespace_that_vanishes_during_the_search_is_skipped(paths: Paths) -> None:
    lost, blue = paths.make("lost"), paths.make("blue")
    paths.listings = [{inode(lost): lost, inode(blue): blue}, {inode(blue): blue}]
    paths.dropped = {lost}
    assert paths.list_paths() == [blue]


def test_a_namespace_is_entered_through_another_process_when_one_ends(paths: Paths) -> None:
    ended = paths.make("ended")
    other = paths.make("other", like=ended)
    paths.listings = [{inode(ended): ended}, {inode(other): other}]
    paths.dropped = {ended}
    assert paths.list_paths() == [other]


def test_the_file_of_a_removed_namespace_is_not_a_namespace(paths: Paths) -> None:
    leftover = paths.make("left")
    paths.listings = [{inode(leftover) + 1: leftover}] * 2
    paths.failures = {leftover: OSError(errno.EINVAL, "Invalid argument")}
    assert paths.list_paths() == []


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.EPERM, errno.ENOENT])
def test_an_unreadable_namespace_is_named_and_the_others_are_inspected(paths: Paths, code: int) -> None:
    blue = paths.make("blue")
    paths.listings = [{inode(OWN): OWN, inode(blue): blue}]
    paths.failures = {OWN: OSError(code, "it is so")}
    (path, error), other = live_namespaces.run_in_each(lambda: None)
    assert isinstance(error, CniError)
    assert (path, error.code, error.msg) == (
        OWN,
        Code.IO_FAILURE,
        "cannot read the network namespace /proc/self/ns/net: it is so",
    )
    assert other == (blue, None)
