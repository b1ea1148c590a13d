# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages a node gets for what it lacks."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.json_text import JsonObject

pytest.importorskip("ansible.plugins.action", reason="there is no controller here: install ansible-core")

import ansible
from ansible.errors import AnsibleActionFail
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.cni.node.plugins.action.repair import ActionModule as RepairAction
from ansible_collections.cni.node.plugins.plugin_utils._packages import PackagesAction

pytestmark = pytest.mark.skipif(ansible.__version__ < "2.16", reason="the controller needs ansible-core 2.16 or newer")

PROGRAMS, LIBRARIES = ("ip6tables", "iptables", "nft"), ("pyroute2",)
DONE: JsonObject = {"changed": False, "diff": [], "msg": "done"}


class Node(PackagesAction):
    """A node with a package manager.

    Attributes:
        asked: The packages of each request.
        facts: Those of the host of the inventory.
        installed: Packages that it has already.
        unknown: Packages that it refuses.
        knows_after_update: Whether it knows them once it has updated its lists.
        is_offline: Whether it cannot update its lists.
        task: The task of the action.
    """

    def __init__(self, packages: object, family: str = "Debian", *, check_mode: bool = False) -> None:
        task: t.Any = types.SimpleNamespace(args={"packages": packages}, check_mode=check_mode, delegate_to=None)
        self.task = task
        nothing = t.cast("t.Any", None)
        super().__init__(task, nothing, nothing, nothing, nothing, None)
        self.asked: list[list[str]] = []
        self.installed: set[str] = set()
        self.unknown: set[str] = set()
        self.knows_after_update = self.is_offline = False
        self.facts: JsonObject = {}
        self._family = family

    def ask(self, programs: t.Sequence[str] = PROGRAMS, libraries: t.Sequence[str] = LIBRARIES) -> JsonObject:
        self.require_packages()
        return self.complete(DONE, programs, libraries, {"ansible_facts": self.facts})

    def forget_answers(self, variables: JsonObject) -> None:
        pass

    def _run_package(self, packages: list[str], task_vars: JsonObject) -> JsonObject:
        self.asked.append(packages)
        if self.unknown & {*packages}:
            return {"failed": True, "msg": "no such package"}
        return {"changed": not self.installed >= {*packages}}

    def _execute_module(self, *arguments: t.Any, **keywords: t.Any) -> JsonObject:
        if keywords["module_name"] == "ansible.builtin.setup":
            return {"ansible_facts": {"ansible_os_family": self._family}}
        assert keywords["module_name"] == "ansible.builtin.apt"
        if self.is_offline:
            return {"failed": True, "msg": "the lists are out of reach"}
        self.unknown = set() if self.knows_after_update else self.unknown
        return {}


class Repair(RepairAction):
    """The action of the module repair on a node without packages."""

    def complete(self, *arguments: t.Any) -> JsonObject:
        return Node(True).complete(*arguments)


@pytest.mark.parametrize(
    ("family", "packages"),
    [
        ("Debian", ["iptables", "nftables", "python3-pyroute2"]),
        ("RedHat", ["iptables-nft", "nftables", "python3-pyroute2"]),
        ("Alpine", ["iptables", "nftables", "py3-pyroute2"]),
        ("Archlinux", ["iptables", "nftables", "python3-pyroute2"]),
    ],
)
def test_packages_have_the_names_of_the_distribution(family: str, packages: list[str]) -> None:
    node = Node("on", family)
    result = node.ask()
    assert (result["packages"], result["changed"]) == (packages, True)
    assert result["msg"] == f"done; installed: {', '.join(packages)}"
    assert [name for packages in node.asked for name in packages] == packages


@pytest.mark.parametrize(
    ("delegate_to", "package"), [(None, "py3-pyroute2"), ("other", "python3-pyroute2")], ids=["own", "delegated"]
)
def test_the_facts_of_the_host_name_packages_unless_the_task_is_delegated(delegate_to: object, package: str) -> None:
    node = Node(True, "Debian")
    node.facts = {"os_family": "Alpine"}
    node.task.delegate_to = delegate_to
    assert node.ask(programs=())["packages"] == [package]


