# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules run inside network namespaces: on this node, and on a node over SSH as a user who needs sudo."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.ansible.ansible_project import PlaybookRun, Project, task
from ansible_collections.cni.node.tests.integration.ansible.page_places import Place, prepared
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.support.namespaces import Namespace, ip, namespaces
from ansible_collections.cni.node.tests.support.until import until

INSIDE: t.Final[JsonObject] = {"become": True, "become_method": "cni.node.netns"}
URL = "http://10.9.0.2:8000"
FACTS = {"gather_subset": ["!all", "!min", "network"]}
PASSWORD = "correct horse"


@contextlib.contextmanager
def wired() -> t.Iterator[tuple[Namespace, Namespace]]:
    """Yield the network namespaces red and blue, which reach each other and nothing else; blue has a server."""
    with namespaces("red", "blue") as (red, blue):
        ip("link", "add", "wire0", "netns", "red", "type", "veth", "peer", "name", "wire1", "netns", "blue")
        for number, (end, link) in enumerate([(red, "wire0"), (blue, "wire1")], 1):
            ip("address", "add", f"10.9.0.{number}/24", "dev", link, namespace=end.name)
            ip("link", "set", link, "up", namespace=end.name)
            ip("link", "set", "lo", "up", namespace=end.name)
        argv = blue.argv(sys.executable, "-m", "http.server", "8000", "--directory", "/usr/share/misc")
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                yield red, blue
            finally:
                server.kill()


def play(project: Project, *tasks: JsonObject, **variables: t.Any) -> PlaybookRun:
    return project.play(tasks, vars={"ansible_cni_netns": "red", **variables}, **INSIDE)


def run_command(name: str, *argv: str, **keywords: t.Any) -> JsonObject:
    return task(name, "ansible.builtin.command", {"argv": list(argv)}, **keywords)


@pytest.mark.parametrize("pipelining", [True, False])
def test_modules_of_ansible_try_a_server_from_inside(node: EngineNode, project: Project, pipelining: bool) -> None:
    with wired():
        played = play(
            project,
            task("wait", "ansible.builtin.wait_for", {"host": "10.9.0.2", "port": 8000, "timeout": 20}),
            task("facts", "ansible.builtin.setup", FACTS),
            task("ask", "ansible.builtin.uri", {"url": URL}),
            task(
                "get", "ansible.builtin.get_url", {"url": f"{URL}/", "dest": str(project.path / "got"), "mode": "0600"}
            ),
            task("facts of blue", "ansible.builtin.setup", FACTS, vars={"ansible_cni_netns": "/run/netns/blue"}),
            task("node", "ansible.builtin.wait_for", {"host": "10.9.0.2", "port": 8000, "timeout": 1}, become=False),
            ansible_pipelining=pipelining,
        )
    assert [run.status for run in played.tasks] == ["ok"] * 5 + ["failed"], played.output
    for name, link, address in (("facts", "wire0", "10.9.0.1"), ("facts of blue", "wire1", "10.9.0.2")):
        facts = played[name].result["ansible_facts"]
        assert sorted(facts["ansible_interfaces"]) == ["lo", link]
        assert facts[f"ansible_{link}"]["ipv4"]["address"] == address
    assert played["ask"].result["status"] == 200
    assert "Directory listing" in (project.path / "got").read_text(encoding="utf-8")


def test_files_for_etc_replace_those_of_the_node(node: EngineNode, project: Project) -> None:
    own = pathlib.Path("/etc/netns/red")
    own.mkdir(parents=True)
    for name in ("hosts", ".hosts"):
        (own / name).write_text("10.9.0.2 blue.example.com\n", encoding="utf-8")
        pathlib.Path("/etc", name).touch()
    try:
        with namespaces("red", "blue"):
            played = play(
                project,
                run_command("red", "cat", "/etc/hosts", "/etc/.hosts"),
                run_command("blue", "cat", "/etc/hosts", vars={"ansible_cni_netns": "blue"}),
            ).succeeded()
            assert str(own) not in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    finally:
        pathlib.Path("/etc/.hosts").unlink()
    assert played["red"].result["stdout_lines"] == ["10.9.0.2 blue.example.com"] * 2
    assert "blue.example.com" not in played["blue"].result["stdout"]


