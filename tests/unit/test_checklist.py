# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The checklist in docs/checklist.md names evidence that exists, and points without a test elsewhere are tested here."""

from __future__ import annotations

import ast
import json
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest
import yaml

from tools import cores

ROOT = pathlib.Path(__file__).parents[2]
PLUGINS = ROOT / "plugins"
PAGE = (ROOT / "docs" / "checklist.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| point", "|---"))
]
STATES = {"met", "prepared", "open"}
# What is in backticks and is a path, with the name of a test if there is one; or a target of the Makefile.
PATH = re.compile(r"`([\w.-]+/[\w./-]+|[\w.-]+\.\w+|[A-Z_.-]+[\w-]*)(?:::(\w+))?`")
TARGET = re.compile(r"`make ([\w-]+)`")
# The plugin directories that the requirements of the community permit, and that this collection uses.
PERMITTED = {
    *(
        "action",
        "become",
        "doc_fragments",
        "filter",
        "inventory",
        "lookup",
        "module_utils",
        "modules",
        "plugin_utils",
        "test",
    ),
}
# Those whose files have documentation.
DOCUMENTED = ("modules", "become", "filter", "inventory", "test")
SECTIONS = {
    *("Description", "Requirements", "Installation", "Use cases", "Testing", "Contributing", "Communication"),
    *("Support", "Release notes", "Related information", "License"),
}


def documentation(path: pathlib.Path) -> dict[str, t.Any]:
    """Return the DOCUMENTATION of a module or plugin."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            return dict(yaml.safe_load(ast.literal_eval(node.value)))
    raise AssertionError(f"{path} has no DOCUMENTATION")


def list_plugins(*kinds: str) -> list[pathlib.Path]:
    return sorted(path for kind in kinds for path in (PLUGINS / kind).glob("*.py") if path.name != "__init__.py")


MODULES = list_plugins("modules")


def missing_evidence(text: str) -> list[str]:
    """Return the paths, tests and targets of a cell that do not exist."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    missing = [f"make {name}" for name in TARGET.findall(text) if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
    for path, test in PATH.findall(text):
        if not (ROOT / path).exists():
            missing.append(path)
        elif test and f"def {test}(" not in (ROOT / path).read_text(encoding="utf-8"):
            missing.append(f"{path}::{test}")
    return missing


def test_every_point_has_a_state_and_evidence_that_exists() -> None:
    assert len(ROWS) > 40
    assert {row[1] for row in ROWS} <= STATES
    assert [row[0] for row in ROWS if len(row) != 3 or not (PATH.search(row[2]) or TARGET.search(row[2]))] == []
    assert [missing for row in ROWS for missing in missing_evidence(row[2])] == []


@pytest.mark.parametrize(
    "named", ["tests/unit/nowhere.py", "tests/unit/test_docs.py::test_nothing", "make nothing", "NOTHING.md"]
)
def test_missing_evidence_of_a_point_is_found(named: str) -> None:
    assert missing_evidence(f"`README.md`, `{named}`; `make lint` and more") == [named]


def test_no_module_returns_facts_or_queries_with_a_state() -> None:
    for module in MODULES:
        assert "ansible_facts" not in module.read_text(encoding="utf-8")
        states = documentation(module).get("options", {}).get("state", {}).get("choices", [])
        assert not {"get", "list", "query", "info", "gathered"} & set(states), module.name


def test_info_modules_support_check_mode() -> None:
    infos = [module for module in MODULES if module.stem.endswith("_info")]
    assert [module.stem for module in infos] == ["node_info", "preflight_info"]
    for module in infos:
        fragments = documentation(module)["extends_documentation_fragment"]
        assert "cni.node._attributes.info_module" in fragments, module.name


def test_the_directory_plugins_has_only_permitted_directories() -> None:
    assert {path.name for path in PLUGINS.iterdir() if path.name != "__pycache__"} <= PERMITTED


@pytest.mark.parametrize("path", list_plugins(*DOCUMENTED), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_module_and_plugin_says_which_version_added_it(path: pathlib.Path) -> None:
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    added = documentation(path)["version_added"]
    assert [int(part) for part in added.split(".")] <= [int(part) for part in galaxy["version"].split(".")]


def test_the_oldest_line_of_ansible_core_is_the_one_that_is_required() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert runtime["requires_ansible"] == f">={cores.ALL[0].line}.0"
    lines = ", ".join(core.line for core in cores.ALL)
    assert f"| ansible-core | {lines};" in (ROOT / "docs" / "releases.md").read_text(encoding="utf-8")
    assert f"ansible-core {cores.ALL[0].line} to {cores.ALL[-1].line}" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )


@pytest.fixture(scope="module")
def complete_documentation() -> dict[str, dict[str, t.Any]]:
    """The documentation of each module with its fragments."""
    argv = [sys.executable, "-m", "ansible", "doc", "--json", *(f"cni.node.{path.stem}" for path in MODULES)]
    done = subprocess.run(argv, check=True, capture_output=True)
    return {name.rpartition(".")[2]: module["doc"] for name, module in json.loads(done.stdout).items()}


def test_each_module_names_its_action_groups(complete_documentation: dict[str, dict[str, t.Any]]) -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = {}
    for name, module in sorted(complete_documentation.items()):
        for group in module.get("attributes", {}).get("action_group", {}).get("membership", ()):
            groups.setdefault(group.rpartition(".")[2], []).append(name)
    assert runtime["action_groups"] == groups
    assert set(complete_documentation) - set(groups["all"]) == {"launcher", "show"}


def test_the_modules_of_the_group_engine_have_the_same_options_for_directories(
    complete_documentation: dict[str, dict[str, t.Any]],
) -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    common = {"conf_dir", "plugin_dirs", "allow_world_writable_plugins", "builtin", "cache_dir", "timeout"}
    for name in runtime["action_groups"]["engine"]:
        assert common <= set(complete_documentation[name]["options"]), name


def test_the_changelog_lists_all_new_content() -> None:
    changelog = yaml.safe_load((ROOT / "changelogs" / "changelog.yaml").read_text(encoding="utf-8"))
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    if version not in changelog["releases"]:
        pytest.skip(f"the changelog of {version} is written when it is released")
    new: dict[str, set[str]] = {kind: set() for kind in (*DOCUMENTED, "role", "playbook")}
    for release in changelog["releases"].values():
        new["modules"] |= {module["name"] for module in release.get("modules", [])}
        for kind, entries in {**release.get("plugins", {}), **release.get("objects", {})}.items():
            new[kind] |= {entry["name"] for entry in entries}
    assert new == {
        **{kind: {path.stem for path in list_plugins(kind)} for kind in DOCUMENTED},
        "role": {path.name for path in (ROOT / "roles").iterdir()},
        "playbook": {path.stem for path in (ROOT / "playbooks").glob("*.yml")},
    }


def test_the_readme_has_the_sections_that_certification_requires() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## (.+)$", readme, re.MULTILINE)) >= SECTIONS
    communication = readme[readme.index("## Communication") : readme.index("## Support")]
    assert "https://forum.ansible.com/c/help/6" in communication
    assert "https://forum.ansible.com/tag/cni-node" in communication
    assert "not affiliated with the CNI project" in readme