@pytest.mark.parametrize(
    ("given", "packages"),
    [("Programs", ["iptables", "nftables"]), (["a", "b"], ["a", "b"]), ("a\nb", ["a", "b"]), ("a", ["a"])],
)
def test_libraries_are_left_out_on_request(given: object, packages: list[str]) -> None:
    assert Node(given).ask()["packages"] == packages
    assert Node(given).ask(programs=()) == DONE


@pytest.mark.parametrize("given", [None, False, "no", "false", "Off", "n", 0, [], ""])
def test_packages_are_installed_only_on_request(given: object) -> None:
    node = Node(given)
    assert node.ask() == {**DONE, "msg": "done; not installed: ip6tables, iptables, nft"}
    assert node.asked == []


@pytest.mark.parametrize("given", [{"nft": "nftables"}, 7])
def test_a_value_that_is_not_a_flag_or_a_list_is_refused(given: object) -> None:
    with pytest.raises(AnsibleActionFail, match="expected: true, false, programs, or a list"):
        Node(given).ask()


def test_installed_packages_are_unchanged() -> None:
    """Another interpreter, or another search path of programs, does not find it."""
    node = Node(True)
    node.installed = {"iptables", "nftables", "python3-pyroute2"}
    assert node.ask() == {**DONE, "msg": "done; not installed: ip6tables, iptables, nft"}


def test_a_program_without_a_package_is_an_error_and_a_library_without_one_is_a_warning() -> None:
    node = Node(True)
    node.unknown = {"python3-pyroute2"}
    result = node.ask()
    assert (result["packages"], "failed" in result) == (["iptables", "nftables"], False)
    assert "rate limits can be neither written nor repaired, because python3-pyroute2" in result["warnings"][0]
    node.unknown = {"nftables"}
    result = node.ask()
    assert result["failed"]
    expected = "packages iptables, nftables, for ip6tables, iptables, nft, could not be installed; no such package"
    assert result["msg"] == expected


def test_lists_of_packages_are_updated_if_they_lack_one() -> None:
    node = Node(True)
    node.unknown, node.knows_after_update = {"nftables"}, True
    assert node.ask()["packages"] == ["iptables", "nftables", "python3-pyroute2"]
    assert node.asked == [["iptables", "nftables"]] * 2 + [["python3-pyroute2"]]


def test_the_error_of_an_update_of_lists_is_shown() -> None:
    node = Node(True)
    node.unknown, node.is_offline = {"nftables"}, True
    assert node.ask()["msg"].endswith("could not be installed; the lists are out of reach")


def test_a_repair_that_installed_a_library_runs_again_and_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [{**DONE, "msg": "1 drifted", "missing_libraries": ["pyroute2"]}, {**DONE, "msg": "1 repaired"}]
    monkeypatch.setattr(NormalAction, "run", lambda *dummies: answers.pop(0))
    nothing = t.cast("t.Any", None)
    task: t.Any = types.SimpleNamespace(args={"packages": True}, check_mode=False, get_play=nothing)
    repair = Repair(task, nothing, nothing, nothing, nothing, None)
    repaired = repair.run(task_vars={})
    assert (repaired["msg"], repaired["changed"]) == ("1 repaired; installed: python3-pyroute2", True)
    assert repaired["packages"] == repaired["diff"][-1]["after"]["packages"] == ["python3-pyroute2"]


def test_check_mode_predicts_programs_without_the_lists_of_packages() -> None:
    node = Node(True, check_mode=True)
    node.unknown = {"nftables", "python3-pyroute2"}
    result = node.ask()
    assert result["packages"] == ["iptables", "nftables"]
    assert result["msg"] == "done; would be installed: iptables, nftables"
