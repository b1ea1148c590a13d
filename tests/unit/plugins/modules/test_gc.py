# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._linux import live_namespaces
from ansible_collections.cni.node.plugins.module_utils._node.gc.leak import Kind
from ansible_collections.cni.node.plugins.module_utils._node.runtimes import rows as runtimes
from ansible_collections.cni.node.plugins.modules import gc
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner

Collect = t.Callable[..., ModuleExit]


@pytest.fixture
def collect(
    run: ModuleRunner, tmp_path: pathlib.Path, program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Collect:
    monkeypatch.setattr(live_namespaces, "reachable_paths", dict)
    fixed = {"conf_dir": str(tmp_path / "net.d"), "cache_dir": str(tmp_path / "cache"), "plugin_dirs": []}
    return lambda **options: run("gc", **{**fixed, **options})


def test_an_empty_node_has_no_leaks_and_stays_empty(collect: Collect, tmp_path: pathlib.Path) -> None:
    for check_mode in (True, False):
        done = collect(check_mode=check_mode).ok()
        assert (done["changed"], done["findings"], done["msg"]) == (False, [], "no leaks")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_message_names_a_network_that_is_unknown(collect: Collect, tmp_path: pathlib.Path) -> None:
    (tmp_path / "net.d").mkdir()
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "x"}]}
    (tmp_path / "net.d" / "net.conflist").write_text(json.dumps(network), encoding="utf-8")
    (tmp_path / "var/lib/cni/networks" / "leased").mkdir(parents=True)
    for check_mode in (True, False):
        done = collect(networks=["net", "leased", "nope"], check_mode=check_mode).ok()
        assert [finding["network"] for finding in done["findings"]] == ["leased"]
        assert done["msg"] == f"kept: 1 lease directory; not configured in {tmp_path}/net.d: nope"


def test_the_message_names_attachments_to_release_that_have_no_record(collect: Collect) -> None:
    for check_mode in (True, False):
        done = collect(release=["net/red/eth0", "net/blue/eth0"], confirm=True, check_mode=check_mode).ok()
        assert done["findings"] == []
        assert done["msg"] == "no leaks; not recorded by another runtime: net/blue/eth0, net/red/eth0"


def test_the_diff_and_the_message_list_what_is_removed_and_kept(collect: Collect, tmp_path: pathlib.Path) -> None:
    directory = tmp_path / "var/lib/cni/networks" / "net"
    directory.mkdir(parents=True)
    for address in ("10.1.0.2", "10.1.0.3"):
        (directory / address).write_text("nobody\r\neth0", encoding="utf-8")
    (directory / "10.1.0.4").write_text("by hand, to keep it", encoding="utf-8")
    done = collect(min_age=0, check_mode=True).ok()
    assert done["msg"] == "would be collected: 2 leases; kept: 1 lease"
    assert done["findings"][0]["proofs"] == [
        "no runtime has a record of container nobody (eth0)",
        "its address is not in use",
    ]
    assert {finding["saved"] for finding in done["findings"]} == {""}
    assert list(done["diff"]["before"]) == [str(directory / "10.1.0.2"), str(directory / "10.1.0.3")]
    assert done["diff"]["after"] == {}
    assert collect(min_age=0).ok()["msg"] == "collected: 2 leases; kept: 1 lease"
    assert [path.name for path in directory.iterdir() if path.name != "lock"] == ["10.1.0.4"]


def test_every_kind_of_leak_is_documented() -> None:
    documented = yaml.safe_load(gc.RETURN)["findings"]["contains"]["kind"]
    assert documented["choices"] == [kind.value for kind in Kind]
    text = " ".join(documented["description"])
    assert [str(kind) for kind in Kind if f"V({kind})" not in text] == []


def test_every_runtime_is_documented() -> None:
    documented = yaml.safe_load(gc.DOCUMENTATION)["options"]["owners"]
    assert documented["choices"] == list(runtimes.OWNER_NAMES) == sorted(runtimes.OWNER_NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"owners": ["lxc"]}, "owners must be one or more of: containerd, crio, ctr, docker, nerdctl, nomad, podman"),
        ({"timeout": 0}, "timeout: 0; expected: a number above 0"),
        ({"release": ["net/blue"]}, "release[0]: 'net/blue' is not the name of an attachment; expected: NETWORK/"),
        ({"release": ["net/blue/eth0", "net/a b/eth0"]}, "CNI_CONTAINERID: 'a b' is not a container id"),
        ({"min_age": -1}, "min_age: -1; expected: a number above 0"),
        ({"networks": ["net", "a/b"]}, "networks[1]: 'a/b' is not a network name"),
        ({"valid_attachments": [{"container_id": "a b"}]}, "CNI_CONTAINERID: 'a b' is not a container id"),
        ({"valid_attachments": [{"container_id": "a", "network": "../x"}]}, "network: '../x' is not a network name"),
    ],
)
def test_invalid_arguments_are_refused(collect: Collect, options: JsonObject, message: str) -> None:
    assert message in collect(**options).require_refusal()
