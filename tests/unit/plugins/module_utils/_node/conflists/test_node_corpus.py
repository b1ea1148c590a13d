# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every code of level node: at least five broken cases, and good cases that only look broken."""

from __future__ import annotations

import pathlib
import tempfile
import typing as t

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.finding import CODES, NODE, Finding
from ansible_collections.cni.node.tests.support.check_each import check_each
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists import (
    access_cases,
    address_cases,
    bridge_cases,
    dhcp_cases,
    file_cases,
    ipv6_cases,
    link_cases,
    plugin_cases,
    route_cases,
    runtime_cases,
)
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.access_cases import AccessCase
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.node_case import NodeCase, check
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.plugin_cases import PluginCase
from ansible_collections.cni.node.tests.unit.plugins.module_utils._node.conflists.runtime_cases import RuntimeCase

AnyCase = t.Union[NodeCase, PluginCase, AccessCase, RuntimeCase]
OF_NODES = (link_cases, address_cases, bridge_cases, ipv6_cases, dhcp_cases, route_cases, file_cases)
BROKEN = {code: cases for table in OF_NODES for code, cases in table.BROKEN.items()}
FINE = {code: cases for table in OF_NODES for code, cases in table.FINE.items()}


BROKEN_BY_CODE: t.Final[t.Mapping[str, t.Mapping[str, AnyCase]]] = {
    **BROKEN,
    **plugin_cases.BROKEN,
    **access_cases.BROKEN,
    **runtime_cases.BROKEN,
}
FINE_BY_CODE: t.Final[t.Mapping[str, t.Mapping[str, AnyCase]]] = {
    **FINE,
    **plugin_cases.FINE,
    **access_cases.FINE,
    **runtime_cases.FINE,
}


@pytest.mark.parametrize("code", sorted(BROKEN_BY_CODE))
def test_broken_cases_have_exactly_the_expected_findings(
    code: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_findings(case: AnyCase) -> None:
        check(find_in(case, tmp_path, monkeypatch), case.expected)

    check_each(BROKEN_BY_CODE[code], check_findings)


@pytest.mark.parametrize("code", sorted(FINE_BY_CODE))
def test_fine_cases_have_no_findings(code: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check_findings(case: AnyCase) -> None:
        check(find_in(case, tmp_path, monkeypatch), [])

    check_each(FINE_BY_CODE[code], check_findings)


def find_in(case: AnyCase, directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    own = pathlib.Path(tempfile.mkdtemp(dir=directory))
    return case.findings(own / "net.d", monkeypatch) if isinstance(case, NodeCase) else case.findings(own)


def test_each_code_has_five_wrong_cases_and_two_correct_ones() -> None:
    own = {code for code, (level, dummy) in CODES.items() if level == NODE}
    for code in own:
        wrong = {
            repr(case)
            for case in BROKEN_BY_CODE.get(code, {}).values()
            if code in {finding.code for finding in case.expected}
        }
        assert len(wrong) >= 5, code
        assert len(FINE_BY_CODE.get(code, {})) >= 2, code
    assert set(BROKEN_BY_CODE) == set(FINE_BY_CODE) == own
