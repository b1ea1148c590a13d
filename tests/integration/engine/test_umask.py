# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modes of the modules' files under an open and a restrictive umask."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import stat
import typing as t

import pytest

from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import DNS, REQUIRES_SYSTEMD, item, make
from ansible_collections.cni.node.tests.integration.engine.engine_node import PLUGIN_DIRS, EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import tmpfs
from ansible_collections.cni.node.tests.support import libraries

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins, REQUIRES_SYSTEMD]

# The modules create everything below them; a tmpfs hides the files of others.
BARE = ("/opt", "/etc/cni", "/etc/systemd", "/etc/netns", "/etc/sysctl.d", "/etc/modules-load.d", "/var/lib")
PRIVATE = ("/var/lib/cni/results", "/var/lib/cni/cni.node/intents", "/var/lib/cni/cni.node/locks")
SHARED = (
    "/var/lib/cni",
    *("/opt/cni", "/opt/cni/bin", "/etc/cni/net.d", "/etc/netns/blue", "/run/netns"),
    *("/etc/systemd/system", "/etc/systemd/system/multi-user.target.wants"),
)


@contextlib.contextmanager
def umask(mask: int) -> t.Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def bare() -> t.Iterator[None]:
    with contextlib.ExitStack() as stack:
        for path in map(pathlib.Path, BARE):
            if not path.exists():
                path.mkdir()
                stack.callback(path.rmdir)
            stack.enter_context(tmpfs(path))
        libraries.provide()
        yield


def provision(node: EngineNode, source: str) -> None:
    """Run all modules that write files; the attachment stays."""
    conflist = {"config": reference_networks.network({**reference_networks.bridge(), "dns": DNS})}
    node.run("kernel", sysctls={"net.ipv4.ip_forward": 1}).succeeded()
    node.run("plugins", source=source, remote_src=True, version="1").succeeded()
    node.run("conflists", conflists=[conflist]).succeeded()
    make(node, "blue")
    node.attach(item())
    node.run("verify").succeeded()
    node.run("gc").succeeded()


def modes(root: str) -> dict[str, int]:
    modes_by_path = {}
    for path, dummy, files in os.walk(root):
        for entry in (path, *(os.path.join(path, name) for name in files)):
            if not os.path.islink(entry):
                modes_by_path[entry] = stat.S_IMODE(os.lstat(entry).st_mode)
    return modes_by_path


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_files_of_the_modules_have_the_same_modes_under_any_umask(node: EngineNode, mask: int) -> None:
    source = next(path for path in PLUGIN_DIRS[1:] if os.access(f"{path}/bridge", os.X_OK))
    with bare(), umask(mask):
        shutil.rmtree("/run/netns", ignore_errors=True)
        provision(node, source)
        try:
            modes_by_path = {path: mode for root in (*BARE, "/run/netns") for path, mode in modes(root).items()}
            run = {path: mode for path, mode in modes("/run").items() if path.startswith("/run/cni")}
        finally:
            node.detach({**item(), "persist": False})
            node.run("netns", names=["blue"], state="absent").succeeded()
    writable = {path: oct(mode) for path, mode in {**modes_by_path, **run}.items() if mode & 0o022}
    assert writable == {}
    assert {path: oct(modes_by_path[path]) for path in SHARED} == dict.fromkeys(SHARED, "0o755")
    assert {path: oct(modes_by_path[path]) for path in PRIVATE} == dict.fromkeys(PRIVATE, "0o700")
    assert modes_by_path["/opt/cni/bin/bridge"] == 0o755
    assert modes_by_path["/etc/cni/net.d/10-net.conflist"] == modes_by_path["/etc/netns/blue/resolv.conf"] == 0o644
