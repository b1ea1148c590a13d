# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every plugin of a network is probed once, including the plugins that other plugins run."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.module_utils._cni.execute import ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._node.conflists.plugin_checks import PluginProbe
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.executor import MISSING, BuiltinExecutor
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins


@pytest.fixture
def plugins(tmp_path: pathlib.Path) -> ScriptedPlugins:
    directory = ScriptedPlugins(tmp_path)
    directory.write("lab")
    directory.write("old", versions=["0.3.1", "0.4.0"])
    directory.write("new", versions=["1.0.0", "1.1.0"])
    directory.write("bad", VERSION=ScriptedAnswer(stdout="hello", exit=3))
    (tmp_path / "text").write_bytes(b"")
    return directory


def find_codes(plugins: ScriptedPlugins, *configured: JsonObject, check_mode: bool = False, **keys: t.Any) -> list[str]:
    given = {"cniVersion": "1.0.0", "name": "net", "plugins": configured, **keys}
    network = config.parse(json.dumps(given).encode(), "net.conflist")
    probe = PluginProbe(ProcessExecutor([str(plugins.path)], 60), tolerate_missing=check_mode)
    return [f"{finding.severity} {finding.code} {finding.path}" for finding in probe.check(network)]


def test_a_working_plugin_is_probed_once(plugins: ScriptedPlugins) -> None:
    assert find_codes(plugins, {"type": "lab", "ipam": {"type": "lab"}}, {"type": "lab"}, {"type": "new"}) == []
    assert len(plugins.calls("lab", "VERSION")) == 1


def test_a_failing_plugin_is_probed_once(plugins: ScriptedPlugins) -> None:
    assert len(find_codes(plugins, {"type": "bad"}, {"type": "bad"})) == 2
    assert len(plugins.calls("bad", "VERSION")) == 1


FAULTS: t.Final[dict[str, tuple[JsonObject, list[str]]]] = {
    "missing": ({"type": "none"}, ["error missing-plugin /plugins/0/type"]),
    "no executable": ({"type": "text"}, ["error missing-plugin /plugins/0/type"]),
    "IPAM": ({"type": "lab", "ipam": {"type": "none"}}, ["error missing-plugin /plugins/0/ipam/type"]),
    "broken": ({"type": "bad"}, ["error broken-plugin /plugins/0/type"]),
    "another version": ({"type": "old"}, ["error incompatible-plugin /plugins/0/type"]),
    "both": (
        {"type": "bad", "ipam": {"type": "old"}},
        ["error broken-plugin /plugins/0/type", "error incompatible-plugin /plugins/0/ipam/type"],
    ),
    "flannel's": (
        {"type": "flannel", "delegate": {"type": "old"}},
        [
            "error missing-plugin /plugins/0/type",
            "error missing-plugin /plugins/0/ipam",
            "error incompatible-plugin /plugins/0/delegate/type",
        ],
    ),
    "flannel's own": (
        {"type": "flannel", "ipam": {"type": "lab"}},
        ["error missing-plugin /plugins/0/type", "error missing-plugin /plugins/0/delegate/type"],
    ),
    "of Multus": (
        {
            "type": "multus",
            "delegates": [
                {"type": "none", "ipam": {"type": "lab"}},
                {"cniVersion": "0.4.0", "plugins": [{"type": "old"}, {"type": "new"}]},
                7,
            ],
        },
        [
            "error missing-plugin /plugins/0/type",
            "error missing-plugin /plugins/0/delegates/0/type",
            "error incompatible-plugin /plugins/0/delegates/1/plugins/1/type",
        ],
    ),
}


@pytest.mark.parametrize(("plugin", "expected"), FAULTS.values(), ids=FAULTS)
def test_all_plugin_findings_are_reported_at_once(
    plugins: ScriptedPlugins, plugin: JsonObject, expected: list[str]
) -> None:
    assert find_codes(plugins, plugin) == expected


def test_a_finding_of_a_single_plugin_points_to_the_document(plugins: ScriptedPlugins) -> None:
    given = {"cniVersion": "0.4.0", "name": "net", "type": "none"}
    network = config.parse(json.dumps(given).encode(), "net.conf")
    probe = PluginProbe(ProcessExecutor([str(plugins.path)], 60), tolerate_missing=False)
    assert [finding.path for finding in probe.check(network)] == ["/type"]


def test_plugins_need_a_version_in_common(plugins: ScriptedPlugins) -> None:
    both = [{"type": "old"}, {"type": "new"}]
    assert find_codes(plugins, *both, cniVersions=["0.4.0", "1.1.0"]) == ["error incompatible-plugin /cniVersions"]
    assert find_codes(plugins, both[0], {"type": "lab"}, cniVersions=["0.4.0", "1.1.0"]) == []


def test_check_mode_tolerates_a_missing_plugin(plugins: ScriptedPlugins) -> None:
    assert find_codes(plugins, {"type": "none"}, {"type": "bad"}, check_mode=True) == [
        "warning missing-plugin /plugins/0/type",
        "error broken-plugin /plugins/1/type",
    ]


def test_an_executable_needs_its_ipam_plugin_as_an_executable(plugins: ScriptedPlugins) -> None:
    executor = BuiltinExecutor(ProcessExecutor([str(plugins.path)], 60), MISSING)
    given = {"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "lab", "ipam": {"type": "host-local"}}]}
    network = config.parse(json.dumps(given).encode(), "net.conflist")
    (finding,) = PluginProbe(executor, tolerate_missing=False).check(network)
    assert (finding.code, finding.path) == ("missing-plugin", "/plugins/0/ipam/type")
    assert "cannot run the built-in one" in finding.message
