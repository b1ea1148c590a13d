# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ADD as recorded writes to no directory of another program."""

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import recorded_directories

in_each = pytest.mark.parametrize(("plugin", "directory"), [("host-local", "net"), ("tuning", ".")])


def require_own(plugin: str, parent: pathlib.Path) -> None:
    own: JsonObject = {"type": plugin, "dataDir": str(parent)}
    plugins = [own if plugin == "tuning" else {"type": "bridge", "ipam": own}]
    keys = {"cniVersion": "1.0.0", "name": "net", "plugins": plugins}
    network = config.parse(json.dumps(keys).encode(), "net.conflist", recorded=True)
    recorded_directories.require_own(network, NodePaths.below(str(parent / "node")))


@in_each
def test_files_of_another_program_are_an_error(tmp_path: pathlib.Path, plugin: str, directory: str) -> None:
    other = tmp_path / directory / "other.json"
    other.parent.mkdir(exist_ok=True)
    other.write_text('{"key": 1}')
    with pytest.raises(CniError, match=f"{other.parent} is not used: .*expected: a dataDir that {plugin} has used"):
        require_own(plugin, tmp_path)


@in_each
@pytest.mark.parametrize("is_there", [True, False])
def test_an_empty_or_new_directory_may_be_used(
    tmp_path: pathlib.Path, plugin: str, directory: str, is_there: bool
) -> None:
    if is_there:
        (tmp_path / directory).mkdir(exist_ok=True)
    require_own(plugin, tmp_path if is_there else tmp_path / "new")


@pytest.mark.parametrize(
    ("plugin", "name", "content"),
    [("host-local", "net/last_reserved_ip.0", "10.1.0.2"), ("tuning", "blue_eth0.json", '{"mtu": 1500}')],
)
def test_a_directory_that_the_plugin_has_used_may_be_used(
    tmp_path: pathlib.Path, plugin: str, name: str, content: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    (file.parent / "notes").touch()
    require_own(plugin, tmp_path)
