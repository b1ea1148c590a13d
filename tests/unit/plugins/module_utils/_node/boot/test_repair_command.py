# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command of the program that repairs attachments: its lines and its exit status."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError, Code
from ansible_collections.cni.node.plugins.module_utils._base.node_paths import NodePaths
from ansible_collections.cni.node.plugins.module_utils._cni.attachment import Attachment
from ansible_collections.cni.node.plugins.module_utils._cni.record import Record
from ansible_collections.cni.node.plugins.module_utils._node.boot import main as boot_main
from ansible_collections.cni.node.plugins.module_utils._node.boot import repair_command
from ansible_collections.cni.node.plugins.module_utils._node.repair.node_repair import Selection
from ansible_collections.cni.node.plugins.module_utils._node.repair.repair_result import Repair, Resource

ERROR = CniError(Code.IO_FAILURE, "iptables-restore failed", "caf\udce9\x1b[2J\nmore")


def record(name: str) -> Record:
    return Record(Attachment("net", name, "eth0", f"/run/netns/{name}"), b"{}")


Answer = t.Callable[..., t.Any]


@pytest.fixture
def repair(program_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch, paths: NodePaths) -> t.Callable[..., int]:
    """Return a function that runs the command with these results; an exception is raised instead."""

    def run(*answers: Repair | CniError | Exception, arguments: t.Sequence[str] = ()) -> int:
        def repair_node(*given: t.Any, dry_run: bool) -> tuple[list[Repair], list[CniError]]:
            seen.append(given[3])
            for answer in answers:
                if isinstance(answer, Exception) and not isinstance(answer, CniError):
                    raise answer
            results = [answer for answer in answers if isinstance(answer, Repair)]
            return results, [answer for answer in answers if isinstance(answer, CniError)]

        monkeypatch.setattr(repair_command, "repair_node", repair_node)
        return boot_main.main(["repair", *arguments, "/var/lib/cni"], paths)

    return run


seen: list[Selection] = []


def test_only_repaired_and_failed_attachments_have_a_line(
    repair: t.Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "the masquerade rule of 10.1.0.2 is gone"
    status = repair(
        Repair(record("red"), (rule,), (), ("iptables -A x",)),
        Repair(record("green")),
        Repair(record("gone"), reason="its network namespace is gone"),
        Repair(record("blue"), (rule,), (rule,), error=ERROR),
    )
    assert status == 1
    assert capsys.readouterr().out.splitlines() == [
        f"repaired: the attachment of red (eth0) to network net: {rule}",
        "failed: the attachment of blue (eth0) to network net: iptables-restore failed; caf\\udce9\\x1b[2J; more",
    ]


def test_an_unreadable_record_has_a_line_and_does_not_fail_the_repair(
    repair: t.Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert repair(CniError(Code.DECODE_FAILURE, "/var/lib/cni/results/x is not JSON")) == 0
    assert capsys.readouterr().out == "not repaired: /var/lib/cni/results/x is not JSON\n"


def test_an_unexpected_error_is_a_line_and_no_traceback(
    repair: t.Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert repair(ValueError("never\nforeseen")) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("failed: unexpected ValueError: never; foreseen; in repair_node")


def test_options_select_networks_owners_and_resources(repair: t.Callable[..., int]) -> None:
    seen.clear()
    repair()
    repair(arguments=["--network", "a", "--network", "b", "--owner", "podman", "--resource", "rules"])
    assert seen == [Selection(), Selection(frozenset("ab"), frozenset(("podman",)), frozenset((Resource.RULES,)))]
