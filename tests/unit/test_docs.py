# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files, directories and finding codes that the pages name exist."""

from __future__ import annotations

import pathlib
import re

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.finding import CODES, LEVELS

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")])
# What a clone has at its top; a name such as `roles/x` of a user's project begins otherwise.
_TOP = "|".join(sorted(re.escape(path.name) for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."))
NAMED = re.compile(rf"`((?:{_TOP})/[\w./-]+)`")


def list_named_paths(text: str) -> list[str]:
    return NAMED.findall(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_in_the_documentation_exists(page: pathlib.Path) -> None:
    missing = [path for path in list_named_paths(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()]
    assert missing == []


def test_a_path_is_found_in_a_sentence() -> None:
    assert list_named_paths("The tests in `tests/unit/nowhere.py`, `make test` and `/etc/cni`.") == [
        "tests/unit/nowhere.py"
    ]


@pytest.mark.parametrize(
    ("page", "directory"),
    [
        ("docs/engine.md", "plugins/module_utils/_cni"),
        ("docs/architecture.md", "plugins/module_utils/_node/attachments"),
    ],
)
def test_a_page_names_every_file_of_the_directory_that_it_describes(page: str, directory: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    names = sorted(path.name for path in (ROOT / directory).glob("*.py"))
    assert [name for name in names if f"`{name}`" not in text and f"{directory}/{name}`" not in text] == []


def test_the_page_on_validation_has_every_code_and_no_other() -> None:
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    named = {code for cell in listed for code in re.findall(r"`([a-z-]+)`", cell)} - set(LEVELS)
    assert named == set(CODES)
