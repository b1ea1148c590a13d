# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._module import node_info
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner

SECTIONS = ["plugins", "releases", "networks", "attachments", "leases", "netns", "runtimes"]
Look = t.Callable[..., ModuleExit]


@pytest.fixture
def look(run: ModuleRunner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Look:
    """Return a function that runs the module on a node without runtimes, whatever this machine has."""
    monkeypatch.setattr(node_info, "find_runtimes", lambda dummy: [])
    places = {"conf_dir": "net.d", "cache_dir": "cache"}
    fixed = {**{key: str(tmp_path / name) for key, name in places.items()}, "plugin_dirs": [str(tmp_path / "bin")]}
    return lambda **options: run("node_info", **{**fixed, **options})


def test_an_empty_node_is_not_an_error(look: Look, tmp_path: pathlib.Path) -> None:
    for check_mode in (False, True):
        done = look(check_mode=check_mode).ok()
        assert (done["changed"], {name: done[name] for name in SECTIONS}) == (False, {name: [] for name in SECTIONS})
        assert done["msg"] == "0 plugins, 0 releases, 0 networks, 0 attachments, 0 leases, 0 netns, 0 runtimes"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("section", SECTIONS)
def test_unrequested_parts_are_not_returned_and_run_no_plugin(look: Look, tmp_path: pathlib.Path, section: str) -> None:
    plugins = ScriptedPlugins(tmp_path / "bin")
    plugins.write("lab")
    done = look(gather=[section]).ok()
    assert [name for name in SECTIONS if name in done] == [section]
    assert len(plugins.calls(command="VERSION")) == (section == "plugins")


def test_an_empty_subset_returns_nothing(look: Look) -> None:
    assert look(gather=[]).ok()["msg"] == "gather is empty"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "timeout: 0; expected: a number above 0"),
        (
            {"gather": ["routes"]},
            "value of gather must be one or more of: plugins, releases, networks, attachments, leases, netns, runtimes, links, findings, status",
        ),
    ],
)
def test_invalid_arguments_are_refused(look: Look, options: JsonObject, message: str) -> None:
    assert message in look(**options).require_refusal()


def test_a_broken_file_is_reported_as_data_and_hides_no_other(look: Look, tmp_path: pathlib.Path) -> None:
    for name in ("net.d/10-a.conflist", "cache/results/x-y-eth0", "cache/cni.node/intents/x-z-eth0"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"")
    done = look().ok()
    assert [entry["error"]["code"] for entry in (*done["networks"], *done["attachments"])] == [6, 6, 6]
    counted = "1 network (1 with an error), 2 attachments (2 with an error), 0 leases, 0 netns, 0 runtimes"
    assert done["msg"] == f"0 plugins, 0 releases, {counted}"


def test_files_and_their_findings_are_returned_if_requested(look: Look, tmp_path: pathlib.Path) -> None:
    (tmp_path / "net.d").mkdir()
    network = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "macvlan", "master": "nowhere0"}]}
    for name in ("10-net.conflist", "20-net.conflist"):
        (tmp_path / "net.d" / name).write_text(json.dumps(network), encoding="utf-8")
    (tmp_path / "net.d" / "30-broken.conflist").write_text("{", encoding="utf-8")
    done = look(gather=["findings"]).ok()
    assert sorted(finding["code"] for finding in done["findings"]) == [
        "broken-file",
        "missing-link",
        "shadowed-network",
    ]
    (file,) = done["configurations"]
    assert json.loads(base64.b64decode(file["content"])) == network
    assert done["msg"] == "3 findings"
