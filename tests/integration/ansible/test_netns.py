# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module netns."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._linux import netns
from ansible_collections.cni.node.plugins.module_utils._linux.netns import is_namespace
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PROGRAM, Project, task, thrice
from ansible_collections.cni.node.tests.integration.ansible.scripted_networks import open_network
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import links, namespaces

NETNS = "cni.node.netns"


def test_namespaces_are_created_and_removed(project: Project) -> None:
    played = project.play(
        [
            *thrice("make", NETNS, {"names": ["red", "blue", "red"]}),
            task("make one more", NETNS, {"names": ["blue", "green"], "state": "present"}),
            *thrice("remove", NETNS, {"names": ["red", "nobody", "green"], "state": "absent"}),
        ],
        "--diff",
    ).succeeded()
    made = played.require_converged("make")
    assert (made.msg, made.result["changed_names"]) == ("2 of 2 network namespaces created", ["red", "blue"])
    assert made.result["diff"] == {"before": {"names": []}, "after": {"names": ["blue", "red"]}}
    assert played["make one more"].ok().result["changed_names"] == ["green"]
    removed = played.require_converged("remove")
    assert (removed.msg, removed.result["changed_names"]) == ("2 of 3 network namespaces removed", ["red", "green"])
    assert removed.after.sections["namespaces"] == ["blue"]
    for line in ('+        "red"', '-        "red"'):
        assert played.output.splitlines().count(line) == 2, played.output
    assert {name: link["operstate"] for name, link in links("blue").items()} == {"lo": "DOWN"}


def test_a_file_of_an_interrupted_run_is_reused_or_removed(project: Project) -> None:
    directory = pathlib.Path("/run/netns")
    directory.mkdir()
    for name in ("red", "blue"):
        (directory / name).touch()
    tasks = [
        task("make", NETNS, {"names": ["red"]}),
        task("remove", NETNS, {"names": ["blue"], "state": "absent"}),
    ]
    played = project.play(tasks)
    assert played["make"].ok().result["changed_names"] == ["red"]
    assert played["remove"].ok().result["changed_names"] == ["blue"]
    assert list(links("red")) == ["lo"]


def test_a_namespace_mounted_several_times_is_removed_in_one_run(project: Project) -> None:
    with namespaces("blue", "red"):
        subprocess.run(["mount", "--bind", "/run/netns/blue", "/run/netns/red"], check=True)
        played = project.play(thrice("remove", NETNS, {"names": ["red"], "state": "absent"})).succeeded()
    done = played.require_converged("remove")
    assert done.result["changed_names"] == ["red"]
    assert done.after.sections["namespaces"] == ["blue"]


def test_an_invalid_name_is_refused_before_any_namespace_is_created(project: Project) -> None:
    tasks = [task(name, NETNS, {"names": ["good", name]}) for name in ("a b",)]
    tasks.append(task("..", NETNS, {"names": ["good", ".."], "state": "absent"}))
    for refused in project.play(tasks).tasks:
        refused.require_no_change().require_failure(f"{refused.name!r} is not a network namespace name; expected: ")
        assert refused.result["error"]["code"] == 4


def test_a_symbolic_link_is_removed_and_its_target_stays(project: Project) -> None:
    subprocess.run(["ip", "netns", "add", "abc"], check=True)
    other = pathlib.Path("/run/docker/netns/abc")
    other.parent.mkdir(parents=True)
    other.touch()
    subprocess.run(["mount", "--bind", "/run/netns/abc", other], check=True)
    targets = {"mounted": str(other), "process": f"/proc/{os.getpid()}/ns/net", "nowhere": "/proc/0/ns/net"}
    for name, target in targets.items():
        pathlib.Path("/run/netns", name).symlink_to(target)
    played = project.play(thrice("remove", NETNS, {"names": list(targets), "state": "absent"}))
    assert played.require_converged("remove").result["changed_names"] == list(targets)
    assert os.listdir("/run/netns") == ["abc"]
    assert is_namespace(str(other))


def test_a_symbolic_link_to_another_file_is_replaced_and_its_target_stays(project: Project) -> None:
    target = pathlib.Path("/run/docker/notes")
    target.parent.mkdir()
    target.write_text("notes", encoding="ascii")
    pathlib.Path("/run/netns").mkdir()
    names = {"file": str(target), "nowhere": "/run/docker/gone", "process": "/proc/0/ns/net"}
    for name, path in names.items():
        pathlib.Path("/run/netns", name).symlink_to(path)
    played = project.play(thrice("make", NETNS, {"names": list(names)}))
    assert played.require_converged("make").result["changed_names"] == list(names)
    assert [list(links(name)) for name in names] == [["lo"]] * 3
    assert (target.read_text(encoding="ascii"), os.listdir("/run/docker")) == ("notes", ["notes"])


