# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which file of a conf dir takes effect, and findings about its other files."""

from __future__ import annotations

import os
import pathlib
import time
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.finding import WARNING
from ansible_collections.cni.node.plugins.module_utils._node.conflists import file_checks
from ansible_collections.cni.node.plugins.module_utils._node.conflists.desired import DesiredConflist
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.runtime_settings import Configured
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.file_cases import MULTUS
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.net_d import (
    NetD,
    absent,
    present,
    single,
    text,
)

YESTERDAY = time.time() - 24 * 3600


@pytest.fixture
def net_d(tmp_path: pathlib.Path) -> NetD:
    return NetD(tmp_path / "net.d")


def find_messages(
    net_d: NetD, *items: DesiredConflist, runtimes: t.Iterable[str] = (), plugin_dirs: t.Sequence[str] = ()
) -> dict[str, str]:
    """Return the messages by code and file.

    Args:
        runtimes: Those that read the directory.
        plugin_dirs: Where the task looks for plugins.
    """
    rows = {runtime.name: runtime for runtime in RUNTIMES}
    conf_dir, searched = Configured((str(net_d.path),)), Configured(("/opt/cni/bin",))
    present = [FoundRuntime(rows[name], "", {}, conf_dir, searched) for name in runtimes]
    findings = list(file_checks.check(net_d.plan_directory(*items), lambda: present, plugin_dirs))
    assert {finding.severity for finding in findings} <= {WARNING}
    return {f"{finding.code} {os.path.basename(finding.file)}": str(finding) for finding in findings}


def test_a_correct_directory_has_no_findings(net_d: NetD) -> None:
    assert find_messages(net_d, present("a")) == {}
    net_d.ensure(present("a"), present("b"))
    net_d.put("README", b"")
    net_d.put("99-other.conflist", text("other"))
    net_d.put("10-a.conflist.1234.2026-11-21@15:00:00~", b"a backup is no leftover")
    assert find_messages(net_d, present("a"), present("b"), absent("c")) == {}


def test_the_finding_names_the_file_that_runtimes_use(net_d: NetD) -> None:
    net_d.put("20-a.conflist", text("a"))
    (message,) = find_messages(net_d, present("a")).values()
    first, second = net_d.path / "10-a.conflist", net_d.path / "20-a.conflist"
    assert f"{first} and {second} define network a; runtimes use the first file; remove {second}, " in message


def test_lists_shadow_single_plugins_except_for_runtimes_that_sort_by_name(net_d: NetD) -> None:
    net_d.put("00-a.conf", single("a"))
    net_d.put("99-a.conflist", text("a"))
    net_d.put("00-b.conf", single("b"))
    files = [net_d.path / name for name in ("10-a.conflist", "99-a.conflist", "00-a.conf")]
    messages = find_messages(net_d, present("a"), absent("b"))
    assert list(messages) == ["shadowed-network 10-a.conflist"]
    message = messages["shadowed-network 10-a.conflist"]
    assert f"{files[0]}, {files[1]} and {files[2]} define network a; runtimes use the first file, " in message
    assert f"but containerd and CRI-O use {files[2]}" in message


def test_a_network_whose_other_files_are_removed_is_not_shadowed(net_d: NetD) -> None:
    net_d.ensure(present("a"))
    assert find_messages(net_d, present("a", priority=20)) == {}


def test_a_foreign_file_that_sorts_first_is_a_finding(net_d: NetD) -> None:
    net_d.put("05-cilium.conflist", text("cilium"))
    assert list(find_messages(net_d, present("a"))) == ["other-file-first 05-cilium.conflist"]
    assert find_messages(net_d, present("a", priority=1)) == {}
    assert find_messages(net_d, absent("x")) == {}
    net_d.put("00-old.conflist", text("old"))
    assert list(find_messages(net_d, present("a"), absent("old"))) == ["other-file-first 05-cilium.conflist"]


