# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service repairs what attachments lose to any program, and does nothing else."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import signal
import subprocess
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.firewall_rules import (
    NETWORK,
    as_other_runtime,
    flush,
    map_port,
    rules,
)
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs
from ansible_collections.cni.node.tests.integration.engine.watcher import (
    STATE,
    Watcher,
    list_damages,
    make_unrelated_changes,
    show,
    watch,
)
from ansible_collections.cni.node.tests.support.namespaces import Namespace, addresses, ip, namespaces, routes
from ansible_collections.cni.node.tests.support.ring import repetitions
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

# Seconds. On an idle machine it takes less than two; that of the tests is not idle.
PATIENCE = 20.0
SCRIPT = """\
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
-A INPUT -s 192.0.2.1/32 -j DROP
COMMIT
"""


def run(*command: str, stdin: str = "") -> None:
    subprocess.run(command, check=True, input=stdin, text=True, capture_output=True)


@pytest.fixture
def watcher(attached: JsonObject) -> t.Iterator[Watcher]:
    with watch() as started:
        started.await_idle()
        assert started.read() == []
        yield started


def ports(bridge: str) -> set[str]:
    return {link["ifname"] for link in ip("link", "show", "master", bridge)}


def state() -> tuple[str, t.Any, t.Any, t.Any]:
    return rules(), addresses("cni0"), routes(), routes("blue")


DAMAGES = list_damages("cni0", "10.1.0.1/16", "blue", "10.1.0.2/16")


@pytest.mark.parametrize("commands", DAMAGES.values(), ids=DAMAGES)
def test_what_is_lost_returns(watcher: Watcher, commands: list[list[str]]) -> None:
    before = state()
    for command in commands:
        run(*command)
    started = time.monotonic()
    line = watcher.await_line("repaired: the attachment of blue (eth0) to network net: ")
    show(f"{time.monotonic() - started:.2f} s: {line}")
    assert time.monotonic() - started < PATIENCE
    watcher.await_idle()
    assert state() == before
    noted = json.loads(STATE.read_text(encoding="utf-8"))
    assert noted["counts"]["net"]["cni.node"] == len(watcher.lines)
    assert noted["recent"][0]["container_id"] == "blue"


def test_a_bridge_with_many_ports_returns(node: EngineNode) -> None:
    node.write(NETWORK)
    names = [f"many{number}" for number in range(repetitions(300, 100))]
    with namespaces(*names) as made:
        node.attach(*(map_port(namespace, number) for number, namespace in enumerate(made)), builtin="always")
        before = rules(), addresses("cni0"), routes(), ports("cni0")
        assert len(ports("cni0")) == len(names)
        with watch() as watcher:
            watcher.await_idle()
            run("ip", "link", "del", "cni0")
            watcher.await_line("repaired: ")
            watcher.await_idle()
            assert (rules(), addresses("cni0"), routes(), ports("cni0")) == before
            watcher.read()
            assert len(watcher.lines) == len(names)


def test_rules_of_others_stay_as_a_script_leaves_them(watcher: Watcher) -> None:
    lost = set(rules().splitlines())
    run("iptables", "-A", "INPUT", "-s", "192.0.2.7/32", "-j", "DROP")
    run("nft", "add", "table", "inet", "theirs")
    run("iptables-restore", stdin=SCRIPT)
    run("nft", "delete", "table", "inet", "theirs")
    line = watcher.await_line("repaired: ", "removed by iptables-restor")
    show(line)
    watcher.await_idle()
    present = set(rules().splitlines())
    assert lost <= present
    assert present - lost == {"-A INPUT -s 192.0.2.1/32 -j DROP"}
    assert "theirs" not in subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout


def test_rules_of_another_runtime_return_but_not_its_interfaces(
    node: EngineNode, attached: JsonObject, blue: Namespace
) -> None:
    as_other_runtime(node, attached)
    with watch() as watcher:
        watcher.await_idle()
        before = rules()
        blue.run("ip", "route", "del", "default")
        flush()
        watcher.await_line("repaired: ", "removed by nft (process ")
        watcher.await_idle()
        assert rules() == before
        assert "default" not in blue.run("ip", "route").stdout
        assert json.loads(STATE.read_text(encoding="utf-8"))["counts"] == {"net": {"cni.node": 0, "other": 1}}


def test_a_namespace_in_a_directory_of_another_user_is_reached(node: EngineNode, blue: Namespace) -> None:
    directory = pathlib.Path("/run/user-of-a-namespace")
    directory.mkdir(mode=0o700)
    path = directory / "netns"
    path.touch()
    run("mount", "--bind", str(blue.path), str(path))
    os.chown(directory, 1000, 1000)
    try:
        node.write(NETWORK)
        node.attach({**map_port(blue), "netns": str(path)})
        with watch() as watcher:
            watcher.await_idle()
            blue.run("ip", "route", "del", "default")
            watcher.await_line("repaired: ")
            assert "default" in blue.run("ip", "route").stdout
    finally:
        run("umount", "--lazy", str(path))


def test_it_sleeps_and_stays_small(watcher: Watcher) -> None:
    flush()
    watcher.await_line("repaired: ")
    watcher.await_idle()
    switches, seconds = watcher.switches(), watcher.seconds()
    time.sleep(3)
    assert (watcher.switches(), watcher.seconds()) == (switches, seconds)
    show(f"{watcher.resident()} KiB")
    assert watcher.resident() < 25 * 1024


