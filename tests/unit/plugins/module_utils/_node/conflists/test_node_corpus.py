# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every code of level node: at least five broken cases, and good cases that only look broken."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.finding import CODES, NODE
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists import (
    access_cases,
    address_cases,
    bridge_cases,
    file_cases,
    link_cases,
    plugin_cases,
    route_cases,
    runtime_cases,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.access_cases import AccessCase
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import NodeCase, check
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.plugin_cases import PluginCase
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.runtime_cases import RuntimeCase

C = t.TypeVar("C")
OF_NODES: t.Final = (link_cases, address_cases, bridge_cases, route_cases, file_cases)
BROKEN: t.Final = {code: cases for table in OF_NODES for code, cases in table.BROKEN.items()}
FINE: t.Final = {code: cases for table in OF_NODES for code, cases in table.FINE.items()}


def name_cases(tables: t.Mapping[str, t.Mapping[str, C]]) -> list[t.Any]:
    return [pytest.param(case, id=f"{code}: {name}") for code, cases in tables.items() for name, case in cases.items()]


@pytest.mark.parametrize("case", name_cases(BROKEN))
def test_a_wrong_case_has_exactly_the_expected_findings(
    case: NodeCase, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(case.findings(tmp_path / "net.d", monkeypatch), case.expected)


@pytest.mark.parametrize("case", name_cases(FINE))
def test_a_correct_case_has_no_findings(
    case: NodeCase, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(case.findings(tmp_path / "net.d", monkeypatch), [])


@pytest.mark.parametrize("case", name_cases({**plugin_cases.BROKEN, **access_cases.BROKEN, **runtime_cases.BROKEN}))
def test_a_wrong_plugin_case_has_exactly_the_expected_findings(
    case: PluginCase | AccessCase | RuntimeCase, tmp_path: pathlib.Path
) -> None:
    check(case.findings(tmp_path), case.expected)


@pytest.mark.parametrize("case", name_cases({**plugin_cases.FINE, **access_cases.FINE, **runtime_cases.FINE}))
def test_a_correct_plugin_case_has_no_findings(
    case: PluginCase | AccessCase | RuntimeCase, tmp_path: pathlib.Path
) -> None:
    check(case.findings(tmp_path), [])


def test_each_code_has_five_wrong_cases_and_two_correct_ones() -> None:
    broken: dict[str, t.Mapping[str, NodeCase | PluginCase | AccessCase | RuntimeCase]] = {
        **BROKEN,
        **plugin_cases.BROKEN,
        **access_cases.BROKEN,
        **runtime_cases.BROKEN,
    }
    fine: dict[str, t.Mapping[str, NodeCase | PluginCase | AccessCase | RuntimeCase]] = {
        **FINE,
        **plugin_cases.FINE,
        **access_cases.FINE,
        **runtime_cases.FINE,
    }
    own = {code for code, (level, dummy) in CODES.items() if level == NODE}
    for code in own:
        wrong = {
            repr(case) for case in broken.get(code, {}).values() if code in {finding.code for finding in case.expected}
        }
        assert len(wrong) >= 5, code
        assert len(fine.get(code, {})) >= 2, code
    assert set(broken) == set(fine) == own