def test_a_module_never_runs_on_the_node_instead(node: EngineNode, project: Project) -> None:
    """Ansible leaves a become plugin out where the user of the connection is that of the task."""
    show = ("readlink", "/proc/self/ns/net")
    with namespaces("red") as (red,):
        inside = red.run(*show).stdout.strip()
        played = play(
            project,
            run_command("usual", *show),
            run_command("root", *show, become_user="root"),
            run_command("root as root", *show, become_user="root", vars={"ansible_user": "root"}),
            run_command("named", *show, remote_user="root", vars={"ansible_become_user": "root"}),
            task("raw", "ansible.builtin.raw", " ".join(show)),  # type: ignore[arg-type]
        ).succeeded()
    assert [run.result["stdout"].strip() for run in played.tasks] == [inside] * 5


def test_another_user_runs_the_module_inside(node: EngineNode, project: Project) -> None:
    show = task("show", "ansible.builtin.shell", {"cmd": "id -un; readlink /proc/self/ns/net"}, become_user="nobody")
    with namespaces("red") as (red,):
        played = play(project, show, ansible_pipelining=True, ansible_python_interpreter="/usr/bin/python3").succeeded()
        assert played["show"].result["stdout_lines"] == [
            "nobody",
            red.run("readlink", "/proc/self/ns/net").stdout.strip(),
        ]


@pytest.mark.parametrize("pipelining", [True, False])
def test_a_namespace_that_cannot_be_entered_is_one_clear_error(
    node: EngineNode, project: Project, pipelining: bool
) -> None:
    pathlib.Path("/run/netns").mkdir(exist_ok=True)
    pathlib.Path("/run/netns/stale").touch()
    os.mkfifo("/run/netns/pipe")
    cases = {
        "green": "nsenter: cannot open /run/netns/green: No such file or directory",
        "stale": "Invalid argument",
        "pipe": "it is not a network namespace",
        "/proc/1/ns/net": "it is that of the node",
        "/proc/self/ns/net": "it is that of the node",
        "/proc/1/ns/uts": "Invalid argument",
    }
    tasks = [task(name, "ansible.builtin.ping", {}, vars={"ansible_cni_netns": name}) for name in cases]
    played = play(project, *tasks, ansible_pipelining=pipelining)
    for name, reason in cases.items():
        message = played[name].require_failure(f"the network namespace {name!r} cannot be entered: ", reason)
        assert "\n" not in message
        assert "MODULE FAILURE" not in message
    pathlib.Path("/run/netns/pipe").unlink()


@pytest.mark.parametrize("call", [1, 2])
def test_a_path_that_is_replaced_meanwhile_never_leads_to_the_node(
    node: EngineNode, project: Project, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """Replace a link, which its owner can do at any moment, after the first call of nsenter or before the second."""
    link, programs = project.path / "link", project.path / "programs"
    programs.mkdir()
    nsenter = programs / "nsenter"
    replace = f"ln -sfn /proc/1/ns/net {link}"
    real = f'{shutil.which("nsenter")} "$@"'
    script = {
        1: f"{real}; status=$?; {replace}; exit $status",
        2: f'case "$*" in *true) ;; *) {replace};; esac; exec {real}',
    }
    nsenter.write_text(f"#!/bin/sh\n{script[call]}\n", encoding="utf-8")
    nsenter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    show = ("readlink", "/proc/self/ns/net")
    with namespaces("red") as (red,):
        inside = red.run(*show).stdout.strip()
        link.symlink_to(red.path)
        played = play(project, run_command("show", *show), ansible_cni_netns=str(link))
    if call == 1:
        played["show"].require_failure("it is that of the node")
    else:
        assert played["show"].ok().result["stdout"] == inside


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "set the variable ansible_cni_netns"),
        ("a b", "is not a network namespace name"),
        ("-x", "not begin with '-'"),
    ],
)
def test_a_wrong_name_is_refused_on_the_controller(node: EngineNode, project: Project, name: str, message: str) -> None:
    played = play(project, task("ping", "ansible.builtin.ping", {}), ansible_cni_netns=name)
    played["ping"].require_failure(message)


