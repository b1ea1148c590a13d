# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command cni-node shows and mends what the modules do, from a file that others cannot lose."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import stat
import subprocess
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import broken_programs, reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import REQUIRES_SYSTEMD, addresses, item
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import NETWORK, flush, map_port, rules
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import reboot
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.namespaces import Namespace
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

COMMAND = pathlib.Path("/usr/local/sbin/cni-node")
NOBODY = 65534
WELL, WRONG, REFUSED = range(3)


class Printed(t.NamedTuple):
    status: int
    out: str
    err: str

    @property
    def result(self) -> JsonObject:
        return t.cast("JsonObject", json.loads(self.out))


def cni_node(*arguments: str) -> Printed:
    """Run the command as a shell does, with an empty environment."""
    done = subprocess.run(
        [str(COMMAND), *arguments], check=False, capture_output=True, text=True, timeout=60, cwd="/", env={}
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Printed(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def command(node: EngineNode) -> t.Iterator[pathlib.Path]:
    libraries.provide()
    COMMAND.parent.mkdir(parents=True, exist_ok=True)
    try:
        node.run("command").succeeded()
        yield COMMAND
    finally:
        with contextlib.suppress(FileNotFoundError):
            COMMAND.unlink()


@pytest.fixture
def attached(node: EngineNode, blue: Namespace) -> JsonObject:
    node.write(NETWORK)
    attached = map_port(blue)
    node.attach(attached)
    return attached


def test_the_file_is_written_once_and_removed_with_its_mark(node: EngineNode, command: pathlib.Path) -> None:
    status = command.stat()
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o755, 0)
    again = node.run("command").succeeded().result
    assert (again["changed"], again["files"]) == (False, [])
    changed = node.run("command", gc_min_age=0).succeeded().result
    assert changed["files"] == [{"path": str(COMMAND), "action": "changed"}]
    users = pathlib.Path(libraries.TOP, "users")
    assert str(COMMAND) in [os.readlink(path) for path in users.iterdir()]
    assert node.run("library", state="absent").succeeded().result["libraries"] != []
    predicted = node.run("command", state="absent", _ansible_check_mode=True).succeeded().result
    assert predicted["files"] == [{"path": str(COMMAND), "action": "removed"}]
    assert command.exists()
    assert node.run("command", state="absent").succeeded().result["files"] == predicted["files"]
    assert not command.exists()


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_what_others_have_made_is_neither_overwritten_nor_removed(
    node: EngineNode, command: pathlib.Path, kind: str, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "sbin" / "cni-node"
    path.parent.mkdir()
    if kind == "file":
        path.write_text("#!/bin/sh\n")
    elif kind == "link":
        path.symlink_to(command)
    else:
        path.mkdir()
    node.run("command", path=str(path)).require_failure(f"{path} was not written by cni.node; expected: no file")
    assert not node.run("command", path=str(path), state="absent").succeeded().result["changed"]
    assert os.path.lexists(path)
    assert command.exists()


def test_status_shows_drift_and_is_the_result_of_node_info(
    node: EngineNode, command: pathlib.Path, attached: JsonObject
) -> None:
    shown = cni_node("status")
    assert (shown.status, shown.err) == (WELL, "")
    heading, line = shown.out.splitlines()[:2]
    assert heading.split() == ["NODE", "PLUGINS", "NETWORKS", "ATTACHMENTS", "DRIFT", "TROUBLE"]
    assert line.split()[1:] == ["-", attached["network"], "1", "none", "-"]
    flush()
    shown = cni_node("status")
    assert shown.status == WRONG
    assert "1 attachment drifted" in shown.out
    assert "the masquerade rule of 10.1.0.2 is gone" in shown.out
    printed = cni_node("status", "--json").result
    gathered = node.run("node_info", gather=["releases", "networks", "attachments", "leases", "runtimes"])
    assert printed == {key: value for key, value in gathered.result.items() if key != "invocation"}


def test_why_names_the_broken_step_and_is_the_result_of_diagnose(
    node: EngineNode, command: pathlib.Path, attached: JsonObject
) -> None:
    ends = ("node", attached["container_id"])
    shown = cni_node("why", *ends)
    assert (shown.status, shown.err) == (WELL, "")
    assert shown.out.splitlines()[-1] == f"node -> {ends[1]}: reached"
    subprocess.run(["ip", "link", "set", "cni0", "down"], check=True)
    shown = cni_node("why", *ends, "--check")
    assert shown.status == WRONG
    assert "   to mend: ip link set cni0 up" in shown.out.splitlines()
    expected = node.run("diagnose", **{"from": ends[0]}, to=ends[1], _ansible_check_mode=True).result
    printed = cni_node("why", *ends, "--check", "--json").result
    assert printed == {key: expected[key] for key in expected if key != "invocation"}
    refused = cni_node("why", "nobody", ends[1])
    assert refused.status == REFUSED
    assert "from: 'nobody' is neither an attachment" in refused.err


def test_repair_does_what_the_module_does(node: EngineNode, command: pathlib.Path, attached: JsonObject) -> None:
    before = rules()
    flush()
    lost = rules()
    predicted = cni_node("repair", "--check")
    assert predicted.status == WRONG
    assert predicted.out.splitlines()[0] == "attachments: 1 would be repaired"
    assert "repaired; found: " in predicted.out.splitlines()[1]
    expected = node.run("repair", _ansible_check_mode=True).result
    printed = cni_node("repair", "--check", "--json").result
    assert printed == {**{key: expected[key] for key in expected if key != "invocation"}, "failed": False}
    assert cni_node("repair", "--network", "other").out == "no attachments\n"
    assert rules() == lost
    done = cni_node("repair")
    assert (done.status, done.out.splitlines()[0], done.err) == (WELL, "attachments: 1 repaired", "")
    assert rules() == before
    assert cni_node("repair") == (WELL, "attachments: 1 unchanged\n", "")


def test_gc_keeps_what_is_young_and_removes_what_the_settings_allow(node: EngineNode, command: pathlib.Path) -> None:
    node.write(NETWORK)
    lease = pathlib.Path("/var/lib/cni/networks", NETWORK["name"], "10.1.0.9")
    lease.parent.mkdir(parents=True)
    lease.write_bytes(b"lost\r\neth0")
    kept = cni_node("gc")
    assert (kept.status, kept.out.partition(":")[0]) == (WRONG, "kept")
    node.run("command", gc_min_age=0).succeeded()
    predicted = cni_node("gc", "--check")
    assert (predicted.status, predicted.out.partition(":")[0]) == (WRONG, "would be collected"), predicted.out
    assert lease.exists()
    expected = node.run("gc", min_age=0, _ansible_check_mode=True).result
    printed = cni_node("gc", "--check", "--json").result
    assert printed["findings"] == expected["findings"] != []
    done = cni_node("gc")
    assert (done.status, done.out.partition(":")[0], done.err) == (WELL, "collected", "")
    assert not lease.exists()
    assert cni_node("gc") == (WELL, "no leaks\n", "")


@REQUIRES_SYSTEMD
def test_restore_does_what_the_unit_does_at_boot(restorable: EngineNode, command: pathlib.Path) -> None:
    assert cni_node("restore") == (WELL, "no attachment has persist\n", "")
    restorable.write(reference_networks.network(reference_networks.bridge()))
    restorable.run("netns", names=["blue"]).succeeded()
    restorable.attach(item("blue"))
    had = addresses(restorable)
    with reboot():
        done = cni_node("restore")
        assert (done.status, done.err) == (WELL, "")
        message, heading, line = done.out.splitlines()
        assert message == "attachments: 1 recreated"
        assert heading.split() == ["NETWORK", "CONTAINER", "INTERFACE", "ADDRESSES", "MAC", "ACTION"]
        assert line.split()[:4] == ["net", "blue", "eth0", *had["net-blue-eth0"]]
        assert addresses(restorable) == had
        (entry,) = cni_node("restore", "--json").result["attachments"]
        assert (entry["action"], entry["changed"]) == ("unchanged", False)


def test_an_unreadable_record_is_a_problem_without_control_characters(node: EngineNode, command: pathlib.Path) -> None:
    results = node.cache_dir / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / "net-\x1b[2Jred-eth0").write_text("{")
    for arguments in (["status"], ["repair"], ["repair", "--check"], ["status", "--json"]):
        shown = cni_node(*arguments)
        assert shown.status == WRONG, arguments
        assert "\x1b" not in shown.out + shown.err


@pytest.mark.parametrize("call", ["status", "why node 127.0.0.1", "repair", "gc", "restore"])
def test_a_python_without_ansible_is_enough(command: pathlib.Path, call: str) -> None:
    argv = ["/usr/bin/python3", "-I", str(command), *call.split(), "--json"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd="/", env={}, timeout=60)
    assert (done.returncode, done.stderr) == (WELL, "")
    assert "msg" in json.loads(done.stdout)


@pytest.mark.parametrize("arguments", [[], ["mend"], ["status", "--check"], ["gc", "--networks", "x"]])
def test_wrong_options_are_refused(command: pathlib.Path, arguments: list[str]) -> None:
    shown = cni_node(*arguments)
    assert (shown.status, shown.out) == (REFUSED, "")
    assert "usage: cni-node" in shown.err


def test_help_has_the_exit_status(command: pathlib.Path) -> None:
    for arguments in (["--help"], ["gc", "--help"]):
        shown = cni_node(*arguments)
        assert shown.status == WELL
        assert "exit status: 0 if nothing is wrong" in shown.out


def test_another_user_is_refused_in_one_sentence(command: pathlib.Path) -> None:
    # This user cannot run the Python of the checkout.
    argv = ["/usr/bin/python3", "-I", str(command), "status"]
    unprivileged: JsonObject = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = subprocess.run(
        argv, check=False, capture_output=True, text=True, cwd="/", env={}, timeout=60, **unprivileged
    )
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert done.stderr == "cni-node: only root can read and mend the networks of a node; use sudo\n"


def test_a_missing_library_and_an_invalid_network_are_refused(command: pathlib.Path) -> None:
    invalid = cni_node("gc", "--network", "a b", "--json")
    assert (invalid.status, invalid.result["failed"], invalid.result["error"]["code"]) == (REFUSED, True, 7)
    library = pathlib.Path(libraries.describe_checkout().path)
    library.rename(library.with_name("other"))
    try:
        # The Python of the checkout has the collection, too.
        argv = ["/usr/bin/python3", "-I", str(command), "status"]
        refused = subprocess.run(argv, check=False, capture_output=True, text=True, cwd="/", env={}, timeout=60)
        assert (refused.returncode, refused.stdout) == (REFUSED, "")
        assert "is incomplete; install the command again" in refused.stderr
    finally:
        library.with_name("other").rename(library)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gc_min_age": "nan"}, "gc_min_age: nan; expected: a number above 0"),
        ({"gc_min_age": "inf"}, "gc_min_age: inf; expected: a number above 0"),
        ({"gc_min_age": -1}, "gc_min_age: -1; expected: a number above 0"),
        ({"repair_networks": ["a b"]}, "repair_networks[0]: "),
        ({"path": "/run/missing/"}, "path: '/run/missing/'; expected: the path of a file"),
    ],
)
def test_options_that_the_command_would_refuse_are_refused(node: EngineNode, options: JsonObject, message: str) -> None:
    for check in (True, False):
        node.run("command", **options, _ansible_check_mode=check).require_failure(message)
    assert not os.path.lexists(options.get("path", str(COMMAND)))


