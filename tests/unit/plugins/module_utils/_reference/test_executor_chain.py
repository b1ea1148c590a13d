# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.execute import Parameters
from ansible_collections.cni.node.plugins.module_utils._reference import executor_chain
from ansible_collections.cni.node.plugins.module_utils._reference.executor_chain import DefectTolerance, make_executor
from ansible_collections.cni.node.tests.support.scripted_plugins import ScriptedAnswer, ScriptedPlugins
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import (
    MemoryCall,
    MemoryExecutor,
    fails_at,
    succeeds,
)

ATTACHMENT = Attachment("net", "blue", "eth0", netns="/run/netns/blue")
DEL = Parameters("DEL", ATTACHMENT)
DEL_WITHOUT_NETNS = Parameters("DEL", ATTACHMENT.with_netns(""))
REQUEST = json.dumps({"type": "host-device", "ipam": {"type": "host-local"}}).encode()


def finds_no_interface(call: MemoryCall) -> CniError:
    return CniError(Code.UNKNOWN, 'failed to find "eth0": Link not found')


def test_del_of_sbr_succeeds_without_a_netns() -> None:
    memory = MemoryExecutor(sbr=fails_at("DEL"))
    assert DefectTolerance(memory).execute("sbr", b"{}", DEL_WITHOUT_NETNS) == b""
    assert memory.calls == []


@pytest.mark.parametrize("parameters", [DEL, Parameters("ADD", ATTACHMENT.with_netns("")), Parameters("VERSION")])
def test_del_of_sbr_runs_the_plugin_if_the_netns_exists(parameters: Parameters) -> None:
    memory = MemoryExecutor(sbr=succeeds)
    DefectTolerance(memory).execute("sbr", b"{}", parameters)
    assert memory.run() == [(parameters.command, "sbr")]


def test_del_of_host_device_without_a_netns_runs_its_ipam_plugin() -> None:
    memory = MemoryExecutor(**{"host-device": succeeds, "host-local": succeeds})
    DefectTolerance(memory).execute("host-device", REQUEST, DEL_WITHOUT_NETNS)
    assert memory.run() == [("DEL", "host-local")]


def test_del_of_host_device_without_its_interface_runs_its_ipam_plugin() -> None:
    memory = MemoryExecutor(**{"host-device": finds_no_interface, "host-local": succeeds})
    DefectTolerance(memory).execute("host-device", REQUEST, DEL)
    assert memory.run() == [("DEL", "host-device"), ("DEL", "host-local")]


def test_del_of_host_device_without_an_ipam_plugin_succeeds() -> None:
    assert DefectTolerance(MemoryExecutor()).execute("host-device", b"{}", DEL_WITHOUT_NETNS) == b""


def test_other_failures_of_host_device_are_raised() -> None:
    memory = MemoryExecutor(**{"host-device": fails_at("DEL"), "host-local": succeeds})
    with pytest.raises(CniError):
        DefectTolerance(memory).execute("host-device", REQUEST, DEL)
    assert memory.run() == [("DEL", "host-device")]


def test_the_chain_reports_a_missing_plugin(tmp_path: pathlib.Path) -> None:
    with pytest.raises(CniError, match="not installed"):
        make_executor([str(tmp_path)], 30, builtin="never").require("sbr")


def test_the_chain_tolerates_defects_and_measures_time(tmp_path: pathlib.Path) -> None:
    plugins = ScriptedPlugins(tmp_path)
    plugins.write("sbr", DEL=ScriptedAnswer(exit=1))
    chain = make_executor([str(plugins.path)], 30)
    assert chain.execute("sbr", b"{}", DEL_WITHOUT_NETNS) == b""
    with pytest.raises(CniError):
        chain.execute("sbr", b"{}", DEL)
    assert [(call.type, call.command, call.attachment) for call in chain.calls] == [("sbr", "DEL", ATTACHMENT.key)] * 2


def test_only_the_factory_makes_process_executors() -> None:
    plugins = pathlib.Path(executor_chain.__file__).parents[2]
    users = [path for path in plugins.rglob("*.py") if "ProcessExecutor(" in path.read_text(encoding="utf-8")]
    # An executable that is built in has no factory of its own: nothing wraps what it delegates to.
    assert sorted(path.name for path in users) == ["executor_chain.py", "program.py"]
