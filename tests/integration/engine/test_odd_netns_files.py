# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Other files in the directory of network namespaces: they do not block, cause errors or get removed."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import stat
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.tests.integration.engine import reference_networks
from ansible_collections.cni.node.tests.integration.engine.boot_restoration import (
    REQUIRES_SYSTEMD,
    boot,
    item,
    make,
)
from ansible_collections.cni.node.tests.integration.engine.engine_node import EngineNode
from ansible_collections.cni.node.tests.integration.engine.throwaway_node import reboot
from ansible_collections.cni.node.tests.support import libraries
from ansible_collections.cni.node.tests.support.until import until

pytestmark = [pytest.mark.requires_root, pytest.mark.requires_plugins]

DIRECTORY = pathlib.Path("/run/netns")


def make_socket(path: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


MAKERS: dict[str, t.Callable[[pathlib.Path], object]] = {
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a file with content": lambda path: path.write_text("precious\n", encoding="utf-8"),
    "an empty file": pathlib.Path.touch,
    "a directory": pathlib.Path.mkdir,
    "a link to nothing": lambda path: path.symlink_to("/run/nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to a pipe": lambda path: path.symlink_to("/run/pipe"),
}


def odd_files(*names: str) -> dict[str, str]:
    """Create one file of the given kinds, or of all, and return their kinds."""
    DIRECTORY.mkdir(exist_ok=True)
    pipe = pathlib.Path("/run/pipe")
    if not pipe.exists():
        os.mkfifo(pipe)
    for name in names or MAKERS:
        MAKERS[name](DIRECTORY / name.replace(" ", "-"))
    return kinds()


def kinds() -> dict[str, str]:
    return {path.name: stat.filemode(path.lstat().st_mode) for path in DIRECTORY.iterdir() if "-" in path.name}


@pytest.fixture
def net(node: EngineNode) -> EngineNode:
    node.write(reference_networks.network(reference_networks.bridge(), version="0.4.0"))
    libraries.provide()
    return node


def within_time(node: EngineNode, module: str, **arguments: t.Any) -> JsonObject:
    """Return the result of a module that does not block on a pipe."""
    running = node.start(module, **arguments)
    until(lambda: running.poll() is not None or None, seconds=40)
    stdout, stderr = running.communicate()
    assert (running.returncode, stderr) == (0, ""), stdout
    return t.cast("JsonObject", json.loads(stdout))


def test_gc_ignores_other_files(net: EngineNode) -> None:
    """Give one file the name of a lost container, and one that of an attachment's namespace."""
    make(net, "a-pipe", "kept")
    net.attach({"network": "net", "netns": "a-pipe"}, {"network": "net", "netns": "kept"})
    net.run("netns", names=["a-pipe"], state="absent").succeeded()
    lost = pathlib.Path("/var/lib/cni/networks/net/10.1.0.77")
    lost.write_text("a-link-to-a-pipe\r\neth0", encoding="utf-8")
    before = odd_files()
    predicted = within_time(net, "gc", min_age=0, _ansible_check_mode=True)
    done = within_time(net, "gc", min_age=0)
    actions = {finding["subject"].rpartition("/")[2]: finding["action"] for finding in done["findings"]}
    assert actions == {"net-a-pipe-eth0": "deleted", "10.1.0.77": "removed"}
    assert predicted["findings"] == done["findings"]
    assert kinds() == before


def test_verify_and_node_info_ignore_other_files(net: EngineNode) -> None:
    before = odd_files()
    assert within_time(net, "verify")["msg"] == "networks: 1 verified"
    assert within_time(net, "node_info")["netns"] == []
    assert kinds() == before


@REQUIRES_SYSTEMD
@pytest.mark.parametrize("kind", MAKERS)
def test_a_restoration_ends_although_a_file_has_the_name_of_a_namespace(net: EngineNode, kind: str) -> None:
    name = kind.replace(" ", "-")
    make(net, name, "other")
    net.attach(item(name), item("other"))
    with reboot():
        before = odd_files(kind)
        is_leftover = kind in ("an empty file", "a link to nothing", "a link to itself", "a link to a pipe")
        output = boot(status=0 if is_leftover else 1)
        assert "recreated: the attachment of other (eth0) to network net" in output
        assert "Traceback" not in output
        if not is_leftover:
            assert f"{DIRECTORY / name} is {kind}" in output
            assert kinds() == before
