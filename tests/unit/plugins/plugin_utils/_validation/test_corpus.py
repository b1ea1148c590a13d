# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import collections
import json
import pathlib
import tempfile

import pytest

pytest.importorskip("jsonschema", reason="network configurations are validated where jsonschema is")
pytest.importorskip("ansible.errors", reason="network configurations are validated on the controller")

from ansible_collections.cni.node.plugins.module_utils._base.error import CniError
from ansible_collections.cni.node.plugins.module_utils._base.finding import CODES, ERROR, FLEET, NODE, errors
from ansible_collections.cni.node.plugins.module_utils._cni import config
from ansible_collections.cni.node.plugins.plugin_utils._validation import inputs
from ansible_collections.cni.node.plugins.plugin_utils._validation.schema import schemas
from ansible_collections.cni.node.tests.support.check_each import check_each
from ansible_collections.cni.node.tests.unit.plugins.plugin_utils._validation import corpus

BROKEN = corpus.broken()
CODES_OF_CASES = sorted({name.partition(":")[0] for name in BROKEN})


def require_no_error(path: pathlib.Path) -> None:
    assert errors(inputs.findings([str(path)], files=True)) == []


def test_good_manifests_have_no_error() -> None:
    check_each({path.name: path for path in corpus.MANIFESTS}, require_no_error)


def require_valid_configuration(path: pathlib.Path) -> None:
    require_no_error(path)
    config.parse(path.read_bytes(), str(path))


def test_good_configurations_have_no_error_and_are_parsed() -> None:
    check_each({path.name: path for path in corpus.GOOD}, require_valid_configuration)


def require_warning(path: pathlib.Path) -> None:
    findings = inputs.findings([str(path)], files=True)
    assert findings != []
    assert errors(findings) == []
    with pytest.raises(CniError):
        config.parse(path.read_bytes(), str(path))


def test_files_that_runtimes_read_and_this_collection_refuses_have_warnings_only() -> None:
    check_each({path.name: path for path in corpus.OF_RUNTIMES}, require_warning)


def test_a_configuration_with_windows_line_ends_has_no_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / corpus.GOOD[0].name
    path.write_bytes(corpus.GOOD[0].read_bytes().replace(b"\n", b"\r\n"))
    assert errors(inputs.findings([str(path)], files=True)) == []


@pytest.mark.parametrize("code", CODES_OF_CASES)
def test_broken_configurations_have_exactly_their_findings(code: str, tmp_path: pathlib.Path) -> None:
    def check(case: corpus.Case) -> None:
        findings = corpus.find_in(case, pathlib.Path(tempfile.mkdtemp(dir=tmp_path)))
        assert sorted(f"{finding.code} {finding.path}".strip() for finding in findings) == sorted(case["findings"])
        for key in ("message", "hint"):
            assert any(case.get(key, "") in getattr(finding, key) for finding in findings)
        assert case.get("severity") in (None, *{finding.severity for finding in findings})
        if "line" in case:
            assert case["line"] in [finding.line for finding in findings]
        for finding in findings:
            assert json.loads(json.dumps(finding.as_dict()))["message"]

    cases = {name: case for name, case in BROKEN.items() if name.partition(":")[0] == code}
    check_each(cases, check)


def test_each_code_has_five_broken_cases() -> None:
    counted = collections.Counter(name.partition(":")[0] for name in BROKEN)
    own = {code for code, (level, dummy) in CODES.items() if level not in (NODE, FLEET)}
    assert {code: counted[code] for code in own if counted[code] < 5} == {}
    assert set(counted) <= set(CODES)
    for name, case in BROKEN.items():
        assert any(finding.split()[0] == name.partition(":")[0] for finding in case["findings"]), name


def test_every_plugin_with_a_schema_is_in_the_good_corpus() -> None:
    used: set[str] = set()
    for path in corpus.GOOD:
        used |= set(config.parse(path.read_bytes(), str(path)).plugin_types)
    assert schemas.plugin_types() - used == set()


def require_error_if_unparsable(case: corpus.Case) -> None:
    for content in corpus.contents(case):
        try:
            config.parse(content, "x")
        except CniError:
            assert any(CODES[finding.split()[0]][1] == ERROR for finding in case["findings"])


def test_configurations_that_the_engine_rejects_have_an_error() -> None:
    cases = {name: case for name, case in BROKEN.items() if "make" not in case and "manifest" not in case}
    check_each(cases, require_error_if_unparsable)
