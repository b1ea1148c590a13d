# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run every linter to the end: python -m tools.check lint."""

from __future__ import annotations

from pathlib import Path

from tools import build, pytests, report, tree
from tools.paths import CACHE, Words, run, tool

DOCS = (
    "--plugin-docs",
    "--validate-collection-refs=all",
    "--disallow-unknown-collection-refs",
    "--check-extra-docs-refs",
    "--skip-rstcheck",  # the guides are Markdown; there is no RST to check
)
ANSIBLE_LINT = ("--offline", "--nocolor", "--profile", "production")
# The template leaves out the anchors and sections that a table does not need.
READMES = ("--no-defaults", "--template-readme", "tools/role-readme.md.j2")
# Workflows: their schema, and what an attacker could use. Nothing is asked over the network.
WORKFLOWS = ("--offline", "--strict-collection", "--persona=pedantic", "--collect=all", "--no-progress", "--quiet")


def suite(part: int = 0, parts: int = 1) -> report.SuiteResult:
    result = check_sources()
    copy = tree.copy(tree.place_for("lint"))
    checks: dict[str, Words] = {
        "reuse": [tool("reuse"), "lint", "--lines"],
        # It starts ansible-playbook for each playbook and role.
        "ansible-lint": [*pytests.with_warm_playbooks(), tool("ansible-lint"), *ANSIBLE_LINT],
        "antsibull-docs": [tool("antsibull-docs"), "lint-collection-docs", *DOCS, "."],
        "antsibull-changelog": [tool("antsibull-changelog"), "lint"],
        "role READMEs": [tool("ansible-docsmith"), "generate", "--check", *READMES, "."],
    }
    for name, command in checks.items():
        result.check(name, run(command, cwd=copy) == 0)
    result.check("package", _package(copy))
    return result


def check_sources() -> report.SuiteResult:
    """Run the linters that take seconds and need no copy of the collection."""
    result = report.SuiteResult("lint")
    python: Words = [".", *(path for path in tree.scripts("python") if path.suffix != ".py")]
    checks: dict[str, Words] = {
        "ruff check": [tool("ruff"), "check", "--output-format=concise", *python],
        "ruff format": [tool("ruff"), "format", "--check", "--quiet", *python],
        "style": [tool("python"), "-m", "tools.style", "."],
        "yamllint": [tool("yamllint"), "--strict", "."],
        "shellcheck": [tool("shellcheck"), *tree.scripts("shell")],
        "zizmor": [tool("zizmor"), *WORKFLOWS, ".github"],
    }
    for name, command in checks.items():
        result.check(name, run(command) == 0)
    return result


def _package(copy: Path) -> bool:
    """Return whether the artifact builds and Galaxy's importer accepts it."""
    artifact = build.artifact(CACHE / "dist", copy)
    if artifact is None:
        return False
    importer: Words = [tool("python"), "-m", "galaxy_importer.main", artifact]  # which starts ansible-lint
    return run([*pytests.with_warm_playbooks(), *importer], cwd=artifact.parent) == 0