def test_unrelated_changes_cost_little(watcher: Watcher) -> None:
    before = watcher.seconds()
    comparisons = [before[1]]
    for _round in range(5):
        make_unrelated_changes()
        time.sleep(0.6)
        comparisons.append(watcher.seconds()[1])
    watcher.await_idle()
    own, of_comparisons = (now - then for now, then in zip(watcher.seconds(), before))
    show(
        f"10,000 changes: {own:.2f} s of processor time, and {of_comparisons:.2f} s of comparisons; {watcher.resident()} KiB"
    )
    assert watcher.read() == []
    assert own + of_comparisons < 1
    # The bridge reports a new port once more, 15 seconds later.
    assert len(set(comparisons)) - 1 <= 2, comparisons


def test_what_is_removed_again_and_again_is_left_alone_for_a_while(watcher: Watcher) -> None:
    before = rules()
    for _repair in range(3):
        flush()
        watcher.await_line("repaired: ")
        watcher.await_idle()
    assert len([line for line in watcher.lines if line.startswith("left alone for 10 s")]) == 1
    assert "removed by nft (process " in watcher.lines[-1]
    assert json.loads(STATE.read_text(encoding="utf-8"))["held"][0]["resource"] == "rules"
    flush()
    time.sleep(4)
    assert watcher.read() == []
    watcher.await_line("repaired: ")
    assert rules() == before


def test_it_does_nothing_while_a_plugin_runs(watcher: Watcher) -> None:
    environment = {**os.environ, "CNI_COMMAND": "ADD", "CNI_CONTAINERID": "other"}
    with subprocess.Popen(["sleep", "4"], env=environment) as plugin:
        flush()
        time.sleep(2.5)
        assert watcher.read() == []
        plugin.kill()
    watcher.await_line("repaired: ")


def test_a_removed_attachment_is_not_repaired(watcher: Watcher, node: EngineNode, attached: JsonObject) -> None:
    node.detach(attached)
    watcher.await_idle()
    flush()
    watcher.await_idle()
    assert watcher.read() == []
    assert "CNI-DN" not in rules()


def test_a_later_attachment_is_watched_too(watcher: Watcher, node: EngineNode) -> None:
    green = Namespace("green")
    run("ip", "netns", "add", "green")
    try:
        node.attach(map_port(green, 1))
        run("ip", "-n", "green", "route", "del", "default")
        watcher.await_line("repaired: the attachment of green (eth0)")
        assert "default" in green.run("ip", "route").stdout
    finally:
        run("ip", "netns", "del", "green")


def test_it_repairs_nothing_of_attachments_that_come_and_go(
    watcher: Watcher, node: EngineNode, attached: JsonObject, blue: Namespace
) -> None:
    for place in range(5):
        node.detach(attached)
        flush()
        time.sleep(place / 10)
        node.attach(attached)
    watcher.await_idle()
    node.detach(attached)
    watcher.await_idle()
    assert not [line for line in watcher.lines if not line.startswith("repaired: ")]
    left = {line for line in rules().splitlines() if "10.1.0.2" in line or "CNI-DN" in line}
    assert (left, set(blue.links())) == (set(), {"lo"})


def test_a_killed_service_finds_what_was_lost_meanwhile(attached: JsonObject) -> None:
    before = rules()
    with watch() as watcher:
        watcher.await_idle()
        assert watcher.end(signal.SIGKILL) == -signal.SIGKILL
        flush()
    with watch() as watcher:
        watcher.await_line("repaired: ")
        assert rules() == before
        flush()
        time.sleep(0.5)  # a comparison is about to begin, or has begun
        watcher.end(signal.SIGKILL)
    with watch() as watcher:
        watcher.await_idle()
        assert rules() == before


def test_a_killed_comparison_is_repeated(watcher: Watcher) -> None:
    before = rules()
    flush()
    child = int(until(lambda: watcher.children().split() or None, 20)[0])
    os.kill(child, signal.SIGKILL)
    watcher.await_line("failed: the comparison ended with status -9")
    watcher.await_line("repaired: ")
    assert rules() == before


def test_a_service_without_room_for_another_file_tries_again(watcher: Watcher) -> None:
    before = rules()
    limits = resource.prlimit(watcher.pid, resource.RLIMIT_NOFILE)
    # It has more files, but polls only two of them.
    resource.prlimit(watcher.pid, resource.RLIMIT_NOFILE, (2, limits[1]))
    flush()
    watcher.await_line("failed: cannot start another process: Too many open files")
    resource.prlimit(watcher.pid, resource.RLIMIT_NOFILE, limits)
    watcher.await_line("repaired: ")
    assert rules() == before


def test_a_full_disk_is_reported_once_and_survived(watcher: Watcher) -> None:
    before = rules()
    STATE.parent.mkdir()
    with tmpfs(STATE.parent, "size=4k") as full:
        (full / "filler").write_bytes(bytes(4096))
        flush()
        watcher.await_line("failed: cannot write ", "No space left on device")
        watcher.await_idle()
        assert rules() == before
    flush()
    watcher.await_line("repaired: ")
    assert rules() == before


def test_legacy_tables_are_looked_at(legacy_iptables: EngineNode, blue: Namespace) -> None:
    legacy_iptables.write(NETWORK)
    legacy_iptables.attach(map_port(blue))
    before = rules()
    assert "CNI-DN" in subprocess.run(["iptables-legacy-save"], capture_output=True, text=True, check=True).stdout
    with watch() as watcher:
        time.sleep(3)
        assert watcher.read() == []
        for table in ("nat", "filter"):
            run("iptables-legacy", "-t", table, "-F")
        started = time.monotonic()
        watcher.await_line("repaired: ")
        show(f"{time.monotonic() - started:.2f} s")
        assert rules() == before
        show(f"{watcher.resident()} KiB with a look at legacy tables")
        assert watcher.resident() < 25 * 1024
