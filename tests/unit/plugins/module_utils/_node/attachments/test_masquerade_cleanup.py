# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which masquerade rules go with an attachment, by what the tools print. The real rules are in tests/integration."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import Code
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node.attachments.del_leaks import remove_leaked_rules
from ansible_collections.cni.node.plugins.module_utils._reference import firewall_names
from ansible_collections.cni.node.tests.support.error_of import error_of

CHAIN = firewall_names.masquerade_chain("net", "blue")
RULE = f'-A POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \\"net\\" id: \\"blue\\"" -j {CHAIN}'
PLUGINS = [{"type": "bridge", "ipMasq": True}]
CONFIG = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": PLUGINS}).encode()


def record(*addresses: str, ifname: str = "eth0", netns: str = "/run/netns/blue") -> Record:
    """Return a record of blue; without addresses, an intent."""
    result = Result("1.0.0", {"cniVersion": "1.0.0", "ips": [{"address": address} for address in addresses]})
    return Record(Attachment("net", "blue", ifname, netns), CONFIG, result if addresses else None)


@pytest.fixture
def records(tmp_path: pathlib.Path) -> RecordStore:
    return RecordStore(str(tmp_path / "results"))


@pytest.fixture
def tool(program_dir: pathlib.Path) -> t.Callable[..., pathlib.Path]:
    """Return a function that writes a program, which keeps its standard input in a file and prints lines,
    on standard error if it fails."""

    def make(name: str, *lines: str, status: int = 0) -> pathlib.Path:
        path, stdin = program_dir / name, program_dir / f"{name}.told"
        printed = "\n".join(lines)
        path.write_text(
            f"#!/bin/sh\n/bin/cat >{stdin}\n/bin/cat >&{2 if status else 1} <<'END'\n{printed}\nEND\nexit {status}\n",
            encoding="utf-8",
        )
        path.chmod(0o755)
        return stdin

    return make


def test_del_fails_for_a_family_that_the_node_lacks_only_if_the_attachment_has_addresses_of_it(
    tool: t.Callable[..., pathlib.Path], records: RecordStore
) -> None:
    tool("iptables-save", "*nat", f":{CHAIN} - [0:0]", RULE, "COMMIT")
    removed = tool("iptables-restore")
    tool("ip6tables-save", "can't initialize ip6tables table `nat': Table does not exist", status=3)
    assert remove_leaked_rules(record(), records) == 1
    assert f'"-X" "{CHAIN}"' in removed.read_text(encoding="utf-8")
    assert remove_leaked_rules(record("10.1.0.2/16"), records) == 1
    assert error_of(remove_leaked_rules, record("10.1.0.2/16", "fd00:1::2/64"), records).code == Code.IO_FAILURE
    tool("iptables-save", "can't initialize iptables table `nat': Table does not exist", status=3)
    assert remove_leaked_rules(record(), records) == 0


def test_del_fails_for_a_family_that_cannot_be_listed_if_the_addresses_are_not_known(
    tool: t.Callable[..., pathlib.Path], records: RecordStore
) -> None:
    tool("ip6tables-save", "socket: Too many open files", status=1)
    assert error_of(remove_leaked_rules, record(), records).code == Code.IO_FAILURE


def test_an_attachment_does_not_keep_its_own_rules_and_another_of_the_container_does(
    tool: t.Callable[..., pathlib.Path], records: RecordStore
) -> None:
    """The attachment's own record is recognized even without a network namespace, as libcni before 1.2.0 wrote it."""
    tool("iptables-save", "*nat", f":{CHAIN} - [0:0]", RULE, "COMMIT")
    tool("iptables-restore")
    own = record("10.1.0.2/16")
    records.write(own._replace(attachment=own.attachment.with_netns("")))
    assert remove_leaked_rules(own, records) == 1
    records.write(record("10.1.0.2/16", ifname="eth1"))
    assert remove_leaked_rules(own, records) == 0
