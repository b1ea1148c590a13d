# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run every linter to the end: python -m tools.check lint."""

from __future__ import annotations

from pathlib import Path

from tools import build, report, tree
from tools.paths import CACHE, ROOT, Words, run, tool

DOCS = (
    "--plugin-docs",
    "--validate-collection-refs=all",
    "--disallow-unknown-collection-refs",
    "--check-extra-docs-refs",
    "--skip-rstcheck",  # the guides are Markdown; there is no RST to check
)
# The template leaves out the anchors and sections that a table does not need.
READMES = ("--no-defaults", "--template-readme", "tools/role-readme.md.j2")
# Workflows: their schema, and what an attacker could use. Nothing is asked over the network.
WORKFLOWS = (
    "--offline",
    "--strict-collection",
    "--persona",
    "pedantic",
    "--collect",
    "all",
    "--no-progress",
    "--quiet",
)
# Paths that keep the rules of tools/style: the whole tree.
STYLED = (".",)


def suite(part: int = 0, parts: int = 1) -> report.SuiteResult:
    result = report.SuiteResult("lint")
    python: Words = [".", *(path for path in tree.scripts("python") if path.suffix != ".py")]
    shell = tree.scripts("shell")
    copy = tree.copy(tree.place_for("lint"))
    checks: dict[str, tuple[Words, Path]] = {
        "ruff check": ([tool("ruff"), "check", "--output-format=concise", *python], ROOT),
        "ruff format": ([tool("ruff"), "format", "--check", "--quiet", *python], ROOT),
        "style": ([tool("python"), "-m", "tools.style", *STYLED], ROOT),
        "yamllint": ([tool("yamllint"), "--strict", "."], ROOT),
        "shellcheck": ([tool("shellcheck"), *shell], ROOT),
        "reuse": ([tool("reuse"), "lint", "--lines"], copy),
        "zizmor": ([tool("zizmor"), *WORKFLOWS, ".github"], ROOT),
        "ansible-lint": ([tool("ansible-lint"), "--offline", "--nocolor", "--profile", "production"], copy),
        "antsibull-docs": ([tool("antsibull-docs"), "lint-collection-docs", *DOCS, "."], copy),
        "antsibull-changelog": ([tool("antsibull-changelog"), "lint"], copy),
        "role READMEs": ([tool("ansible-docsmith"), "generate", "--check", *READMES, "."], copy),
    }
    for name, (command, place) in checks.items():
        result.check(name, run(command, cwd=place) == 0)
    result.check("package", _package(copy))
    return result


def _package(copy: Path) -> bool:
    """Return whether the artifact builds and Galaxy's importer accepts it."""
    artifact = build.artifact(CACHE / "dist", copy)
    if artifact is None:
        return False
    return run([tool("python"), "-m", "galaxy_importer.main", artifact], cwd=artifact.parent) == 0