def test_a_task_in_the_background_stays_inside(node: EngineNode, project: Project) -> None:
    with namespaces("red") as (red,):
        start = run_command("start", "sleep", "20", **{"async": 30, "poll": 0})
        play(project, start).succeeded()
        pids = until(lambda: [pid for pid in _list_pids("red") if _program(pid) == "sleep"] or None)
        subprocess.run(["kill", *pids], check=True)
        assert red.path.exists()


def _list_pids(netns: str) -> list[str]:
    return subprocess.run(["ip", "netns", "pids", netns], check=True, capture_output=True, text=True).stdout.split()


def _program(pid: str) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _add_user(root: pathlib.Path) -> None:
    """Add alice to a node of the fleet, who logs in with the fleet's key and may use sudo with a password."""
    hashed = subprocess.run(["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True).stdout
    lines = {
        "passwd": "alice:x:1500:1500::/home/alice:/bin/sh",
        "group": "alice:x:1500:",
        "shadow": f"alice:{hashed.strip()}:20000:0:99999:7:::",
    }
    for name, line in lines.items():
        with (root / "etc" / name).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    (root / "etc/sudoers").write_text("root ALL=(ALL) ALL\nalice ALL=(ALL) ALL\n", encoding="utf-8")
    (root / "etc/sudoers").chmod(0o440)
    home = root / "home/alice"
    home.mkdir(parents=True)
    os.chown(home, 1500, 1500)
    (root / "run/fleet").chmod(0o711)


@pytest.mark.requires_plugins
@pytest.mark.skipif(not shutil.which("sudo"), reason="install sudo")
def test_a_user_with_a_password_for_sudo_gets_inside_over_ssh(project: Project, tmp_path: pathlib.Path) -> None:
    with prepared(Place("fleet", ("node1",)), tmp_path) as (root,):
        _add_user(root)
        variables = json.loads((tmp_path / "host_vars/node1.json").read_text(encoding="utf-8"))
        common = {**variables, "ansible_connection": "ssh", "ansible_python_interpreter": "/usr/bin/python3"}
        project.inventory = str(project.write("hosts", "node1\n"))
        make = task("make", "cni.node.netns", {"names": ["red"]}, become=False, vars={"ansible_user": "root"})
        show = {"cmd": "id -un; ls /sys/class/net"}
        played = project.play(
            [
                make,
                task("password", "ansible.builtin.shell", show),
                task("without pipelining", "ansible.builtin.shell", show, vars={"ansible_pipelining": False}),
                task("as root", "ansible.builtin.shell", show, vars={"ansible_user": "root"}),
                task("as alice", "ansible.builtin.shell", show, become_user="alice"),
                task("missing", "ansible.builtin.ping", {}, vars={"ansible_cni_netns": "green"}),
                task("wrong", "ansible.builtin.shell", show, vars={"ansible_become_password": "wrong"}),
                task("none", "ansible.builtin.shell", show, vars={"ansible_become_password": ""}),
            ],
            vars={
                **common,
                "ansible_cni_netns": "red",
                "ansible_user": "alice",
                "ansible_become_password": PASSWORD,
                "ansible_pipelining": True,
                "ansible_remote_tmp": "/tmp/ansible-{{ ansible_user }}",
            },
            **INSIDE,
        )
    for name, user in {
        "password": "root",
        "without pipelining": "root",
        "as root": "root",
        "as alice": "alice",
    }.items():
        assert played[name].ok().result["stdout_lines"] == [user, "lo"]
    played["missing"].require_failure("the network namespace 'green' cannot be entered: ")
    played["wrong"].require_failure("Incorrect sudo password")
    played["none"].require_failure("Missing sudo password")
