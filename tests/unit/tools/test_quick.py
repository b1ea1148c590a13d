# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tests that `make quick` selects for a change."""

from __future__ import annotations

import pathlib

import pytest

from tools import imports, quick

CHANGED = "plugins/module_utils/_cni/version.py"
SOURCES = {
    CHANGED: "",
    "plugins/module_utils/_cni/result.py": "from . import version",
    "plugins/plugin_utils/schemas/x.py": "",
    "tests/support/plugins.py": "from ansible_collections.cni.node.plugins.module_utils._cni.version import LATEST",
    "tests/unit/test_docs.py": "",
    "tests/unit/test_floors.py": "",
    "tests/unit/test_mirror.py": "",
    "tests/unit/plugins/module_utils/_cni/test_version.py": "",
    "tests/unit/plugins/module_utils/_cni/test_version_ranges.py": "",
    "tests/unit/plugins/module_utils/_cni/test_result.py": "",
    "tests/unit/plugins/module_utils/_node/test_importer.py": (
        "def f():\n    from ansible_collections.cni.node.plugins.module_utils._cni import version as v"
    ),
    "tests/unit/plugins/module_utils/_node/test_through_helper.py": (
        "from ansible_collections.cni.node.tests.support import plugins"
    ),
    "tests/unit/plugins/plugin_utils/_validation/test_schemas.py": "",
    "tests/unit/tools/test_report.py": "from tools import report",
    "tools/report.py": "",
    "tests/integration/test_engine.py": "from ansible_collections.cni.node.plugins.module_utils._cni import version",
}


@pytest.fixture
def graph(tmp_path: pathlib.Path) -> dict[str, set[str]]:
    for name, source in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source, encoding="utf-8")
    return imports.read_graph(tmp_path, map(pathlib.Path, SOURCES))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            CHANGED,
            [
                "plugins/module_utils/_cni/test_version.py",
                "plugins/module_utils/_cni/test_version_ranges.py",
                "plugins/module_utils/_node/test_importer.py",
                "plugins/module_utils/_node/test_through_helper.py",
            ],
        ),
        ("tests/unit/test_mirror.py", ["test_mirror.py"]),
        ("plugins/plugin_utils/schemas/plugins/bridge.json", ["plugins/plugin_utils/_validation/test_schemas.py"]),
        ("tools/report.py", ["tools/test_report.py"]),
        ("README.md", []),
    ],
)
def test_a_change_selects_its_tests(graph: dict[str, set[str]], changed: str, expected: list[str]) -> None:
    selected = {str(path) for path in quick.select_tests({pathlib.Path(changed)}, graph)}
    assert selected == {f"tests/unit/{name}" for name in (*expected, "test_docs.py", "test_floors.py")}


def test_quick_fails_when_the_base_is_not_a_revision(capsys: pytest.CaptureFixture[str]) -> None:
    assert quick.main(["no-such-revision"]) == 1
    assert "make quick: " in capsys.readouterr().err
