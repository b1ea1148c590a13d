# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reference plugin library accepts the requests of the engine; each test runs its test double."""

from __future__ import annotations

import dataclasses
import pathlib
import shutil

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.config import NetworkConfiguration
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.tests.conformance.conformance_node import VERSIONS, ConformanceNode
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.support.noop import INJECT_DNS, PASSTHROUGH, DebugFile

SPOKEN = VERSIONS[:-1]
RESULT: JsonObject = {"interfaces": [{"name": "eth0"}], "ips": [{"address": "10.1.0.5/16", "interface": 0}]}


@dataclasses.dataclass(frozen=True)
class Noop:
    """The test double under two names, each with a debug file."""

    node: ConformanceNode
    first: DebugFile
    second: DebugFile

    def network(self, version: str, **keys: object) -> NetworkConfiguration:
        plugins: list[str | JsonObject] = [
            {"type": f"noop{number}", "debugFile": str(debug.path)}
            for number, debug in enumerate((self.first, self.second))
        ]
        return self.node.network(*plugins, version=version, **keys)

    def limit_versions(self, *versions: str) -> None:
        """Limit the first plugin to these versions. A wrapper sets CNI_ARGS, from which the plugin reads them at VERSION too."""
        self.first.write(result="{}", versions=versions)
        program = self.node.plugins.path / "noop0"
        program.rename(program.with_name("told"))
        program.write_text(
            f"#!/bin/sh\nCNI_ARGS='DEBUG={self.first.path}' exec '{program.with_name('told')}'\n", encoding="utf-8"
        )
        program.chmod(0o755)

    def add(self, version: str) -> Result:
        return self.node.runtime.add(self.network(version), self.node.attachment())

    def print_empty_results(self) -> None:
        """Make both plugins print an empty object from now on."""
        self.first.write(result="{}")
        self.second.write(result="{}")


@pytest.fixture
def two_noops(node: ConformanceNode, noop: pathlib.Path) -> Noop:
    for number in range(2):
        shutil.copy(noop, node.plugins.path / f"noop{number}")
    made = Noop(node, DebugFile(node.directory / "first"), DebugFile(node.directory / "second"))
    made.print_empty_results()
    made.second.write(result=PASSTHROUGH)
    return made


def form(version: str) -> JsonObject:
    """Return the result as a plugin prints it in a version."""
    if version in ("0.1.0", "0.2.0"):
        return {"cniVersion": version, "ip4": {"ip": "10.1.0.5/16"}}
    numbered = {"version": "4"} if version < "1" else {}
    return {"cniVersion": version, **RESULT, "ips": [{**RESULT["ips"][0], **numbered}]}


@pytest.mark.parametrize("version", SPOKEN)
def test_the_reference_plugin_accepts_add_check_and_del_at_every_version(two_noops: Noop, version: str) -> None:
    two_noops.first.write(result=form(version))
    two_noops.add(version)
    two_noops.print_empty_results()
    two_noops.node.runtime.check(two_noops.node.record())
    two_noops.print_empty_results()
    two_noops.node.runtime.delete(two_noops.node.record())
    assert two_noops.node.records_and_intents() == ([], [])


@pytest.mark.parametrize("command", ["ADD", "CHECK", "DEL"])
def test_the_reference_plugin_gets_all_parameters(two_noops: Noop, command: str) -> None:
    attachment = two_noops.node.attachment(args={"IgnoreUnknown": "1", "K": "V"})
    two_noops.node.runtime.add(two_noops.network("1.0.0"), attachment)
    if command != "ADD":
        two_noops.print_empty_results()
        getattr(two_noops.node.runtime, {"CHECK": "check", "DEL": "delete"}[command])(two_noops.node.record())
    sent = two_noops.second.sent()
    assert sent is not None
    assert (sent.command, sent.container_id, sent.ifname) == (command, "blue", "eth0")
    assert (sent.netns, sent.args, sent.path) == (
        attachment.netns,
        "IgnoreUnknown=1;K=V",
        str(two_noops.node.plugins.path),
    )


@pytest.mark.parametrize("version", SPOKEN)
def test_the_reference_plugin_reads_a_previous_result_of_its_version(two_noops: Noop, version: str) -> None:
    two_noops.first.write(result=form(version))
    two_noops.second.write(result=INJECT_DNS)
    final = two_noops.add(version)
    assert final.keys["dns"] == {"nameservers": ["1.2.3.4"]}
    assert {**final.keys, "dns": None} == {**form(version), "dns": None}


@pytest.mark.parametrize("own", SPOKEN)
def test_the_reference_plugin_reads_a_converted_previous_result_differs_from_libcni(two_noops: Noop, own: str) -> None:
    two_noops.first.write(result=form(own))
    assert two_noops.add("1.0.0").keys["ips"][0]["address"] == "10.1.0.5/16"
    sent = two_noops.second.sent()
    assert sent is not None
    assert sent.request["prevResult"]["cniVersion"] == "1.0.0"


def test_interface_0_is_kept_by_the_reference_plugin(two_noops: Noop) -> None:
    two_noops.first.write(result=form("1.0.0"))
    assert two_noops.add("1.0.0").keys["ips"][0]["interface"] == 0


def test_the_error_of_the_reference_plugin_names_the_missing_parameter(two_noops: Noop) -> None:
    error = error_of(two_noops.node.runtime.add, two_noops.network("1.0.0"), Attachment("net", "blue", "eth0"))
    assert (error.code, "required env variables [CNI_NETNS] missing" in error.msg) == (Code.INVALID_ENVIRONMENT, True)


def test_the_reference_plugin_accepts_a_del_without_a_namespace(two_noops: Noop) -> None:
    two_noops.add("1.0.0")
    two_noops.print_empty_results()
    two_noops.node.netns().unlink()
    two_noops.node.runtime.delete(two_noops.node.record())
    assert two_noops.node.records_and_intents() == ([], [])


def test_an_unsupported_version_gives_the_plugins_error(two_noops: Noop) -> None:
    two_noops.limit_versions(*SPOKEN)
    error = error_of(two_noops.add, "1.1.0")
    assert (error.code, "incompatible CNI versions" in error.msg) == (Code.INCOMPATIBLE_VERSION, True)
    assert 'config is "1.1.0"' in error.details


def test_the_versions_of_the_reference_plugin_limit_the_selected_version_differs_from_libcni(two_noops: Noop) -> None:
    two_noops.limit_versions(*SPOKEN)
    network = two_noops.network("0.4.0", cniVersions=["1.0.0", "1.1.0"])
    assert two_noops.node.runtime.add(network, two_noops.node.attachment()).version == "1.0.0"
    assert two_noops.node.runtime.versions.get_supported("noop0")[-1] == "1.0.0"


def test_an_error_of_the_plugin_is_reported_and_add_is_rolled_back(two_noops: Noop) -> None:
    two_noops.second.write(error="banana", stderr="slipped\n")
    error = error_of(two_noops.add, "1.0.0")
    assert isinstance(error, CniError)
    assert (error.code, error.msg) == (Code.INTERNAL, "plugin noop1 failed (ADD): banana")
    first = two_noops.first.sent()
    assert first is not None
    assert first.command == "DEL"


def test_an_exit_status_without_output_is_reported(two_noops: Noop) -> None:
    two_noops.first.write(exit_code=5)
    assert error_of(two_noops.add, "1.0.0").msg == "plugin noop0 failed (ADD): exit status 5"
