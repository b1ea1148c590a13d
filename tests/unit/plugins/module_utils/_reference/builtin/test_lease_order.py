# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An address is given back after its rules: as long as one may be there, the lease stays."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._linux.rules import rule_cache
from ansible_collections.cni.node.plugins.module_utils._reference.addresses import addressing
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from ansible_collections.cni.node.plugins.module_utils._reference.builtin.undo import Undo
from ansible_collections.cni.node.tests.support.error_of import error_of
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.memory_executor import MemoryExecutor, succeeds
from ansible_collections.cni.node.tests.unit.plugins.module_utils._cni.plugin.fake_plugin import RESULT, read_request

IPAM: JsonObject = {"ipam": {"type": "host-local"}}
GONE = Attachment("dbnet", "blue", "eth0", "/nothing")
PREVIOUS = {**RESULT.keys, "cniVersion": "1.1.0"}


@pytest.mark.parametrize(
    ("plugin_type", "key", "program"),
    [("bridge", "ipMasq", "iptables-save"), ("ptp", "ipMasq", "iptables-save"), ("bridge", "macspoofchk", "nft")],
)
def test_del_keeps_the_lease_if_the_firewall_cannot_be_listed(
    program_dir: pathlib.Path, plugin_type: str, key: str, program: str
) -> None:
    ipam = MemoryExecutor(**{"host-local": succeeds})
    request = read_request("DEL", GONE, ipam, type=plugin_type, **IPAM, **{key: True}, prevResult=PREVIOUS)
    tool = program_dir / program
    tool.write_text("#!/bin/sh\necho 'socket: Too many open files' >&2\nexit 1\n", encoding="utf-8")
    tool.chmod(0o755)
    plugin = registry.load(plugin_type)
    with rule_cache.keep():  # otherwise, the kernel has no such chain
        assert f"{program} " in error_of(plugin.delete, request).msg
    assert ipam.run("DEL") == []
    tool.unlink()
    plugin.delete(request)
    assert ipam.run("DEL") == [("DEL", "host-local")]


@pytest.mark.parametrize("rules_stay", [False, True])
def test_a_failed_add_keeps_the_lease_if_its_rules_cannot_be_removed(rules_stay: bool) -> None:
    def remove_rules() -> None:
        if rules_stay:
            raise CniError(Code.IO_FAILURE, "iptables-save failed")

    ipam = MemoryExecutor(**{"host-local": lambda call: PREVIOUS if call.command == "ADD" else None})
    undone: list[str] = []
    undo = Undo()
    undo.add(lambda: undone.append("link"))
    addressing.allocate(read_request("ADD", GONE, ipam, **IPAM), undo)
    undo.add(remove_rules)
    undo.__exit__(CniError, None, None)
    assert ipam.run("DEL") == ([] if rules_stay else [("DEL", "host-local")])
    assert undone == ["link"]