@pytest.mark.parametrize(
    ("runtimes", "message"),
    [
        ([], "containerd and CRI-O use the network cilium for pods"),
        (["k3s"], "k3s uses the network cilium for pods"),
        (["containerd", "kubelet", "nomad"], "containerd uses the network cilium for pods"),
        (["nerdctl", "podman"], ""),
    ],
)
def test_a_file_that_sorts_first_concerns_only_runtimes_that_take_the_first_one(
    net_d: NetD, runtimes: list[str], message: str
) -> None:
    net_d.put("05-cilium.conflist", text("cilium"))
    found = find_messages(net_d, present("a"), runtimes=runtimes)
    assert [message in text for text in found.values()] == ([True] if message else [])


def test_the_file_of_a_meta_plugin_that_was_uninstalled_is_found(net_d: NetD) -> None:
    net_d.put("00-multus.conflist", MULTUS)
    bin_dir = net_d.path.parent / "bin"
    bin_dir.mkdir()
    (message,) = find_messages(net_d, present("a"), plugin_dirs=[str(bin_dir)]).values()
    assert "containerd and CRI-O use the network multus-cni-network for pods" in message
    assert (
        "its plugin multus is not installed; remove it, or install multus; until then, pods have no network" in message
    )
    (bin_dir / "multus").touch()
    assert find_messages(net_d, present("a"), plugin_dirs=[str(bin_dir)]) == {}


@pytest.mark.parametrize(
    ("runtimes", "effects"),
    [
        (["containerd"], []),
        (["crio", "podman"], []),
        (["nomad", "containerd"], ["Nomad: the client does not start"]),
        (["nerdctl"], ["nerdctl: every command that needs a network fails"]),
    ],
)
def test_a_broken_file_says_what_it_does_to_each_runtime_of_the_node(
    net_d: NetD, runtimes: list[str], effects: list[str]
) -> None:
    net_d.put("50-broken.conf", b"")
    (message,) = find_messages(net_d, present("a"), runtimes=runtimes).values()
    hints = message.partition("fix or remove it")[2].split(" (broken-file)")[0].split("; ")[1:]
    assert [hint.startswith(effect) for hint, effect in zip(hints, effects)] == [True] * len(effects)
    assert len(hints) == len(effects)


@pytest.mark.parametrize("priority", [0, 9])
def test_an_own_file_may_sort_first(net_d: NetD, priority: int) -> None:
    net_d.ensure(present("first", priority=priority))
    assert find_messages(net_d, present("a")) == {}


def test_a_plugin_that_selects_networks_may_sort_first(net_d: NetD) -> None:
    net_d.put("00-multus.conf", single("multus").replace(b'"type": "a"', b'"type": "multus"'))
    assert find_messages(net_d, present("a")) == {}


def test_the_finding_of_an_unreadable_file_says_whether_it_sorts_first(net_d: NetD) -> None:
    net_d.put("00-broken.conflist", b"{")
    net_d.put("50-broken.conf", b"")
    messages = find_messages(net_d, present("a"))
    assert list(messages) == ["broken-file 00-broken.conflist", "broken-file 50-broken.conf"]
    assert "containerd: pods have no network" in messages["broken-file 00-broken.conflist"]
    assert "fix or remove it" in messages["broken-file 50-broken.conf"]
    assert find_messages(net_d, present("a", filename="00-broken.conflist"), absent(filename="50-broken.conf")) == {}


@pytest.mark.parametrize(
    "name",
    [".ansible_tmpab12-net.conflist", ".x.conf", ".x.json", ".a.conflist.swp", "a.conf.dpkg-new", ".cni.node-x.tmp"],
)
def test_an_old_temporary_file_is_a_finding(net_d: NetD, name: str) -> None:
    path = net_d.put(name, b"")
    is_read = name.endswith((".conflist", ".conf", ".json"))
    assert list(find_messages(net_d)) == ([f"leftover-file {name}"] if is_read else [])
    os.utime(path, (YESTERDAY, YESTERDAY))
    assert list(find_messages(net_d)) == [f"leftover-file {name}"]
    assert ("runtimes read this file" in find_messages(net_d)[f"leftover-file {name}"]) is is_read


def test_a_directory_with_the_name_of_a_file_is_ignored(net_d: NetD) -> None:
    (net_d.path / "10-a.conflist.tmp").mkdir(parents=True)
    (net_d.path / ".a.conflist").mkdir()
    os.utime(net_d.path / "10-a.conflist.tmp", (YESTERDAY, YESTERDAY))
    assert find_messages(net_d, present("b")) == {}
