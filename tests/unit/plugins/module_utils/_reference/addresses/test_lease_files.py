# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The directories in which the leases of a network are looked for."""

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import lease_files


@pytest.fixture
def lease_dir(tmp_path: pathlib.Path) -> str:
    return str(tmp_path / "var/lib/cni/networks")


def network_in(data_dir: pathlib.Path) -> NetworkConfiguration:
    """Return a network with a data directory, in which its own directory exists."""
    (data_dir / "net").mkdir(parents=True)
    plugin = {"type": "bridge", "ipam": {"type": "host-local", "dataDir": str(data_dir)}}
    document = {"cniVersion": "1.0.0", "name": "net", "plugins": [plugin]}
    return config.parse(json.dumps(document).encode(), "net.conflist")


def test_any_directory_of_a_current_configuration_is_followed(tmp_path: pathlib.Path, lease_dir: str) -> None:
    network = network_in(tmp_path / "srv")
    assert lease_files.directories("net", [network], lease_dir) == [f"{tmp_path}/srv/net"]
    assert lease_files.directories("net", [network], lease_dir, recorded=[network]) == [f"{tmp_path}/srv/net"]


@pytest.mark.parametrize("data_dir", ["var/lib/cni/own", "var/lib/cni/../cni/networks/own"])
def test_directories_of_cni_in_a_record_are_followed(tmp_path: pathlib.Path, lease_dir: str, data_dir: str) -> None:
    network = network_in(tmp_path / data_dir)
    assert lease_files.directories("net", [], lease_dir, recorded=[network]) == [f"{tmp_path}/{data_dir}/net"]


@pytest.mark.parametrize("data_dir", ["etc", "var/lib/cni/../../../etc", "var/lib/cni2"])
def test_another_directory_in_a_record_is_followed_only_if_host_local_has_used_it(
    tmp_path: pathlib.Path, lease_dir: str, data_dir: str
) -> None:
    network = network_in(tmp_path / data_dir)
    (tmp_path / data_dir / "net" / "lock").touch()
    assert lease_files.directories("net", [], lease_dir, recorded=[network]) == []
    (tmp_path / data_dir / "net" / "last_reserved_ip.0").touch()
    assert lease_files.directories("net", [], lease_dir, recorded=[network]) == [f"{tmp_path}/{data_dir}/net"]
