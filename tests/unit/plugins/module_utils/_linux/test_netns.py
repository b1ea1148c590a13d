# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths and names of network namespaces. Tests that need root are in tests/integration."""

from __future__ import annotations

import errno
import os
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import netns_identity
from ansible_collections.cni.node.plugins.module_utils._linux import netns, syscall
from ansible_collections.cni.node.plugins.module_utils._linux.netns_directory import NetnsDirectory
from ansible_collections.cni.node.tests.support.descriptors import no_more_files
from ansible_collections.cni.node.tests.support.error_of import error_of

OWN = "/proc/self/ns/net"


@pytest.mark.parametrize("name", ["blue", "a.b", "cni-1234_x", "..x", "Ünï", "a:b", "a" * 255])
def test_each_file_of_the_directory_is_the_name_of_a_namespace(name: str) -> None:
    assert netns.path_of("/run/netns", name) == f"/run/netns/{name}"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-x", "a/b", "/run/netns/a", "a b", "a\n", "a\0b", "a\x7f", "a\u2028b"]
)
def test_an_invalid_name_is_refused(tmp_path: pathlib.Path, name: str) -> None:
    namespaces = NetnsDirectory(NodePaths.below(str(tmp_path)))
    for operation in (namespaces.path_of, namespaces.create, namespaces.delete):
        error = error_of(operation, name)
        assert (error.code, error.msg) == (Code.INVALID_ENVIRONMENT, f"{name!r} is not a network namespace name")


def test_a_name_that_no_file_can_have_is_refused(tmp_path: pathlib.Path) -> None:
    netns.path_of(str(tmp_path), "é" * 127)
    with pytest.raises(CniError, match=r"has 256 bytes: ééé.*expected: at most 255"):
        netns.path_of(str(tmp_path), "é" * 128)


def test_this_process_is_in_a_network_namespace() -> None:
    assert netns.is_namespace(OWN) is True


@pytest.mark.parametrize("question", [netns.is_namespace, netns.is_foreign, netns.require_foreign])
def test_a_namespace_that_cannot_be_opened_for_now_is_not_gone(question: t.Callable[[str], object]) -> None:
    with no_more_files():
        error = error_of(question, OWN)
    assert (error.code, error.msg) == (Code.IO_FAILURE, f"cannot open {OWN}: Too many open files")


@pytest.mark.parametrize("question", [netns.inode, netns.is_own, netns.require_foreign, netns_identity])
def test_a_namespace_that_the_kernel_has_no_memory_to_look_at_is_not_gone(
    monkeypatch: pytest.MonkeyPatch, question: t.Callable[[str], object]
) -> None:
    def refuse(*dummy: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(os, "stat", refuse)
    error = error_of(question, OWN)
    assert (error.code, error.msg) == (Code.IO_FAILURE, f"cannot examine {OWN}: Cannot allocate memory")


def test_a_link_to_a_namespace_is_a_namespace(tmp_path: pathlib.Path) -> None:
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
def test_other_files_are_not_namespaces(tmp_path: pathlib.Path, make: t.Callable[[pathlib.Path], object]) -> None:
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


@pytest.mark.parametrize(
    "error", [OSError(5, "it is so"), CniError(11, "later"), UnicodeDecodeError("ascii", b"\xe9", 0, 1, "no")]
)
def test_exceptions_of_the_other_thread_arrive_unchanged(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        netns.run_in_new_thread(fail)
    assert caught.value is error


@pytest.mark.parametrize("at", ["entering", "returning"])
def test_a_thread_returns_after_an_interruption_in_a_system_call(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    calls: list[str] = []

    def interrupt_once(descriptor: int) -> None:
        calls.append("entering" if descriptor == there else "returning")
        if calls.count(at) == 1 and calls[-1] == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(syscall, "set_network_namespace", interrupt_once)
    with netns.open_current() as there, pytest.raises(KeyboardInterrupt):
        netns.run_in(there, lambda: None)
    assert calls == ["entering", *["returning"] * (1 if at == "entering" else 2)]


def test_a_thread_that_could_not_enter_a_namespace_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def refuse(descriptor: int) -> None:
        calls.append(descriptor)
        raise PermissionError

    monkeypatch.setattr(syscall, "set_network_namespace", refuse)
    with netns.open_current() as there, pytest.raises(PermissionError):
        netns.run_in(there, lambda: None)
    assert calls == [there]
