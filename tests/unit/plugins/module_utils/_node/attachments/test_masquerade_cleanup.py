# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which masquerade rules go with an attachment, by what the tools print. The real rules are in tests/integration."""

from __future__ import annotations

import functools
import json
import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NODE_PATHS
from ansible_collections.cni.node.plugins.module_utils._base.workers import Workers
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._cni.record_store import RecordStore
from ansible_collections.cni.node.plugins.module_utils._cni.result import Result
from ansible_collections.cni.node.plugins.module_utils._node.attachments.del_leaks import remove_del_leaks
from ansible_collections.cni.node.plugins.module_utils._reference.rules import firewall_names
from ansible_collections.cni.node.tests.support.error_of import error_of

CHAIN = firewall_names.masquerade_chain("net", "blue")
RULE = f'-A POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \\"net\\" id: \\"blue\\"" -j {CHAIN}'
PLUGINS = [{"type": "bridge", "ipMasq": True}]
CONFIG = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": PLUGINS}).encode()


def record(*addresses: str, ifname: str = "eth0", netns: str = "/run/netns/blue") -> Record:
    """Return a record of blue; without addresses, an intent."""
    result = Result("1.0.0", {"cniVersion": "1.0.0", "ips": [{"address": address} for address in addresses]})
    return Record(Attachment("net", "blue", ifname, netns), CONFIG, result if addresses else None)


def remove_leaked_rules(record: Record, records: RecordStore) -> int:
    """Remove leaks as after a DEL that failed."""
    return remove_del_leaks(record, records, NODE_PATHS, is_deleted=False)


@pytest.fixture
def records(tmp_path: pathlib.Path) -> RecordStore:
    return RecordStore(str(tmp_path / "results"))


@pytest.fixture
def tool(program_dir: pathlib.Path) -> t.Callable[..., pathlib.Path]:
    """Return a function that writes a program, which adds its standard input to a file after a line for each run, and
    prints lines, on standard error if it fails."""

    def make(name: str, *lines: str, status: int = 0) -> pathlib.Path:
        path, stdin = program_dir / name, program_dir / f"{name}.told"
        printed = "\n".join(lines)
        path.write_text(
            f"#!/bin/sh\necho run >>{stdin}\n/bin/cat >>{stdin}\n/bin/cat >&{2 if status else 1} <<'END'\n{printed}\nEND\nexit {status}\n",
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
    assert f"-X {CHAIN}" in removed.read_text(encoding="utf-8")
    assert remove_leaked_rules(record("10.1.0.2/16"), records) == 1
    assert error_of(remove_leaked_rules, record("10.1.0.2/16", "fd00:1::2/64"), records).code == Code.IO_FAILURE
    tool("iptables-save", "can't initialize iptables table `nat': Table does not exist", status=3)
    assert remove_leaked_rules(record(), records) == 0


def test_del_fails_for_a_family_that_cannot_be_listed_if_the_addresses_are_not_known(
    tool: t.Callable[..., pathlib.Path], records: RecordStore
) -> None:
    tool("ip6tables-save", "socket: Too many open files", status=1)
    assert error_of(remove_leaked_rules, record(), records).code == Code.IO_FAILURE


def test_leaked_rules_stay_for_another_attachment_of_the_container_only(
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


def make_rule(container: str, *addresses: str) -> tuple[str, Record]:
    """Return the masquerade rule of another container, and its record."""
    chain = firewall_names.masquerade_chain("net", container)
    own = record(*addresses)
    attachment = own.attachment._replace(container_id=container)
    return RULE.replace("blue", container).replace(CHAIN, chain), own._replace(attachment=attachment)


def test_the_leaks_of_several_attachments_are_found_by_one_listing_and_removed_in_one_transaction(
    tool: t.Callable[..., pathlib.Path], records: RecordStore
) -> None:
    made = [make_rule(container, "10.1.0.2/16") for container in ("red", "green", "grey")]
    chains = [f":{rule.rpartition(' ')[2]} - [0:0]" for rule, dummy in made]
    listed = tool("iptables-save", "*nat", *chains, RULE, *(rule for rule, dummy in made), "COMMIT")
    removed = tool("iptables-restore")
    removals = [functools.partial(remove_leaked_rules, each, records) for dummy, each in made]
    Workers(1, len(removals)).run(t.cast("list[t.Callable[[], None]]", removals))
    assert listed.read_text(encoding="utf-8") == "run\n"
    written = removed.read_text(encoding="utf-8").splitlines()
    assert (written.count("run"), sum(line.startswith("-X") for line in written)) == (1, 3)
    assert {line for line in written if line.startswith("-D")} == {f"-D{rule[2:]}" for rule, dummy in made}


def test_a_leak_that_cannot_be_removed_is_the_error_of_its_attachment(
    tool: t.Callable[..., pathlib.Path], program_dir: pathlib.Path, records: RecordStore
) -> None:
    made = [make_rule(container, "10.1.0.2/16") for container in ("red", "green")]
    tool("iptables-save", "*nat", *(rule for rule, dummy in made), "COMMIT")
    script = "#!/bin/sh\n! /bin/grep -q green\n"
    (program_dir / "iptables-restore").write_text(script, encoding="utf-8")
    (program_dir / "iptables-restore").chmod(0o755)
    errors: dict[str, CniError | None] = {}

    def remove(each: Record) -> None:
        try:
            remove_leaked_rules(each, records)
            errors[each.attachment.container_id] = None
        except CniError as exc:
            errors[each.attachment.container_id] = exc

    Workers(1, 2).run([functools.partial(remove, each) for dummy, each in made])
    assert errors["red"] is None
    assert errors["green"] is not None
    assert errors["green"].code == Code.IO_FAILURE


def test_the_chain_of_a_container_to_which_no_rule_leads_is_removed_with_its_attachment(
    tool: t.Callable[..., pathlib.Path], records: RecordStore
) -> None:
    tool("iptables-save", "*nat", f":{CHAIN} - [0:0]", RULE.replace(CHAIN, "OTHER").replace("blue", "red"), "COMMIT")
    removed = tool("iptables-restore")
    assert remove_leaked_rules(record("10.1.0.2/16"), records) == 0
    assert removed.read_text(encoding="utf-8").splitlines() == ["run", "*nat", f"-F {CHAIN}", f"-X {CHAIN}", "COMMIT"]


def test_a_chain_that_is_not_a_containers_stays_when_a_leaked_rule_that_leads_to_it_is_removed(
    tool: t.Callable[..., pathlib.Path], records: RecordStore
) -> None:
    tool("iptables-save", "*nat", ":OTHER - [0:0]", RULE.replace(CHAIN, "OTHER"), "COMMIT")
    removed = tool("iptables-restore")
    assert remove_leaked_rules(record("10.1.0.2/16"), records) == 1
    written = removed.read_text(encoding="utf-8").splitlines()
    assert [line.partition(" ")[0] for line in written] == ["run", "*nat", "-D", "COMMIT"]
