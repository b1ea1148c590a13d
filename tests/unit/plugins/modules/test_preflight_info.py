# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module preflight_info: what it returns for a node without a runtime, and for one that lacks something."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.cni.node.plugins.filter.preflight_table import preflight_table
from ansible_collections.cni.node.plugins.module_utils._module import preflight_info
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.recognition import FoundRuntime
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.rows import RUNTIMES
from ansible_collections.cni.node.plugins.module_utils._node.runtimes.runtime_settings import Configured
from ansible_collections.cni.node.tests.unit.plugins.modules.module_runner import ModuleExit, ModuleRunner

Look = t.Callable[..., ModuleExit]


@pytest.fixture
def look(run: ModuleRunner, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Look:
    """Return a function that runs the module on a node that has the named runtimes and nothing that they need."""
    rows = {runtime.name: runtime for runtime in RUNTIMES}

    def check(*names: str, **options: t.Any) -> ModuleExit:
        directories = Configured((str(tmp_path / "net.d"),)), Configured((str(tmp_path / "bin"),))
        found = [FoundRuntime(rows[name], "", {}, *directories) for name in names]
        monkeypatch.setattr(preflight_info, "find_runtimes", lambda dummy: found)
        return run("preflight_info", conf_dir=str(tmp_path / "net.d"), **options)

    return check


def test_a_node_without_a_runtime_has_nothing_to_check(look: Look) -> None:
    done = look().ok()
    assert (done["msg"], done["checks"], done["missing"]) == ("no container runtime found", [], 0)
    assert preflight_table({"node1": done}) == [
        "NODE   RUNTIME  STATE  WHAT                  NEEDED  FOUND",
        "node1  -        ok     no container runtime  -       -",
    ]


def test_a_node_that_could_not_be_read_is_not_taken_for_one_without_a_runtime() -> None:
    failed = {"failed": True, "msg": "/etc/crio: permission denied\nmore"}
    assert preflight_table({"node1": failed, "node2": {"unreachable": True, "msg": "timeout"}})[1:] == [
        "node1  -        missing  not read: /etc/crio: permission denied  -       -",
        "node2  -        missing  not reached: timeout                    -       -",
    ]


@pytest.mark.parametrize("results", [{"a": 1}, {"a": {"checks": 5}}, {"a": {"checks": [{}]}}], ids=str)
def test_results_of_another_form_are_refused_with_a_message(results: t.Any) -> None:
    with pytest.raises(
        AnsibleFilterError, match=r"preflight_table: a result has an unexpected form .*; expected results"
    ):
        preflight_table(results)


def test_a_requested_runtime_that_is_not_installed_is_missing(look: Look) -> None:
    done = look("podman", runtime="nomad").ok()
    (check,) = done["checks"]
    assert (check["runtime"], check["state"], done["missing"]) == ("nomad", "missing", 1)
    assert done["msg"].startswith(
        "nomad: 1 check, 1 missing, 0 warnings\nnomad: program: neither nomad nor its service"
    )
    assert [runtime["name"] for runtime in done["runtimes"]] == ["podman"]


def test_only_the_requested_runtime_is_checked(look: Look) -> None:
    done = look("nerdctl", "podman", runtime="podman").ok()
    assert {check["runtime"] for check in done["checks"]} == {"podman"}
    assert {check["runtime"] for check in look("nerdctl", "podman").ok()["checks"]} == {"nerdctl", "podman"}


def test_missing_requirements_come_first_and_each_line_says_what_to_do(look: Look) -> None:
    done = look("podman").ok()
    states = [line.split()[2] for line in preflight_table({"node1": done})[1:]]
    assert states == sorted(states, key=["missing", "warning", "ok"].index)
    first, *problems = done["msg"].splitlines()
    assert first.startswith(f"podman: {len(done['checks'])} checks, {done['missing']} missing, ")
    assert len(problems) == len([check for check in done["checks"] if check["state"] != "ok"])
    assert all("; " in problem for problem in problems)


def test_an_unknown_runtime_is_refused(look: Look) -> None:
    assert "value of runtime must be one of: apptainer, containerd" in look(runtime="docker").require_refusal()