def make_socket(path: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


NO_NAMESPACES: dict[str, t.Callable[[pathlib.Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a file with content": lambda path: path.write_text("precious\n", encoding="utf-8"),
    "a directory": pathlib.Path.mkdir,
}


@pytest.mark.parametrize(("what", "make"), NO_NAMESPACES.items(), ids=NO_NAMESPACES)
def test_an_unrelated_file_under_the_name_is_refused(
    node: EngineNode, project: Project, what: str, make: t.Callable[[pathlib.Path], object]
) -> None:
    path = pathlib.Path("/run/netns/odd")
    path.parent.mkdir()
    make(path)
    open_network(node, "lab")
    present, absent = {"names": ["odd"]}, {"names": ["odd"], "state": "absent"}
    arguments = {"attachments": [{"network": "lab", "netns": "odd"}]}
    played = project.play(
        [
            task("predicted", NETNS, present, check_mode=True),
            task("make", NETNS, present),
            task("remove", NETNS, absent),
            task("attach", "cni.node.attachments", arguments),
            task("look", "cni.node.node_info", {"gather": ["netns"]}),
        ]
    )
    for name in ("predicted", "make", "remove"):
        assert f"{path} is {what}" in played[name].require_unchanged_node().require_failure()
    played["attach"].require_unchanged_node().require_failure(f"{path} is not a network namespace")
    assert played["look"].ok().result["netns"] == []


def test_a_pipe_under_the_name_does_not_block() -> None:
    path = pathlib.Path("/run/netns/odd")
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    try:
        with pytest.raises(OSError, match="Invalid argument"):
            netns.run_inside(str(path), lambda: None)
    finally:
        path.unlink()


def test_a_thread_returns_from_a_namespace_also_after_an_error() -> None:
    own = os.readlink("/proc/thread-self/ns/net")
    with namespaces("visited") as (visited,):
        seen = netns.run_inside(str(visited.path), lambda: os.stat("/proc/thread-self/ns/net").st_ino)
        assert seen == os.stat(visited.path).st_ino
        with pytest.raises(ZeroDivisionError):
            netns.run_inside(str(visited.path), lambda: 1 / 0)
    assert os.readlink("/proc/thread-self/ns/net") == own


def test_a_namespace_that_is_opened_is_the_one_that_was_examined(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may end, and another one get its number, between two looks at /proc."""
    path = tmp_path / "net"
    with namespaces("visited") as (visited,):
        path.symlink_to(visited.path)
        with netns.open_foreign(str(path)) as descriptor:
            assert os.fstat(descriptor).st_ino == os.stat(visited.path).st_ino

        def swap(dummy: str, **dummies: object) -> None:
            path.unlink()
            path.symlink_to("/proc/self/ns/net")

        monkeypatch.setattr(netns, "require_foreign", swap)
        with pytest.raises(CniError, match="leads to another namespace than a moment ago"):
            netns.open_foreign(str(path)).__enter__()


def test_a_process_that_cannot_return_from_a_namespace_ends() -> None:
    """Otherwise it would do to the container what is meant for the node."""
    program = """
import os
from ansible_collections.cni.node.plugins.module_utils._linux import netns, syscall

def fail(dummy):
    raise OSError(1, "Operation not permitted")

def lose_the_privilege():
    syscall.set_network_namespace = fail

netns.run_inside("/run/netns/visited", lose_the_privilege)
print("goes on")
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with namespaces("visited"):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env)
    message = (
        "cni.node: cannot return to the node's network namespace: [Errno 1] Operation not permitted; the run ends\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


@pytest.mark.real_programs
def test_a_namespace_that_the_node_would_not_see_is_refused(node: EngineNode, project: Project) -> None:
    """Run Ansible as a systemd service with mounts of its own does."""
    open_network(node, "lab")
    private = project.write("private", f'#!/bin/sh\nexec unshare -m --propagation private {PROGRAM} "$@"\n')
    private.chmod(0o755)
    tasks = [
        task("predict", NETNS, {"names": ["blue"]}, check_mode=True),
        task("make", NETNS, {"names": ["blue"]}),
        task("remove", NETNS, {"names": ["blue"], "state": "absent"}),
    ]
    attachments = [{"network": "lab", "netns": "hidden"}]
    outside = [
        task("make outside", "ansible.builtin.command", {"cmd": "ip netns add hidden"}),
        task("attach", "cni.node.attachments", {"attachments": attachments}),
    ]
    project.program = private
    played = project.play([*tasks, *outside])
    (warning,) = played["attach"].ok().warnings
    assert "only the mount namespace of this task has /run/netns/hidden, and the attachments are lost" in warning
    for name in ("predict", "make"):
        played[name].require_failure("the node would not see network namespaces in /run/netns", "PrivateTmp")
    played["remove"].ok().require_no_change()
    assert not os.path.lexists("/run/netns/blue")
    project.program = PROGRAM
    project.play(tasks[:2]).succeeded()
    assert is_namespace("/run/netns/blue")
    project.program = private
    project.play(tasks[:2]).succeeded()