def test_an_interrupted_command_leaves_no_process_and_no_traceback(
    command: pathlib.Path, attached: JsonObject, tmp_path: pathlib.Path
) -> None:
    started = tmp_path / "started"
    (tmp_path / "scratch").mkdir()
    hang = f"echo $$ >{started}.new; mv {started}.new {started}; exec sleep 600"
    with broken_programs.broken("iptables-save", tmp_path / "scratch", hang):
        # Shells let their background processes ignore the signal, this one perhaps among them.
        argv = ["env", "--default-signal=INT", str(command), "status"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            until(lambda: started.exists() or None)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == -signal.SIGINT
        assert not pathlib.Path("/proc", started.read_text(encoding="ascii").strip()).exists()


@pytest.mark.parametrize(
    ("shell", "status", "err"),
    [
        ("status >/dev/full", WRONG, "cni-node: cannot write the answer: No space left on device\n"),
        ("status --json >/dev/full", WRONG, "cni-node: cannot write the answer: No space left on device\n"),
        ("status >&-", WELL, ""),
        ("status <&- >&- 2>&-", WELL, ""),
        ("why nobody 10.1.0.2 2>&-", REFUSED, ""),
    ],
)
def test_an_answer_that_cannot_be_written_ends_without_a_traceback(
    command: pathlib.Path, shell: str, status: int, err: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{command} {shell}"], check=False, stderr=subprocess.PIPE, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (status, err)


def test_a_closed_pipe_ends_without_a_traceback(command: pathlib.Path, attached: JsonObject) -> None:
    shell = f"set -o pipefail; {COMMAND} status --json | true; echo"
    done = subprocess.run(["bash", "-c", shell], check=False, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
