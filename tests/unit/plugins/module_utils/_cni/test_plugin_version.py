# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni import config, plugin_version
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.execute import ProcessExecutor
from ansible_collections.cni.node.plugins.module_utils._cni.plugin_version import PluginVersions
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.documents import encode
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryExecutor,
    succeeds,
    supports,
)


def network(*versions: str, ipam: str = "") -> NetworkConfiguration:
    delegated = {"ipam": {"type": ipam}} if ipam else {}
    plugins = [{"type": "a", **delegated}, {"type": "b"}]
    return config.parse(encode({"name": "n", "cniVersions": list(versions), "plugins": plugins}), "10-n.conflist")


def test_the_highest_version_that_all_support_is_selected() -> None:
    versions = PluginVersions(
        MemoryExecutor(a=supports("0.4.0", "1.0.0", "1.1.0"), b=supports("0.3.1", "0.4.0", "1.0.0"))
    )
    assert versions.select(network("0.3.1", "0.4.0", "1.0.0", "1.1.0")) == "1.0.0"


def test_versions_of_delegated_plugins_limit_the_selected_version() -> None:
    executor = MemoryExecutor(a=succeeds, b=succeeds, ipam=supports("0.4.0"))
    assert PluginVersions(executor).select(network("0.4.0", "1.0.0", ipam="ipam")) == "0.4.0"


def test_no_plugin_is_probed_if_only_one_version_is_possible() -> None:
    executor = MemoryExecutor(a=supports("0.4.0"), b=supports("0.4.0"))
    assert PluginVersions(executor).select(network("1.0.0")) == "1.0.0"
    assert executor.calls == []


def test_a_required_probe_runs_even_for_one_possible_version() -> None:
    executor = MemoryExecutor(a=succeeds, b=supports("0.4.0"))
    assert error_of(PluginVersions(executor).require, network("1.0.0")).code == Code.INCOMPATIBLE_VERSION


def test_without_a_common_version_the_error_lists_the_versions_of_each_plugin() -> None:
    error = error_of(
        PluginVersions(MemoryExecutor(a=supports("0.3.1"), b=supports("1.0.0"))).select, network("0.3.1", "1.0.0")
    )
    assert error.code == Code.INCOMPATIBLE_VERSION
    assert error.msg == "10-n.conflist: no version of 0.3.1, 1.0.0 is supported by every plugin"
    assert error.details.splitlines() == ["a supports 0.3.1", "b supports 1.0.0"]


def test_the_versions_of_a_plugin_are_cached() -> None:
    executor = MemoryExecutor(a=succeeds, b=succeeds)
    versions = PluginVersions(executor)
    for dummy in range(3):
        versions.select(network("0.4.0", "1.0.0"))
    assert executor.run() == [("VERSION", "a"), ("VERSION", "b")]


def test_a_replaced_plugin_is_probed_again(tmp_path: pathlib.Path) -> None:
    versions = PluginVersions(ProcessExecutor([str(tmp_path)], 30))
    for own in ("0.4.0", "1.0.0"):
        new = tmp_path / "new"
        new.write_text(
            f"""#!/bin/sh\necho '{{"cniVersion": "1.1.0", "supportedVersions": ["{own}"]}}'\n""", encoding="utf-8"
        )
        new.chmod(0o755)
        new.replace(tmp_path / "plugin")
        assert versions.get_supported("plugin") == (own,)


def test_a_version_that_the_engine_does_not_know_is_ignored() -> None:
    assert PluginVersions(MemoryExecutor(a=supports("0.-42.0", "1.0.0", "2.0.0"))).get_supported("a") == (
        "0.-42.0",
        "1.0.0",
        "2.0.0",
    )


@pytest.mark.parametrize(
    "msg", ["unknown CNI_COMMAND: VERSION", "plugin a failed (VERSION): unknown CNI_COMMAND: VERSION"]
)
def test_a_plugin_that_does_not_know_the_command_is_of_0_1_0(msg: str) -> None:
    assert PluginVersions(MemoryExecutor(a=lambda call: CniError(4, msg))).get_supported("a") == ("0.1.0",)


def test_a_failed_probe_is_an_error_and_is_not_cached() -> None:
    executor = MemoryExecutor(a=lambda call: CniError(5, "no disk"))
    versions = PluginVersions(executor)
    assert error_of(versions.get_supported, "a").msg == "no disk"
    executor.plugins["a"] = supports("1.0.0")
    assert versions.get_supported("a") == ("1.0.0",)


def test_a_missing_plugin_is_an_error() -> None:
    assert error_of(PluginVersions(MemoryExecutor()).get_supported, "a").code == Code.INVALID_CONFIG


@pytest.mark.parametrize(
    ("answer", "versions"),
    [
        ({"cniVersion": "1.1.0", "supportedVersions": ["0.4.0", "1.0.0"]}, ("0.4.0", "1.0.0")),
        ({"supportedVersions": ["1.0.0"]}, ("1.0.0",)),
        ({"cniVersion": "0.2.0"}, ("0.1.0", "0.2.0")),
        ({"cniVersion": "0.2.0", "supportedVersions": []}, ("0.1.0", "0.2.0")),
    ],
)
def test_a_version_result_is_read(answer: object, versions: tuple[str, ...]) -> None:
    assert plugin_version.decode(encode(answer), "the answer") == versions


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        {"cniVersion": "1.0.0"},
        {"supportedVersions": []},
        {"supportedVersions": "1.0.0"},
        {"supportedVersions": [1]},
    ],
)
def test_an_invalid_version_result_is_refused(answer: object) -> None:
    error = error_of(plugin_version.decode, encode(answer), "the answer of plugin a to VERSION")
    assert error.code == Code.DECODE_FAILURE
    assert error.msg.startswith("the answer of plugin a to VERSION")
