# Copyright (c) 2026, cni.node contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files, directories and finding codes that the pages name exist."""

from __future__ import annotations

import pathlib
import re

import pytest

from ansible_collections.cni.node.plugins.module_utils._base.finding import CODES, LEVELS
from ansible_collections.cni.node.plugins.module_utils._reference.builtin import registry
from tools import tree

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")])
# What a clone has at its top; a name such as `roles/x` of a user's project begins otherwise.
_TOP = "|".join(
    sorted({re.escape(path.parts[0]) for path in tree.files() if path.parts[1:] and path.parts[0][0] != "."})
)
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


README = (ROOT / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)\s]+)\)")
MAIN = "https://github.com/cni-node/cni.node/blob/main/"
# A picture, which the address above would show on a page of its own.
RAW = "https://raw.githubusercontent.com/cni-node/cni.node/main/"


def list_anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_broken_links(text: str, page: pathlib.Path) -> list[str]:
    """Return links of a page that lead to a file or heading that the tree does not have."""
    urls = LINK.findall(text.replace(RAW, MAIN))
    return [url for url in urls if (url.startswith(MAIN) or "://" not in url) and _is_broken(url, page)]


def _is_broken(url: str, page: pathlib.Path) -> bool:
    path, dummy, anchor = url.replace(MAIN, "", 1).partition("#")
    target = (ROOT if url.startswith(MAIN) else page.parent) / path if path else page
    if not target.exists():
        return True
    return bool(anchor) and anchor not in list_anchors(target.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: pathlib.Path) -> None:
    assert find_broken_links(page.read_text(encoding="utf-8"), page) == []


@pytest.mark.parametrize(
    "url", ["nothing.md", "engine.md#nothing", "#nothing", f"{MAIN}docs/nothing.md", f"{MAIN}docs/engine.md#nothing"]
)
def test_a_broken_link_is_found(url: str) -> None:
    text = f"[built-in]({MAIN}docs/engine.md#built-in-plugins), [engine](engine.md#built-in-plugins) and [this]({url})"
    assert find_broken_links(text, ROOT / "docs" / "playbooks.md") == [url]


def test_links_of_the_readme_work_without_the_repository() -> None:
    """Galaxy and Automation Hub show the page alone."""
    assert README.count(MAIN) > 10
    assert [url for url in LINK.findall(README) if not url.startswith("https://")] == []


def list_table_names(text: str, heading: str) -> set[str]:
    """Return the names in the first column of a page's table directly below a heading."""
    section = text[text.index(f"{heading}\n") + len(heading) :].split("\n#")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`cni\.node\.(\w+)`", cell)}


def stems(*directories: str) -> set[str]:
    files = [path for directory in directories for path in (ROOT / directory).iterdir()]
    return {path.stem for path in files if path.suffix in (".py", ".yml") and path.stem != "__init__"}


@pytest.mark.parametrize(
    ("page", "heading", "directories"),
    [
        ("README.md", "### Modules", ["plugins/modules"]),
        ("docs/playbooks.md", "# Playbooks", ["playbooks"]),
        ("docs/filters.md", "# Filters for your own plays", ["plugins/filter", "plugins/test"]),
    ],
)
def test_the_tables_of_pages_name_every_module_playbook_and_filter(
    page: str, heading: str, directories: list[str]
) -> None:
    assert list_table_names((ROOT / page).read_text(encoding="utf-8"), heading) == stems(*directories)


def test_the_readme_names_every_role() -> None:
    assert [path.name for path in (ROOT / "roles").iterdir() if f"{path.name}`" not in README] == []


def test_the_page_on_validation_has_every_code_and_no_other() -> None:
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    named = {code for cell in listed for code in re.findall(r"`([a-z-]+)`", cell)} - set(LEVELS)
    assert named == set(CODES)


def test_the_page_on_the_engine_lists_the_built_in_plugins() -> None:
    text = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8").partition("\n## Built-in plugins\n")[2]
    (listed,) = re.findall(r"containernetworking/plugins: ([^.]+)\.", text)
    assert sorted(re.split(r",?\s(?:and\s)?", listed)) == sorted(registry.TYPES)
