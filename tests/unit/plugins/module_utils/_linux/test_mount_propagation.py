# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._linux import mount_propagation
from ansible_collections.cni.node.tests.support.error_of import error_of

ROOT = "21 1 8:1 / / rw,relatime {tags} - ext4 /dev/sda1 rw"
RUN = "25 21 0:22 / /run rw,nosuid {tags} - tmpfs tmpfs rw,size=1000k"
NETNS = "90 25 0:22 /netns /run/netns rw,nosuid {tags} - tmpfs tmpfs rw"


def write_mounts(line: str, tags: str = "") -> str:
    return line.format(tags=tags).replace("  ", " ")


def describe(proc: pathlib.Path, process: str, namespace: str, *lines: str) -> None:
    (proc / process / "ns").mkdir(parents=True)
    os.symlink(f"mnt:[{namespace}]", proc / process / "ns" / "mnt")
    (proc / process / "mountinfo").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("own", "nodes", "is_visible"),
    [
        ([write_mounts(RUN)], [write_mounts(RUN, "shared:5")], False),
        ([write_mounts(RUN, "master:5")], [write_mounts(RUN, "shared:5")], False),
        ([write_mounts(RUN, "shared:9 master:5")], [write_mounts(RUN, "shared:5")], False),
        ([write_mounts(RUN, "shared:5")], [write_mounts(RUN, "shared:5")], True),
        ([write_mounts(RUN, "shared:5")], [write_mounts(RUN, "master:5")], True),
        # An earlier run in the private namespace has made a shared mount of its own.
        ([write_mounts(RUN), write_mounts(NETNS, "shared:9")], [write_mounts(RUN, "shared:5")], False),
        ([write_mounts(NETNS, "shared:9"), write_mounts(RUN)], [write_mounts(NETNS, "shared:9")], True),
        ([write_mounts(ROOT)], [write_mounts(ROOT)], False),
    ],
)
def test_a_mount_is_visible_if_its_peer_group_reaches_process_1(
    tmp_path: pathlib.Path, own: list[str], nodes: list[str], is_visible: bool
) -> None:
    describe(tmp_path, "self", "1", write_mounts(ROOT), *own)
    describe(tmp_path, "1", "2", write_mounts(ROOT), *nodes)
    assert mount_propagation.is_visible("/run/netns", str(tmp_path)) is is_visible


def test_every_mount_is_visible_in_the_mount_namespace_of_process_1(tmp_path: pathlib.Path) -> None:
    for process in ("self", "1"):
        describe(tmp_path, process, "1", write_mounts(ROOT))
    assert mount_propagation.is_visible("/run/netns", str(tmp_path))


def test_a_mount_counts_as_visible_if_process_1_cannot_be_inspected(tmp_path: pathlib.Path) -> None:
    describe(tmp_path, "self", "1", write_mounts(ROOT))
    assert mount_propagation.is_visible("/run/netns", str(tmp_path))


def test_the_error_names_the_settings_that_give_a_service_its_own_mounts(tmp_path: pathlib.Path) -> None:
    describe(tmp_path, "self", "1", write_mounts(ROOT))
    describe(tmp_path, "1", "2", write_mounts(ROOT, "shared:1"))
    error = error_of(mount_propagation.require_visible, "/run/netns", str(tmp_path))
    assert error.code == Code.INVALID_ENVIRONMENT
    assert "the node would not see network namespaces in /run/netns" in error.msg
    assert "PrivateTmp" in error.details


def test_a_network_namespace_that_process_1_has_not_mounted_is_hidden(tmp_path: pathlib.Path) -> None:
    seen, hidden = tmp_path / "seen", tmp_path / "hidden"
    for path in (seen, hidden):
        path.touch()
    (tmp_path / "link").symlink_to("/proc/self/ns/net")
    paths = [str(seen), str(hidden), str(tmp_path / "link"), "/proc/self/ns/net"]
    mounted = f"95 25 0:4 net:[{seen.stat().st_ino}] /run/netns/seen rw shared:5 - nsfs nsfs rw"
    describe(tmp_path, "self", "1", write_mounts(ROOT))
    assert mount_propagation.find_hidden(paths, str(tmp_path)) == []
    describe(tmp_path, "1", "2", write_mounts(ROOT), mounted)
    assert mount_propagation.find_hidden(paths, str(tmp_path)) == [str(hidden)]


def test_a_network_namespace_that_goes_meanwhile_is_not_hidden(tmp_path: pathlib.Path) -> None:
    for process in ("self", "1"):
        describe(tmp_path, process, process, write_mounts(ROOT))
    assert mount_propagation.find_hidden([str(tmp_path / "gone")], str(tmp_path)) == []


def test_no_network_namespace_is_hidden_in_the_mount_namespace_of_process_1(tmp_path: pathlib.Path) -> None:
    for process in ("self", "1"):
        describe(tmp_path, process, "1", write_mounts(ROOT))
    assert mount_propagation.find_hidden([str(tmp_path)], str(tmp_path)) == []
